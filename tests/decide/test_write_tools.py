"""The decorator alone: what it asks about, what it returns, and its clear errors; the gate is a double."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Generic, TypeVar

import pytest

import onevoice
from onevoice import WriteOutsideTurn, WriteRefused, writes
from onevoice.errors import WriteArgumentsInvalid
from onevoice.ports.writes import Permit, WriteCall
from onevoice.testing import Gate, RecordingWriteGate
from onevoice.vocabulary import EffectState

Deps = TypeVar("Deps")


class RunContext(Generic[Deps]):
    """Named as a framework's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    day: date
    at: str


@writes
async def book(day: str, at: int = 9) -> str:
    """Book a slot."""
    return f"{day} {at}"


async def test_the_bound_arguments_are_the_call() -> None:
    """However it is called, with or without its defaults, it is the same call."""
    with RecordingWriteGate() as gate:
        results = [await book("sexta"), await book(day="sexta"), await book("sexta", at=9)]

    assert results == ["sexta 9"] * 3
    assert gate.calls == [WriteCall(tool="book", args={"day": "sexta", "at": 9})] * 3
    assert len(gate.results) == 1


def test_a_framework_still_sees_the_function() -> None:
    """Name, documentation, signature and kind are the tool's own."""
    assert (book.__name__, book.__doc__) == ("book", "Book a slot.")
    assert list(inspect.signature(book).parameters) == ["day", "at"]
    assert inspect.iscoroutinefunction(book)
    assert not inspect.iscoroutinefunction(writes(lambda day: day))


async def test_what_is_no_argument_of_the_write_is_left_out() -> None:
    """The framework's context, ``self``, and what the tool names itself."""

    class Desk:
        @writes(leave_out=("client",))
        async def move(self, context: RunContext[str], day: date, client: object) -> str:
            return "moved"

        @writes
        async def cancel(self, context: RunContext[str], slot: Slot, *days: date, **more: str) -> None:
            return None

    with RecordingWriteGate() as gate:
        await Desk().move(RunContext(), date(2026, 12, 4), object())
        await Desk().cancel(RunContext(), Slot(day=date(2026, 12, 4), at="9h"), date(2026, 12, 5), why="x")

    assert gate.calls[0].args == {"day": "2026-12-04"}
    assert gate.calls[1].args == {
        "slot": {"day": "2026-12-04", "at": "9h"},
        "days": ["2026-12-05"],
        "more": {"why": "x"},
    }


@pytest.mark.parametrize("value", [object(), float("nan"), b"\xff\xfe"])
async def test_an_argument_that_is_no_json_is_a_clear_error(value: object) -> None:
    """Two such calls could not be compared; nothing is called."""
    called: list[object] = []

    @writes
    async def send(thing: object) -> None:
        called.append(thing)

    with RecordingWriteGate() as gate, pytest.raises(WriteArgumentsInvalid, match="send"):
        await send(value)

    assert called == []
    assert gate.results == {}


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ({"a": 1}, {"a": 1}),
        (Slot(day=date(2026, 12, 4), at="9h"), {"day": "2026-12-04", "at": "9h"}),
        (None, None),
        ("a\x00b\ud800", "ab?"),
        (("x", {1: 2.5}), ["x", {"1": 2.5}]),
        (ValueError("no"), "no"),
        ({"share": float("inf")}, {"share": "inf"}),
    ],
)
async def test_a_result_is_kept_as_json(result: object, kept: object) -> None:
    """The caller gets the tool's own object; an equal call later gets what was kept."""

    @writes
    async def act() -> object:
        return result

    with RecordingWriteGate() as gate:
        assert await act() is result
        assert await act() == kept

    assert list(gate.results.values()) == [kept]


async def test_a_long_result_is_cut() -> None:
    """A write that has happened is never lost for the length of its answer."""

    @writes
    async def act() -> list[str]:
        return ["x" * 1000] * 100

    with RecordingWriteGate() as gate:
        await act()

    (kept,) = gate.results.values()
    assert isinstance(kept, str)
    assert len(kept) == 60_000


@pytest.mark.parametrize(
    "occurrence", ["second", lambda day, at=9: "second", lambda *_args, **_named: "second"]
)
async def test_an_occurrence_is_a_text_or_a_function(occurrence: str | Callable[..., str]) -> None:
    """It is asked with the call's own arguments."""

    @writes(occurrence=occurrence, retry_safe=True, confirm="operator")
    async def note(day: str, at: int = 9) -> None:
        return None

    with RecordingWriteGate() as gate:
        await note("sexta", at=10)

    assert gate.calls == [
        WriteCall(
            tool="note",
            args={"day": "sexta", "at": 10},
            occurrence="second",
            retry_safe=True,
            needs_approval=True,
        )
    ]


