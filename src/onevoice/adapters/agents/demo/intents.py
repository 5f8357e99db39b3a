"""What a burst asks for: pure, from texts to intents with their days, times and items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum

from onevoice.adapters.agents.demo.days import Period, days_in, period_in, times_in
from onevoice.adapters.agents.demo.orders import items_in
from onevoice.adapters.agents.demo.words import Language, fold, language_of, mend


class Intent(StrEnum):
    HUMAN = "human"
    GREET = "greet"
    HELP = "help"
    HOURS = "hours"
    ADDRESS = "address"
    PAYMENT = "payment"
    PRICE = "price"
    LOOK_UP = "look_up"
    BOOK = "book"
    MOVE = "move"
    CANCEL = "cancel"
    CANCEL_ORDER = "cancel_order"
    KEEP = "keep"
    RECEIVED = "received"
    ORDER = "order"
    YES = "yes"
    NO = "no"
    THANKS = "thanks"
    BYE = "bye"


class Payment(StrEnum):
    PIX = "pix"
    CARD = "card"
    CASH = "cash"
    INSURANCE = "insurance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """One burst, understood as a whole; ``intents`` in the order they first came up.

    ``booking_implied``: only a day or time was named; the talk says which appointment it is for.
    """

    language: Language | None
    intents: tuple[Intent, ...]
    days: tuple[date, ...] = ()
    period: Period | None = None
    time: time | None = None
    choice: int | None = None
    payments: tuple[Payment, ...] = ()
    items: tuple[str, ...] = ()
    booking_implied: bool = False
    unknown: tuple[str, ...] = ()


_APPOINTMENT = r"(?:consulta|horario|agendamento|exame|appointment|visit|booking)"
_ORDER = r"(?:pedido|pizza|lanche|encomenda|entrega|order|delivery|food)"

# Greetings and farewells that contain the words for day, night and tomorrow.
_COURTESY = re.compile(
    r"\bbo[ma] (?:dia|tarde|noite)\b|\bgood (?:morning|afternoon|evening|night|day)\b|\bate (?:amanha"
    r"|mais tarde)\b"
    r"|\bsee you (?:tomorrow|today)\b|\bmais tarde\b"
)

_PATTERNS: dict[Intent, str] = {
    Intent.HUMAN: (
        r"\batendentes?\b|\bhuman[oa]?s?\b|\bpessoa (?:de verdade|real)\b|\breal person\b"
        r"|\brepresentative\b"
        r"|\b(?:falar|conversar) com (?:um |uma |o |a )?(?:alguem|pessoa|gente|recepc\w+|responsavel"
        r"|gerente|medic\w+)\b"
        r"|\b(?:speak|talk|chat) (?:to|with) (?:a |an |the )?(?:someone|somebody|person|agent|manager"
        r"|reception\w*"
        r"|staff|doctor|operator)\b|\boperador\w*\b|\bme (?:transfere|passa) (?:pra|para)\b"
    ),
    Intent.GREET: (
        r"\boi+e?\b|\bola+\b|\bopa\b|\be ai\b|\balo\b|\bbo[ma] (?:dia|tarde|noite)\b|\bhi+\b|\bhello\b"
        r"|\bhey+\b"
        r"|\bgood (?:morning|afternoon|evening|day)\b"
    ),
    Intent.HELP: (
        r"\bo que (?:voce|voces) (?:faz\w*|pode\w*)\b|\bajuda\w*\b|\bmenu\b|\bopcoes\b"
        r"|\bwhat can you do\b|\bhelp\b"
    ),
    Intent.HOURS: (
        r"\bfuncionamento\b|\bhorarios? de (?:atendimento|voces|abertura)\b"
        r"|\bqual (?:e )?o horario(?: da clinica)?\s*\??$"
        r"|\b(?:abrem?|fecham?|funcionam?|abert[oa]s?)\b|\batendem? (?:de|aos?|no|ate|hoje|em)\b"
        r"|\b(?:opening|business|working|office) (?:hours|times?)\b|\byour hours\b|\bwhat hours\b"
        r"|\b(?:are|do|does|when|time) (?:you|the clinic|it)?\s*(?:guys )?(?:open|close)\w*\b"
        r"|\bopen (?:on|until|till|at)\b"
        r"|\bquais (?:sao )?os horarios\s*\??$"
    ),
    Intent.ADDRESS: (
        r"\bendereco\b|\bonde (?:que )?(?:fica\w*|voces|e|esta\w*)\b|\blocalizac\w+\b|\bcomo (?:chego"
        r"|chegar|faco pra chegar)\b"
        r"|\baddress\b|\bwhere (?:are|is|re)\b|\blocat(?:ed|ion)\b|\bdirections\b|\bhow do i get (?:there"
        r"|to)\b"
        r"|\bfica onde\b"
    ),
    Intent.PAYMENT: (
        r"\bpix\b|\bcart(?:ao|oes)\b|\b(?:credito|debito|dinheiro|boleto|especie)\b|\bparcel\w+\b"
        r"|\bconvenios?\b"
        r"|\bplanos?(?: de saude)?\b|\bunimed\b|\bpaga(?:r|mentos?)\b|\b(?:credit |debit )?cards?\b"
        r"|\bcash\b"
        r"|\binsurance\b|\bpay(?:ments?|ing)?\b|\binstallments?\b"
    ),
    Intent.PRICE: (
        r"\bquanto (?:custa\w*|e|fica|sai|voces cobram)\b|\bprecos?\b|\bvalor(?:es)?\b|\bhow much\b"
        r"|\bprices?\b"
        r"|\b(?:cost|costs|fee|fees)\b"
    ),
    Intent.LOOK_UP: (
        r"\b(?:qual|quando|que dia|que horas?|confere|ver)\b.{0,20}\b(?:minha consulta|meu horario"
        r"|marquei|marcad[ao])\b"
        r"|\b(?:eu )?tenho (?:alguma |uma )?consulta\b|\bminha consulta (?:e|esta|ficou)\b"
        r"|\b(?:when|what time|what day) (?:is|s) my\b|\bdo i have an? \b|\bcheck my appointment\b"
    ),
    Intent.MOVE: (
        r"\b(?:remarc|reagend|reschedul)\w*\b"
        rf"|\b(?:mudar|muda|trocar|troca|alterar|passar|adiar"
        rf"|antecipar)\b.{{0,25}}\b(?:{_APPOINTMENT}|dia|data|pra|para)\b"
        r"|\b(?:move|change|switch|push|postpone)\b.{0,20}\b(?:appointment|visit|booking|it|time|day|to)\b"
    ),
    Intent.CANCEL: r"\bcancel\w*\b|\bdesmarc\w*\b|\bdesist\w*\b|\bcall off\b",
    Intent.KEEP: (
        r"\bnao (?:precisa |quero |vou |e pra |pra |para |era pra )?(?:mais )?(?:cancel\w*|desmarc\w*)"
        r"|\b(?:don t|dont|do not|no need to|not|never mind) (?:want to |need to )?(?:the )?cancel\w*"
    ),
    Intent.RECEIVED: (
        r"\bacab(?:ei|ou) de (?:receber|chegar)\b|\bja (?:recebi|chegou)\b|\bchegou (?:agora|aqui|tudo)\b"
        r"|\brecebi (?:agora|aqui)\b"
        r"|\bjust (?:received|got|arrived|came)\b|\bhas (?:just )?arrived\b|\balready (?:got|received"
        r"|arrived)\b|\bit arrived\b"
    ),
    Intent.BOOK: (
        r"\b(?:marcar|agendar|marca|marque|agenda|agende|marco|agendo)\b|\b(?:vagas?|disponibilidade"
        r"|disponive(?:l|is)|encaixe)\b"
        r"|\bhorarios? (?:livres?|vagos?)\b|\btem (?:algum )?horarios?\b|\b(?:book|schedule)\b"
        r"|\bavailab\w+\b"
        r"|\b(?:free|open) (?:slots?|times?)\b|\bslots?\b|\banything (?:free|open)\b"
    ),
    Intent.THANKS: r"\bobrigad[oa]s?\b|\bvaleu\b|\bbrigad[oa]\b|\bagradeco\b|\bthanks?\b",
    Intent.BYE: r"\btchau\b|\bate (?:mais|logo|amanha|breve)\b|\bbye\b|\bsee you\b|\bgood night\b|\bfalou\b",
}  # fmt: skip
_COMPILED = {intent: re.compile(pattern) for intent, pattern in _PATTERNS.items()}

_POLITE = r"(?:,? (?:sim|por favor|please|obrigad[oa]|thanks|mesmo|entao))*"
_YES = re.compile(
    r"^(?:sim|isso|pode ser|pode|pode sim|confirmo|confirma|confirmado|pode confirmar|ok|okay|beleza"
    r"|fechado|claro|com certeza"
    r"|perfeito|otimo|quero|s|yes|yep|yeah|sure|please do|confirm|confirmed|sounds good|perfect|great"
    r"|that works"
    rf"|works for me|go ahead){_POLITE}[.! ]*$"
)
_NO = re.compile(
    rf"^(?:nao|n|nao precisa|nao quero|deixa(?: pra la)?|esquece|no|nope|never mind|forget it"
    rf"|not now){_POLITE}[.! ]*$"
)
_NO_HUMAN = re.compile(
    r"\b(?:nao (?:precis\w+|quero)|no need|don t|dont)\b[^.!?\n]{0,30}\b(?:atendentes?|humano|human"
    r"|person)\b"
)
_CHOICES = (
    re.compile(r"\b(?:primeir[oa]|first(?: one)?)\b"),
    re.compile(r"\b(?:segund[oa] (?:opcao|horario)|o segundo|second(?: one)?)\b"),
    re.compile(r"\b(?:terceir[oa]|third(?: one)?)\b"),
)
_LAST_CHOICE = re.compile(r"\bo ultimo\b|\bthe last(?: one)?\b")
_PAYMENTS = {
    Payment.PIX: re.compile(r"\bpix\b"),
    Payment.CARD: re.compile(
        r"\bcart(?:ao|oes)\b|\bcredito\b|\bdebito\b|\bcards?\b|\bparcel\w+|\binstallments?\b"
    ),
    Payment.CASH: re.compile(r"\bdinheiro\b|\bcash\b|\bespecie\b"),
    Payment.INSURANCE: re.compile(r"\bconvenios?\b|\bplanos?\b|\bunimed\b|\binsurance\b"),
}
_MENTIONS_APPOINTMENT = re.compile(rf"\b{_APPOINTMENT}\b")
_MENTIONS_ORDER = re.compile(rf"\b{_ORDER}\b")

# What a message is about; beside one of these, a day or the word "consulta" starts no booking of its own.
_SUBJECTS = frozenset(Intent) - {
    Intent.GREET,
    Intent.THANKS,
    Intent.BYE,
    Intent.YES,
    Intent.NO,
    Intent.KEEP,
    Intent.RECEIVED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One message, read by itself."""

    text: str
    words: str
    intents: tuple[Intent, ...]
    items: tuple[str, ...]
    implied: bool


