"""``@onevoice.writes``: a write tool of any framework asks the gate before it begins, and its result is recorded.

Works on ``async def`` and on plain functions; the turn is found through the context. Importing this module starts
nothing.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Literal, TypeVar, cast, overload

from onevoice.errors import WriteArgumentsInvalid, WriteOutsideTurn
from onevoice.ports.writes import CURRENT_GATE, Permit, WriteCall, WriteGate
from onevoice.vocabulary import EffectState

__all__ = ["perform_write", "writes"]

Function = TypeVar("Function", bound=Callable[..., Any])
Occurrence = str | Callable[..., str | None] | None

# What frameworks hand to a tool beside its arguments: known by the name of its type, so that none is imported here.
FRAMEWORK_TYPES = frozenset(
    {
        "CallbackContext",
        "InvocationContext",
        "RunContext",
        "RunContextWrapper",
        "RunnableConfig",
        "ToolContext",
        "ToolRuntime",
    }
)
TOO_LATE = "too_late"
RESULT_CHARS_MAX = 60_000


@overload
def writes(function: Function, /) -> Function: ...
@overload
def writes(
    *,
    retry_safe: bool = False,
    occurrence: Occurrence = None,
    confirm: Literal["operator"] | None = None,
    leave_out: Collection[str] = (),
) -> Callable[[Function], Function]: ...
def writes(
    function: Callable[..., Any] | None = None,
    /,
    *,
    retry_safe: bool = False,
    occurrence: Occurrence = None,
    confirm: Literal["operator"] | None = None,
    leave_out: Collection[str] = (),
) -> Any:
    """Mark a function as a write tool: it is called at most once per turn of events, and never by stale work.

    ``retry_safe``: doing it twice does no harm, so that a lost outcome may be tried again. ``occurrence``: what tells
    intended equal calls apart, as a text or a function of the same arguments. ``confirm="operator"``: it waits until
    an operator has approved it. ``leave_out``: parameters that are no argument of the write, such as a client.

    >>> @writes
    ... async def book(day: str) -> str:
    ...     return f"booked {day}"
    >>> async def main() -> str:
    ...     with RecordingWriteGate():
    ...         return await book("friday")
    >>> asyncio.run(main())
    'booked friday'
    """
    if confirm not in (None, "operator"):
        raise ValueError(f'confirm is None or "operator", not {confirm!r}')

    def mark(marked: Callable[..., Any]) -> Callable[..., Any]:
        return _mark(
            marked,
            _Describer(
                marked,
                retry_safe=retry_safe,
                occurrence=occurrence,
                needs_approval=confirm is not None,
                leave_out=leave_out,
            ),
        )

    return mark if function is None else mark(function)


async def perform_write(call: WriteCall, function: Callable[[], Awaitable[object]]) -> object:
    """One gated write without a decorator: ``function`` is called if the gate lets it, and its result recorded.

    A write that is done already returns the recorded result.
    """
    gate = _gate(call.tool)
    permit = await gate.reach(gate.authorise(call))
    if permit.state is EffectState.DONE:
        return permit.result
    if permit.is_late():
        await gate.reach(gate.finish(permit, state=EffectState.FAILED, result=TOO_LATE))
        raise gate.refuse(TOO_LATE)
    try:
        result = await function()
    except Exception as error:
        await gate.reach(gate.finish(permit, state=EffectState.FAILED, result=type(error).__name__))
        raise
    except BaseException:
        gate.leave(permit)
        raise
    await gate.reach(gate.finish(permit, state=EffectState.DONE, result=_as_json(result)))
    return result


def _perform_write_in_thread(call: WriteCall, function: Callable[[], object]) -> object:
    gate = _gate(call.tool)
    permit: Permit = gate.wait(gate.authorise(call))
    if permit.state is EffectState.DONE:
        return permit.result
    if permit.is_late():
        gate.wait(gate.finish(permit, state=EffectState.FAILED, result=TOO_LATE))
        raise gate.refuse(TOO_LATE)
    try:
        result = function()
    except Exception as error:
        gate.wait(gate.finish(permit, state=EffectState.FAILED, result=type(error).__name__))
        raise
    except BaseException:
        gate.leave(permit)
        raise
    gate.wait(gate.finish(permit, state=EffectState.DONE, result=_as_json(result)))
    return result


def _mark(function: Callable[..., Any], describe: _Describer) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def gated(*args: Any, **kwargs: Any) -> Any:
            return await perform_write(describe(args, kwargs), lambda: function(*args, **kwargs))

        return gated

    @functools.wraps(function)
    def gated_in_thread(*args: Any, **kwargs: Any) -> Any:
        return _perform_write_in_thread(describe(args, kwargs), lambda: function(*args, **kwargs))

    return gated_in_thread


class _Describer:
    """Turns one call of the function into what the gate is asked about."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        retry_safe: bool,
        occurrence: Occurrence,
        needs_approval: bool,
        leave_out: Collection[str],
    ) -> None:
        if not callable(function) or inspect.isclass(function) or not hasattr(function, "__name__"):
            raise TypeError("onevoice.writes marks a function; put it directly above the `def`")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("onevoice.writes marks a function that returns once, not a generator")
        self._tool = function.__name__
        self._signature = inspect.signature(function)
        unknown = set(leave_out) - set(self._signature.parameters)
        if unknown:
            raise TypeError(f"leave_out names {', '.join(sorted(unknown))}, which {self._tool} does not have")
        self._left_out = {
            name
            for position, (name, parameter) in enumerate(self._signature.parameters.items())
            if name in leave_out
            or (position == 0 and name in ("self", "cls"))
            or _type_name(parameter.annotation) in FRAMEWORK_TYPES
        }
        self._retry_safe = retry_safe
        self._occurrence = occurrence
        self._needs_approval = needs_approval

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> WriteCall:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {name: value for name, value in bound.arguments.items() if name not in self._left_out}
        occurrence = self._occurrence(*args, **kwargs) if callable(self._occurrence) else self._occurrence
        return WriteCall(
            tool=self._tool,
            args={name: self._argument(name, value) for name, value in given.items()},
            occurrence=None if occurrence is None else str(occurrence),
            retry_safe=self._retry_safe,
            needs_approval=self._needs_approval,
        )

    def _argument(self, name: str, value: object) -> object:
        from pydantic_core import PydanticSerializationError, to_jsonable_python

        try:
            return to_jsonable_python(value)
        except (PydanticSerializationError, UnicodeDecodeError, ValueError) as error:
            raise WriteArgumentsInvalid(
                f"the argument {name} of {self._tool} is a {type(value).__name__}, which cannot be written as JSON; "
                f'pass plain values, or leave it out with @onevoice.writes(leave_out=("{name}",))'
            ) from error


