"""Text made comparable: folded letters, shorthand spelled out, typing errors mended, its language."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache

READ_CHARS_MAX = 2_000
MENDED_LETTERS_MIN = 5


class Language(StrEnum):
    PORTUGUESE = "pt"
    ENGLISH = "en"


_SHORTHAND = {
    "vc": "voce", "vcs": "voces", "q": "que", "hj": "hoje", "amh": "amanha", "obg": "obrigado", "vlw": "valeu",
    "tb": "tambem", "tbm": "tambem", "blz": "beleza", "pfv": "por favor", "pf": "por favor", "hr": "hora",
    "hrs": "horas", "pls": "please", "plz": "please", "thx": "thanks", "tmrw": "tomorrow", "tmr": "tomorrow",
    "appt": "appointment", "u": "you", "2day": "today", "add": "adiciona",
}  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that typing errors are mended to.
_MEND_TO = _words("""
    segunda terca quarta quinta sexta sabado domingo amanha manha tarde marcar agendar remarcar
    reagendar cancelar desmarcar consulta horario horarios funcionamento atendimento atendente
    humano endereco localizacao pagamento cartao credito debito dinheiro convenio obrigado obrigada
    pedido adiciona acrescenta preco valor disponivel monday tuesday wednesday thursday friday
    saturday sunday tomorrow morning afternoon appointment schedule reschedule cancel opening hours
    address where located payment insurance human person available please thanks price order confirm
""")

# Ordinary words that stand one typing error away from one of those.
_LEAVE = _words("""
    segundo quarto quartos sexto quinto terra terco contas consultas cancela humana pessoal marca
    cartas tardes precos pedidos valores marcas mando persons orders prices border house there were
    hour manhas sextas
""")

_PORTUGUESE = _words("""
    oi ola opa bom boa dia tarde noite quero queria gostaria marcar agendar remarcar cancelar
    consulta horario voce voces que qual quando onde como tem sexta segunda terca quarta quinta
    sabado domingo amanha hoje manha nao sim obrigado obrigada valeu pra para pode ser na no de da
    do uma um meu minha falar com atendente pedido e aceitam quanto custa por favor tambem verdade
    entao fica abre abrem fecha fecham acabei receber tchau eu beleza isso preciso posso adicionar
    acrescenta cartao convenio pagar endereco mudar trocar as
""")

_ENGLISH = _words("""
    hi hello hey good morning afternoon evening i want would like to book schedule an appointment
    what when where how do you have friday monday tuesday wednesday thursday saturday sunday
    tomorrow today not yes thanks thank can could my is are the of on at for please human person
    order take pay card insurance open close hours much and too also actually instead need cancel
    move reschedule change just received got bye it does accept with talk speak someone am pm in
    your there
""")


def fold(text: str) -> str:
    """Lower case without accents, one character for one character."""
    composed = unicodedata.normalize("NFC", text[:READ_CHARS_MAX])
    return "".join(unicodedata.normalize("NFKD", letter)[0].lower()[0] for letter in composed)


def mend(folded: str) -> str:
    """Words only: shorthand spelled out, words one typing error away from a known one mended."""
    return re.sub(r"[a-z0-9]+", lambda match: _mended(match[0]), folded.replace("'", " ").replace("’", " "))


def language_of(texts: list[str]) -> Language | None:
    """The language most words speak for; ``None`` when neither does."""
    words = re.findall(r"[a-z]+", mend(fold("\n".join(texts))))
    portuguese = sum(word in _PORTUGUESE for word in words)
    english = sum(word in _ENGLISH for word in words)
    if portuguese == english:
        return None
    return Language.PORTUGUESE if portuguese > english else Language.ENGLISH


@lru_cache(maxsize=4_096)
def _mended(word: str) -> str:
    if word in _SHORTHAND:
        return _SHORTHAND[word]
    if len(word) < MENDED_LETTERS_MIN or word in _MEND_TO or word in _LEAVE or word in _PORTUGUESE | _ENGLISH:
        return word
    near = [known for known in sorted(_MEND_TO) if _is_one_error_away(word, known)]
    return near[0] if near else word


def _is_one_error_away(word: str, known: str) -> bool:
    """One letter too many, missing, wrong, or two neighbours exchanged; the first letter is right."""
    if word[0] != known[0] or abs(len(word) - len(known)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), None)
    if start is None:
        return True
    rest, known_rest = word[start:], known[start:]
    return (
        rest[1:] == known_rest
        or rest == known_rest[1:]
        or rest[1:] == known_rest[1:]
        or (rest[:2] == known_rest[1::-1] and rest[2:] == known_rest[2:])
    )
