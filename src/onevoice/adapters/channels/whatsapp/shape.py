"""Reading JSON whose shape nobody promised: every function is total, bounded and safe for a PostgreSQL text.

Strings that leave here hold neither NUL nor lone surrogates; an item's raw bytes keep the truth.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final, NoReturn, cast

from onevoice.errors import BodyUnreadable

DEPTH_MAX: Final = 100
IDENTIFIER_BYTES_MAX: Final = 512
NAME_CHARS_MAX: Final = 256
TEXT_CHARS_MAX: Final = 65_536
CUT_MARKER: Final = " […]"

Object = dict[str, object]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# An unterminated string is matched to the end of the body: the scan never starts again behind each quote.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+\\?"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

# Before WhatsApp existed, and after anyone will run this: a unit mistaken or a field misread, not a time.
_EARLIEST_SECONDS: Final = 1_230_768_000
_LATEST_SECONDS: Final = 4_102_444_800
_SECONDS = re.compile("[0-9]{1,12}")
# A number with more digits than this is kept as text: Python refuses or rounds it, and nobody means it.
_DIGITS_MAX: Final = 40


def decode_json(body: bytes) -> object:
    """The value a body holds; raises ``BodyUnreadable`` when it is no JSON in UTF-8 or nested too deep."""
    if _depth_exceeds(body, DEPTH_MAX):
        raise BodyUnreadable(
            f"the webhook's body is nested deeper than {DEPTH_MAX} levels; nothing was stored: "
            "check who sends it."
        )
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except ValueError as error:
        # Not chained: the original error carries the customer's words.
        place = f" at position {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise BodyUnreadable(
            f"the webhook's body is not JSON in UTF-8{place}; nothing was stored: check who sends it."
        ) from None


def encode_json(value: object) -> bytes:
    """One spelling for one value: a redelivery whose keys are ordered differently has the same bytes."""
    return _ENCODER.encode(value).encode("ascii")


def clean(text: str) -> str:
    """The text as PostgreSQL can store it."""
    # Nearly all are plain, and nothing plain but NUL needs a look at each character.
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def cut(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """The text, cut with a marker when it is longer than allowed."""
    return text if len(text) <= chars_max else text[: chars_max - len(CUT_MARKER)] + CUT_MARKER


def as_object(value: object) -> Object:
    """The value when it is an object, else an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value when it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_integer(value: object) -> int | None:
    """The value when it is an integer, or the digits of one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and _SECONDS.fullmatch(value) else None


def text_at(holder: Object, key: str, chars_max: int = TEXT_CHARS_MAX) -> str | None:
    """The string or number under a key as text, clean and cut; ``None`` when there is none or it is blank."""
    value = holder.get(key)
    # Most keys that are asked for are not there.
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    return cut(clean(value), chars_max)


def identifier_at(holder: Object, key: str) -> str | None:
    """The identifier under a key, clean; ``None`` when there is none or it is too long to be a key."""
    if key not in holder:
        return None
    value = text_at(holder, key, IDENTIFIER_BYTES_MAX + 1)
    if value is None or len(value) > IDENTIFIER_BYTES_MAX:
        return None
    return value if value.isascii() or len(value.encode()) <= IDENTIFIER_BYTES_MAX else None


def instant_at(holder: Object, key: str) -> datetime | None:
    """The unix seconds under a key as an aware instant; ``None`` for what cannot be the time of a message."""
    seconds = as_integer(holder.get(key))
    if seconds is None or not _EARLIEST_SECONDS <= seconds <= _LATEST_SECONDS:
        return None
    return datetime.fromtimestamp(seconds, tz=UTC)


def _depth_exceeds(body: bytes, depth_max: int) -> bool:
    # Nearly every body has fewer brackets than the limit, and is done here.
    if body.count(b"[") + body.count(b"{") <= depth_max:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    return any(depth > depth_max for depth in accumulate(map(_STEP.__getitem__, brackets)))


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS_MAX else digits


def _number(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# Made once: a decoder of its own would cost each webhook as much as reading it.
_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
