"""What each error of the Graph API means for a message: a table, and the one function that reads it.

Only errors after which the message is known as not accepted may be RETRY or SLOW. A SLOW holds the whole
number, but for the pair rate (131056), which holds one conversation; how long (4^n seconds) the outbox knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from onevoice.adapters.channels.whatsapp.shape import as_integer, as_object, text_at
from onevoice.ports.channel import ChannelError
from onevoice.vocabulary import ErrorAction, StopAi

DETAIL_CHARS_MAX: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRule:
    """One row of the table. ``ambiguous``: answering a send, it does not say that nothing was accepted."""

    action: ErrorAction
    stop_ai: StopAi = StopAi.NO
    retries_max: int = 6
    retry_after_seconds: float | None = None
    ambiguous: bool = False


_PARK = ErrorRule(action=ErrorAction.PARK)
_PARK_NUMBER = ErrorRule(action=ErrorAction.PARK, stop_ai=StopAi.CHANNEL)
_FIX = ErrorRule(action=ErrorAction.FIX)
_DROP = ErrorRule(action=ErrorAction.DROP)
_RETRY = ErrorRule(action=ErrorAction.RETRY)
# The hourly budget of calls, the number's throughput, and a proxy's limit: each waited for about an hour, five
# minutes and ten minutes before an operator has to act.
_SLOW_HOUR = ErrorRule(action=ErrorAction.SLOW, retry_after_seconds=120.0, retries_max=30)
_SLOW_THROUGHPUT = ErrorRule(action=ErrorAction.SLOW, retry_after_seconds=5.0, retries_max=60)
_SLOW_PROXY = ErrorRule(action=ErrorAction.SLOW, retry_after_seconds=30.0, retries_max=20)
PAIR_RATE_CODE: Final = 131056


def _rows(codes: Iterable[int], rule: ErrorRule) -> dict[int, ErrorRule]:
    return dict.fromkeys(codes, rule)


ERROR_RULES: Final[Mapping[int, ErrorRule]] = {
    # The token or the permission is gone: nothing of this number can leave until an admin acts.
    **_rows([0, 3, 10, *range(200, 300), 190, 33, 368, 131005, 131031, 131045, 133010], _PARK_NUMBER),
    # "Unknown" and "something went wrong": an answer that does not say whether the message was taken. In a
    # failed status the same codes are definite, so the retries count there only.
    1: ErrorRule(action=ErrorAction.RETRY, retries_max=3, ambiguous=True),
    131000: ErrorRule(action=ErrorAction.RETRY, retries_max=2, ambiguous=True),
    **_rows([2, 131016, 133004], _RETRY),
    131057: ErrorRule(action=ErrorAction.RETRY, retry_after_seconds=60.0),
    # The picture or file behind a link could not be fetched: once more, then the outbox parks it.
    131052: ErrorRule(action=ErrorAction.RETRY, retries_max=1),
    **_rows([4, 17, 80007, 613], _SLOW_HOUR),
    # Ten an hour.
    132069: ErrorRule(action=ErrorAction.SLOW, retry_after_seconds=360.0),
    **_rows([130429, 131208], _SLOW_THROUGHPUT),
    PAIR_RATE_CODE: ErrorRule(action=ErrorAction.SLOW),
    131047: ErrorRule(action=ErrorAction.NEEDS_TEMPLATE),
    **_rows([100, 131008, 131009, 131051, 131053, 131062, 132000, 132005, 132008, 132012, 135000], _FIX),
    **_rows([130472, 130497, 131021, 131049, 131050], _DROP),
    # Opaque by design: no WhatsApp, an old app, or the customer blocked the business.
    131026: ErrorRule(action=ErrorAction.DROP, stop_ai=StopAi.CONVERSATION),
    # The customer installed anew or is someone else: a human verifies before anything sensitive is said.
    137000: ErrorRule(action=ErrorAction.PARK, stop_ai=StopAi.CONVERSATION),
    # 131042 (payment) and 131048 (quality) stop templates and proactive messages; replies inside the window
    # may go on, and replies are all that onevoice sends by itself, so the number is not stopped.
    **_rows(
        [
            131030,
            131037,
            131042,
            131044,
            131048,
            131060,
            131063,
            131064,
            132001,
            132007,
            132015,
            132016,
            132068,
        ],
        _PARK,
    ),
    **_rows([133016, 803], _PARK),
    # Groups, calls and the block list: no message of onevoice causes them.
    **_rows([131020, 131041, 131059, *range(131201, 131208), *range(131209, 131212)], _DROP),
    **_rows([*range(138000, 138019), *range(139100, 139104)], _DROP),
}

# Never retry what the table does not know.
_UNLISTED = _PARK

_MASKS: Final = (
    # Tokens and other opaque strings; the Graph API quotes a malformed token in its message.
    (re.compile(r"[A-Za-z0-9_\-]{24,}"), "[masked]"),
    (re.compile(r"\b[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}"), "[masked]"),
    (re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}"), "[masked]"),
    # Phone numbers, written with or without separators.
    (re.compile(r"\+?\(?[0-9](?:[ ().\-/]{0,3}[0-9]){5,}"), "[masked]"),
)


def mask_personal(text: str) -> str:
    """The text without phone numbers, ids, addresses and tokens, at most ``DETAIL_CHARS_MAX`` long."""
    masked = text[: 4 * DETAIL_CHARS_MAX]
    for pattern, replacement in _MASKS:
        masked = pattern.sub(replacement, masked)
    return masked[:DETAIL_CHARS_MAX]


def read_error(error: object) -> tuple[int | None, str]:
    """The code and the words of one error object, wherever it stood (HTTP answer, status, message)."""
    holder = as_object(error)
    title = text_at(holder, "title") or text_at(holder, "message") or ""
    details = text_at(as_object(holder.get("error_data")), "details") or ""
    words = f"{title}: {details}" if title and details and details != title else title or details
    return as_integer(holder.get("code")), words


def classify(code: int | None, http_status: int | None, detail: str) -> ChannelError:
    """What an error means.

    ``code`` is ``None`` when the answer had none that can be read; ``http_status`` is ``None`` for an error
    that came with a ``failed`` status, which is always definite. ``detail`` is masked here.
    """
    if code is None:
        return _classify_status(http_status, detail)
    rule = ERROR_RULES.get(code, _UNLISTED)
    answered = http_status is not None
    # A 5xx whose code the table does not know says nothing definite either.
    broken = http_status is not None and http_status >= 500 and code not in ERROR_RULES
    return ChannelError(
        action=ErrorAction.UNKNOWN if broken or (answered and rule.ambiguous) else rule.action,
        code=str(code),
        detail=mask_personal(detail),
        stop_ai=rule.stop_ai,
        retries_max=rule.retries_max,
        retry_after_seconds=rule.retry_after_seconds,
        slows_channel=rule.action is ErrorAction.SLOW and code != PAIR_RATE_CODE,
    )


def _classify_status(http_status: int | None, detail: str) -> ChannelError:
    """Without a code only the HTTP status is left: an answer of a proxy, or an error of a new shape."""
    if http_status is None:
        return ChannelError(action=ErrorAction.PARK, code="none", detail=mask_personal(detail))
    if http_status >= 500 or http_status == 408:
        # The request had left: whoever stands before the API may have passed it on.
        action = ErrorAction.UNKNOWN
    elif http_status == 429:
        return ChannelError(
            action=ErrorAction.SLOW,
            code="http_429",
            detail=mask_personal(detail),
            retries_max=_SLOW_PROXY.retries_max,
            retry_after_seconds=_SLOW_PROXY.retry_after_seconds,
            slows_channel=True,
        )
    else:
        action = ErrorAction.PARK
    return ChannelError(action=action, code=f"http_{http_status}", detail=mask_personal(detail))