def understand(texts: list[str], *, today: date) -> Understanding:
    """Read the texts of one burst, oldest first, as one turn of the customer."""
    readings = [_read(text, today) for text in texts]
    wishes = [_COURTESY.sub(" ", reading.words) for reading in readings if _is_about_a_visit(reading)]
    days = next((found for words in reversed(wishes) if (found := days_in(words, today=today))), ())
    times = [moment for words in wishes for moment in times_in(words)]
    everything = "\n".join(reading.words for reading in readings)
    return Understanding(
        language=language_of(texts),
        intents=_resolve([intent for reading in readings for intent in reading.intents], everything),
        days=days,
        period=next((found for words in reversed(wishes) if (found := period_in(words))), None),
        time=times[-1] if times else None,
        choice=_choice(everything),
        payments=tuple(method for method, pattern in _PAYMENTS.items() if pattern.search(everything)),
        items=tuple(item for reading in readings for item in reading.items),
        booking_implied=all(reading.implied for reading in readings if Intent.BOOK in reading.intents),
        unknown=tuple(reading.text for reading in readings if not reading.intents and reading.text.strip()),
    )


def _read(text: str, today: date) -> _Reading:
    words = mend(fold(text))
    found = [
        (match.start(), intent) for intent, pattern in _COMPILED.items() if (match := pattern.search(words))
    ]
    intents = [intent for _, intent in sorted(found, key=lambda pair: pair[0])]
    items = () if Intent.CANCEL in intents else items_in(text)
    if items:
        intents.append(Intent.ORDER)
    if Intent.HUMAN in intents and _NO_HUMAN.search(words):
        intents.remove(Intent.HUMAN)
    if Intent.BOOK in intents and any(
        other in intents for other in (Intent.MOVE, Intent.CANCEL, Intent.LOOK_UP)
    ):
        intents.remove(Intent.BOOK)
    intents += _answer(words)
    implied = not any(intent in _SUBJECTS for intent in intents) and _names_a_visit(words, today)
    if implied:
        intents = [intent for intent in intents if intent not in (Intent.YES, Intent.NO)] + [Intent.BOOK]
    return _Reading(text=text, words=words, intents=tuple(intents), items=items, implied=implied)


