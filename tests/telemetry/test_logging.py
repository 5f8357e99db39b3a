"""Log lines: one each, ids only."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from onevoice.errors import DatabaseUnavailable
from onevoice.log_format import KeyValueFormatter, configure_logging

SECRET = "EAAtoken-5511999990000-quero cancelar"


@pytest.fixture
def logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def line(name: str, message: str, *arguments: object, **fields: object) -> str:
    record = logging.LogRecord(name, logging.WARNING, "turn.py", 7, message, arguments, None)
    vars(record).update(fields)
    return KeyValueFormatter().format(record)


def test_a_line_has_the_event_and_its_safe_fields() -> None:
    """A record of ours shows its event, its level and the fields marked safe."""
    shown = line("onevoice.flow.turn", "turn_ended", turn_id="t-1", reason="authority_revoked")

    assert (
        "level=warning event=turn_ended logger=onevoice.flow.turn turn_id=t-1 reason=authority_revoked"
        in shown
    )
    assert shown.startswith("time=20")


def test_a_field_that_is_not_marked_safe_is_hidden() -> None:
    """A customer's text passed by mistake does not reach the sink."""
    shown = line("onevoice.flow.turn", "turn_ended", text=SECRET)

    assert "text=[hidden]" in shown
    assert SECRET not in shown


def test_a_value_cannot_forge_a_second_line_or_field() -> None:
    """Line breaks, spaces and quotes in a value stay inside its quotes."""
    shown = line("onevoice.x", "e", reason='a\nlevel=error b="c"')

    assert "\n" not in shown
    assert 'reason="a\\nlevel=error b=\\"c\\""' in shown


def test_another_librarys_arguments_are_left_out() -> None:
    """A URL with a token in a library's argument does not reach the sink."""
    shown = line("httpx2", "HTTP Request: %s %s", "POST", SECRET)

    assert SECRET not in shown
    assert "HTTP Request: %s %s" in shown


def test_a_foreign_error_shows_its_kind_and_place_only() -> None:
    """A driver's error may quote a row, so that its words stay out; its kind, place and cause are shown."""
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise ValueError(SECRET) from cause
    except ValueError:
        record = logging.LogRecord("onevoice.x", logging.ERROR, "x.py", 1, "failed", (), sys.exc_info())
    shown = KeyValueFormatter().format(record)

    assert SECRET not in shown
    assert "error=builtins.ValueError at=test_logging.py:" in shown
    assert "cause=builtins.KeyError" in shown


def test_our_own_error_shows_its_words() -> None:
    """Our errors say what to do next and hold nothing personal."""
    try:
        raise DatabaseUnavailable
    except DatabaseUnavailable:
        record = logging.LogRecord("onevoice.x", logging.ERROR, "x.py", 1, "failed", (), sys.exc_info())

    assert "onevoice doctor" in KeyValueFormatter().format(record)


@pytest.mark.usefixtures("logging_restored")
def test_configured_logging_writes_one_line_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Configured twice it still writes each record once, to stderr, at the level asked for."""
    configure_logging("info")
    configure_logging("info")
    logging.getLogger("onevoice.flow").info("ready", extra={"port": 8080})
    logging.getLogger("onevoice.flow").debug("noise")
    logging.getLogger("httpx2").info("HTTP Request: %s", SECRET)
    logging.getLogger("uvicorn.error").info("Finished server process [%d]", 7)
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "event=ready" in captured.err
    assert "port=8080" in captured.err
