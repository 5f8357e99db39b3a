"""The gate in front of an agent's write tools: asked before the first byte leaves, told what came of it.

A turn that runs inside this process has one in its context; ``onevoice.writes`` finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from onevoice.errors import WriteRefused
from onevoice.vocabulary import EffectId, EffectState

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """One call of a write tool. Equal tool, arguments and ``occurrence`` make it the same call.

    ``retry_safe``: doing it twice does no harm. ``needs_approval``: an operator must agree first.
    """

    tool: str
    args: dict[str, object] = field(default_factory=dict[str, object])
    occurrence: str | None = None
    retry_safe: bool = False
    needs_approval: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The gate's yes: ``STARTED`` do it, unless ``is_late``; ``DONE`` it is done already, with this result."""

    effect: EffectId
    key: str
    state: EffectState
    result: object = None
    is_late: Callable[[], bool] = lambda: False


class WriteGate(Protocol):
    """One turn's gate. ``authorise`` is answered by exactly one of ``finish`` and ``leave``, unless it is done already.

    ``reach`` and ``wait`` run one of these calls from another event loop or from a thread. ``refusal`` is the first
    refusal of the turn: after it nothing the agent says is believed, so that its run may end at once.
    """

    refusal: str | None

    async def authorise(self, call: WriteCall) -> Permit:
        """Ask; raises ``WriteRefused``. An equal call that is under way is waited for."""
        ...

    async def finish(self, permit: Permit, *, state: EffectState, result: object) -> None:
        """Record ``DONE`` or ``FAILED`` with a JSON result."""
        ...

    def leave(self, permit: Permit) -> None:
        """The call was cut in the middle: whether it happened is unknown, and stays so."""
        ...

    def refuse(self, reason: str) -> WriteRefused:
        """Note that a write of this turn did not happen, so that its answer is not believed; returns the error."""
        ...

    async def reach(self, asked: Coroutine[Any, Any, T]) -> T:
        """Await a call of this gate from whatever loop runs here."""
        ...

    def wait(self, asked: Coroutine[Any, Any, T]) -> T:
        """Block this thread on a call of this gate; raises ``WriteBlocksLoop`` on the gate's own loop."""
        ...


CURRENT_GATE: ContextVar[WriteGate | None] = ContextVar("onevoice_write_gate", default=None)