def test_outside_a_turn_nothing_is_written() -> None:
    """The error says what to do, for a plain call, a thread without context, and a coroutine."""

    @writes
    def book_now(day: str) -> str:
        return day

    with pytest.raises(WriteOutsideTurn, match="copy_context"):
        book_now("sexta")
    with pytest.raises(WriteOutsideTurn):
        asyncio.run(book("sexta"))
    with RecordingWriteGate(), pytest.raises(WriteOutsideTurn):
        Context().run(book_now, "sexta")


def test_a_plain_function_runs_where_no_loop_runs() -> None:
    """A script or a test calls it as it is."""

    @writes
    def double(count: int) -> int:
        return count * 2

    with RecordingWriteGate() as gate:
        assert (double(4), double(4)) == (8, 8)

    assert list(gate.results.values()) == [8]


async def test_an_error_of_the_tool_is_its_own() -> None:
    """It reaches the caller, and the write counts as failed."""

    @writes
    async def fail() -> None:
        raise KeyError("full")

    with RecordingWriteGate() as gate:
        for _ in range(2):
            with pytest.raises(KeyError):
                await fail()

    assert gate.results == {}


async def test_a_refusal_is_an_error_and_is_noted() -> None:
    """The gate knows of it even where a framework swallows the error."""
    with RecordingWriteGate(refuses="newer_message") as gate, pytest.raises(WriteRefused) as raised:
        await book("sexta")

    assert raised.value.reason == gate.refusal == "newer_message"


async def test_a_write_that_is_cut_stays_unknown() -> None:
    """Nobody can say whether it happened."""
    door = Gate()

    @writes
    async def hang() -> None:
        await door.pass_through()

    with RecordingWriteGate():
        hanging = asyncio.create_task(hang())
        await door.reached()
        hanging.cancel()
        await asyncio.wait([hanging])
        with pytest.raises(WriteRefused, match="outcome_unknown"):
            await hang()


class LateGate(RecordingWriteGate):
    """Its yes comes after its deadline."""

    async def authorise(self, call: WriteCall) -> Permit:
        return replace(await super().authorise(call), is_late=lambda: True)


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_yes_that_comes_too_late_is_a_no(in_thread: bool) -> None:
    """The deadline is compared just before the tool is called."""
    called: list[str] = []
    finished: list[tuple[EffectState, object]] = []

    class Gate(LateGate):
        async def finish(self, permit: Permit, *, state: EffectState, result: object) -> None:
            finished.append((state, result))
            await super().finish(permit, state=state, result=result)

    @writes
    async def act() -> None:
        called.append("x")

    @writes
    def act_now() -> None:
        called.append("x")

    with Gate() as gate, pytest.raises(WriteRefused, match="too_late"):
        await (asyncio.to_thread(act_now) if in_thread else act())

    assert called == []
    assert finished == [(EffectState.FAILED, "too_late")]
    assert gate.refusal == "too_late"


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        (Slot, "marks a function"),
        ("book", "marks a function"),
        ((day for day in ()), "marks a function"),
    ],
)
def test_only_a_function_can_be_marked(marked: Any, message: str) -> None:
    """A mistake shows when the module is loaded, not when a customer books."""
    with pytest.raises(TypeError, match=message):
        writes(marked)


def test_wrong_options_show_when_the_module_is_loaded() -> None:
    """A generator, an unknown parameter, and another kind of confirmation."""

    def numbers() -> Any:
        yield 1

    with pytest.raises(TypeError, match="not a generator"):
        writes(numbers)
    with pytest.raises(TypeError, match="leave_out names client"):
        writes(leave_out=("client",))(lambda day: day)
    with pytest.raises(ValueError, match="confirm"):
        writes(confirm="customer")  # type: ignore[call-overload]


def test_importing_onevoice_loads_no_more_than_its_words() -> None:
    """The decorator is loaded when it is used, and stays the decorator when its module is imported."""
    script = (
        "import sys, onevoice\n"
        "assert 'onevoice.write_tools' not in sys.modules and 'asyncio' not in sys.modules\n"
        "from onevoice.write_tools import writes\n"
        "assert onevoice.writes is writes and onevoice.writes is writes\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="read"):
        onevoice.read  # type: ignore[attr-defined]  # noqa: B018