def _answer(words: str) -> list[Intent]:
    """A whole message that says yes or no."""
    if _YES.match(words.strip()):
        return [Intent.YES]
    return [Intent.NO] if _NO.match(words.strip()) else []


def _names_a_visit(words: str, today: date) -> bool:
    """A day, a time, a part of the day, a choice or the appointment itself, with nothing else asked of it."""
    plain = _COURTESY.sub(" ", words)
    named = days_in(plain, today=today) or times_in(plain) or period_in(plain) or _choice(plain) is not None
    return bool(named) or bool(_MENTIONS_APPOINTMENT.search(plain))


def _is_about_a_visit(reading: _Reading) -> bool:
    return any(intent in (Intent.BOOK, Intent.MOVE) for intent in reading.intents)


def _resolve(found: list[Intent], everything: str) -> tuple[Intent, ...]:
    """One of each, in order; a cancellation taken back is none, and one of an order is its own intent."""
    intents = list(dict.fromkeys(found))
    if Intent.CANCEL in intents and Intent.KEEP in intents:
        intents.remove(Intent.CANCEL if _is_taken_back(everything) else Intent.KEEP)
    if (
        Intent.CANCEL in intents
        and _MENTIONS_ORDER.search(everything)
        and not _MENTIONS_APPOINTMENT.search(everything)
    ):
        intents[intents.index(Intent.CANCEL)] = Intent.CANCEL_ORDER
    if Intent.MOVE in intents and Intent.BOOK in intents:
        intents.remove(Intent.BOOK)
    return tuple(intents)


def _is_taken_back(everything: str) -> bool:
    """Whether the last word about cancelling is "do not"."""
    last_cancel = max(match.end() for match in _COMPILED[Intent.CANCEL].finditer(everything))
    return any(match.end() >= last_cancel for match in _COMPILED[Intent.KEEP].finditer(everything))


def _choice(words: str) -> int | None:
    """Which of the offered times is meant: 0 the first, -1 the last."""
    if _LAST_CHOICE.search(words):
        return -1
    return next((number for number, pattern in enumerate(_CHOICES) if pattern.search(words)), None)
