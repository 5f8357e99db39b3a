"""Log lines: one each, key=value, on stderr; ids and codes only.

Each field that a line may show is marked safe here. A customer's words, a token or a phone number passed by
mistake show as ``[hidden]``.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from onevoice.errors import OnevoiceError

# Fields that a log line may show: ids, codes, counts and durations. Everything else counts as personal.
SAFE_FIELDS: frozenset[str] = frozenset(
    {
        "account_id",
        "attempt",
        "attempt_count",
        "channel",
        "code",
        "conversation_id",
        "correlation_id",
        "count",
        "decider",
        "decision",
        "effect_id",
        "host",
        "media_id",
        "message_id",
        "method",
        "operator_id",
        "outbound_id",
        "port",
        "reason",
        "role",
        "route",
        "seconds",
        "state",
        "status",
        "step",
        "turn_id",
        "use",
        "verdict",
        "version",
        "work",
        "worker",
    }
)
_RECORD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}
_LINE_CHARS_MAX = 2000


class KeyValueFormatter(logging.Formatter):
    """One line of key=value per record: the event, its safe fields, and of an error only its kind and place.

    A field that is not in ``SAFE_FIELDS`` shows as ``[hidden]``. Records of other libraries show their
    template without its arguments, because those may be URLs with tokens.
    """

    def format(self, record: logging.LogRecord) -> str:
        own = record.name == "onevoice" or record.name.startswith("onevoice.")
        event = record.getMessage() if own else str(record.msg).partition("\n")[0]
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        pairs: list[tuple[str, object]] = [
            ("time", at.replace("+00:00", "Z")),
            ("level", record.levelname.lower()),
            ("event", event),
            ("logger", record.name),
        ]
        for name, value in vars(record).items():
            if name not in _RECORD_ATTRIBUTES:
                pairs.append((name, value if name in SAFE_FIELDS else "[hidden]"))
        if record.exc_info and record.exc_info[1] is not None:
            pairs.extend(_describe_error(record.exc_info[1]))
        return " ".join(f"{name}={_quoted(value)}" for name, value in pairs)[:_LINE_CHARS_MAX]


def _quoted(value: object) -> str:
    text = str(value)
    plain = text != "" and text.isprintable() and not any(character in text for character in ' "=\\')
    return text if plain else json.dumps(text)


def _describe_error(error: BaseException) -> Iterator[tuple[str, object]]:
    """Kind and place; the words only of our own errors, which never hold a secret or a customer's text."""
    yield "error", f"{type(error).__module__}.{type(error).__qualname__}"
    if isinstance(error, OnevoiceError):
        yield "error_message", error
    yield "at", "<".join(reversed(list(_places(error.__traceback__))))
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield "cause", f"{type(cause).__module__}.{type(cause).__qualname__}"


def _places(traceback: TracebackType | None) -> Iterator[str]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield f"{Path(code.co_filename).name}:{traceback.tb_lineno}"
        traceback = traceback.tb_next


def configure_logging(level: str = "INFO") -> None:
    """Send every record to stderr, one line each; libraries that log URLs are quiet below a warning."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # What uvicorn says below a warning, ``serve`` says in its own words; its templates show unfilled here.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx2", "httpcore2", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