def _gate(tool: str) -> WriteGate:
    gate = CURRENT_GATE.get()
    if gate is None:
        cause = (WriteOutsideTurn.__doc__ or "").strip()
        raise WriteOutsideTurn(f"{tool}: {cause}")
    return gate


def _type_name(annotation: object) -> str:
    """The bare name of an annotation: `RunContext` for `RunContext[Clinic]`, as a type or as a text."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2].strip()
    origin = cast("object", getattr(annotation, "__origin__", annotation))
    return str(getattr(origin, "__name__", ""))


def _as_json(result: object) -> object:
    """What is kept of a result: itself where it is JSON that can be stored, else its text."""
    from pydantic_core import to_jsonable_python

    try:
        kept = _cleaned(to_jsonable_python(result, fallback=str))
        text = json.dumps(kept, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        kept = text = _cleaned(str(result))
    return kept if len(text) <= RESULT_CHARS_MAX else text[:RESULT_CHARS_MAX]


def _cleaned(value: Any) -> Any:
    """Without what the database cannot hold: NUL, halves of surrogate pairs, numbers that are none."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return {_cleaned(str(name)): _cleaned(entry) for name, entry in entries.items()}
    if isinstance(value, list):
        return [_cleaned(entry) for entry in cast("list[object]", value)]
    return value
