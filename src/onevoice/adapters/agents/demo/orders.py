"""What a customer orders from the clinic's café, in their own words."""

from __future__ import annotations

import re
import unicodedata

from onevoice.adapters.agents.demo.words import READ_CHARS_MAX, fold

ITEM_CHARS_MAX = 60
ITEMS_MAX = 20

_QUANTITY = r"(?:uma?s?|dois|duas|tres|quatro|mais um|mais uma|\d{1,2}|an?|two|three|four|another|some)"
_FOOD = re.compile(
    r"\b(?:pizzas?|cocas?|refri\w*|guarana|sucos?|aguas?|cafes?|cappuccinos?|coxinhas?|pao|paes|bolos?"
    r"|sanduiches?|saladas?"
    r"|chas?|esfihas?|misto|tapioca|pasteis|pastel|cokes?|sodas?|juices?|water|coffees?|teas?"
    r"|sandwich(?:es)?|cakes?|burgers?"
    r"|hamburguer\w*|fries|batatas?)\b"
)
_NO_FOOD = re.compile(
    r"\b(?:consulta|horario|appointment|atendente|humano|human|pessoa|person|medic\w+|doctor|exame|slot)\b"
)

_ADDING = re.compile(
    r"(?:^|[\n.!?,;] ?|\b)(?:adicion\w+|acrescent\w+|coloca\w*|inclui\w*|bota|poe|add)(?: (?:ai|no pedido"
    r"|tambem|pra mim|also))?"
    rf" (?:{_QUANTITY} )?(?P<item>[^\n.!?;]+)"
)
_WANTING = re.compile(
    r"\b(?:quero|queria|gostaria de|me ve|manda|traz|pedir|vou querer|i want|i d like|i would like"
    r"|can i (?:have|get)|get me)"
    rf"(?: (?:pedir|tambem|mais|also))*(?: {_QUANTITY})? (?P<item>[^\n.!?;]+)"
)
_CONTINUING = re.compile(
    rf"(?:^|\n) ?(?:ah )?(?:(?:e|and|mais|plus|tambem|also),? )(?:tambem "
    rf"|also )?(?:{_QUANTITY} )?(?P<item>[^\n.!?;]+)"
)
_TAIL = re.compile(
    r"(?:,? (?:tambem|tbm|tb|por favor|pfv|please|too|also|no pedido|ao pedido|to (?:the|my) order"
    r"|as well))+ *$"
)
_BETWEEN = re.compile(rf"(?:,| e | and | mais | com mais | plus ) ?(?:{_QUANTITY} )")


def items_in(text: str) -> tuple[str, ...]:
    """The ordered items as the customer wrote them, without verb, article and courtesy."""
    original = unicodedata.normalize("NFC", text[:READ_CHARS_MAX])
    folded = fold(original).replace("'", " ").replace("’", " ")
    found: list[str] = []
    for pattern in (_ADDING, _WANTING, _CONTINUING):
        for match in pattern.finditer(folded):
            if pattern is not _ADDING and not _FOOD.search(match["item"]):
                continue
            if not _NO_FOOD.search(match["item"]):
                found += _split(original, folded, match.start("item"), match.end("item"))
        if found:
            break
    return tuple(dict.fromkeys(found))[:ITEMS_MAX]


def _split(original: str, folded: str, start: int, end: int) -> list[str]:
    tail = _TAIL.search(folded, start, end)
    end = tail.start() if tail else end
    pieces, position = list[str](), start
    for between in _BETWEEN.finditer(folded, start, end):
        pieces.append(original[position : between.start()])
        position = between.end()
    pieces.append(original[position:end])
    return [piece.strip(" ,")[:ITEM_CHARS_MAX] for piece in pieces if piece.strip(" ,")]
