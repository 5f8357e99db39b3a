"""The table of commands and states, as architecture section 5 has it, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from uuid import UUID

import pytest

from onevoice.flow.authority.decide import (
    DEVICE_REPLY,
    Authority,
    Command,
    Conflict,
    Request,
    Transition,
    Unchanged,
    decide_transition,
)
from onevoice.vocabulary import AuthorityState, OperatorId

X = OperatorId(UUID(int=1))
Y = OperatorId(UUID(int=2))
Z = OperatorId(UUID(int=3))
NAMES = {X: "x", Y: "y", Z: "z", None: "nobody"}

AI, PENDING = AuthorityState.AI_ACTIVE, AuthorityState.HANDOFF_PENDING
HUMAN, SUSPENDED = AuthorityState.HUMAN_ACTIVE, AuthorityState.AI_SUSPENDED

COLUMNS = {
    "AI_ACTIVE": (AI, None, None),
    "pending, no owner": (PENDING, None, "customer_request"),
    "pending, x": (PENDING, X, "manual"),
    "human, x": (HUMAN, X, "manual"),
    "human, device": (HUMAN, None, DEVICE_REPLY),
    "AI_SUSPENDED": (SUSPENDED, None, "policy"),
}

# One line per command and column: what it becomes. `y` acts; `x` owns. "as is" is no transition.
# A cell with `|` reads: at rest | while an AI send or an AI write is in flight.
# A cell with `/` reads: by the owner x or an admin / by y who is neither. Force is a permission of its own.
TABLE = {
    Command.TAKE: {
        "AI_ACTIVE": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
        "pending, no owner": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
        "pending, x": "409 held_by_other x",
        "human, x": "409 held_by_other x",
        "human, device": "HUMAN_ACTIVE y",
        "AI_SUSPENDED": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
    },
    Command.TAKE_FORCED: {
        "AI_ACTIVE": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
        "pending, no owner": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
        "pending, x": "HUMAN_ACTIVE y | HANDOFF_PENDING y / 409 role_too_small x",
        "human, x": "HUMAN_ACTIVE y / 409 role_too_small x",
        "human, device": "HUMAN_ACTIVE y",
        "AI_SUSPENDED": "HUMAN_ACTIVE y | HANDOFF_PENDING y",
    },
    Command.CONFIRM: {
        "AI_ACTIVE": "as is",
        "pending, no owner": "as is",
        "pending, x": "HUMAN_ACTIVE x | as is",
        "human, x": "as is",
        "human, device": "as is",
        "AI_SUSPENDED": "as is",
    },
    Command.RELEASE: {
        "AI_ACTIVE": "409 invalid_transition",
        "pending, no owner": "AI_ACTIVE nobody",
        "pending, x": "AI_ACTIVE nobody / 409 not_owner x",
        "human, x": "AI_ACTIVE nobody / 409 not_owner x",
        "human, device": "AI_ACTIVE nobody",
        "AI_SUSPENDED": "409 invalid_transition",
    },
    Command.TRANSFER: {
        "AI_ACTIVE": "409 invalid_transition",
        "pending, no owner": "409 invalid_transition",
        "pending, x": "HANDOFF_PENDING z / 409 not_owner x",
        "human, x": "HUMAN_ACTIVE z / 409 not_owner x",
        "human, device": "409 invalid_transition",
        "AI_SUSPENDED": "409 invalid_transition",
    },
    Command.SUSPEND: {
        "AI_ACTIVE": "AI_SUSPENDED nobody",
        "pending, no owner": "AI_SUSPENDED nobody",
        "pending, x": "AI_SUSPENDED nobody / 409 not_owner x",
        "human, x": "AI_SUSPENDED nobody / 409 not_owner x",
        "human, device": "AI_SUSPENDED nobody",
        "AI_SUSPENDED": "as is",
    },
    Command.RESUME: {
        "AI_ACTIVE": "409 invalid_transition",
        "pending, no owner": "409 invalid_transition",
        "pending, x": "409 invalid_transition",
        "human, x": "409 invalid_transition",
        "human, device": "409 invalid_transition",
        "AI_SUSPENDED": "AI_ACTIVE nobody",
    },
    Command.REQUEST_HANDOFF: {
        "AI_ACTIVE": "HANDOFF_PENDING nobody",
        "pending, no owner": "as is",
        "pending, x": "as is",
        "human, x": "as is",
        "human, device": "as is",
        "AI_SUSPENDED": "HANDOFF_PENDING nobody",
    },
    Command.DEVICE_REPLY: {
        "AI_ACTIVE": "HUMAN_ACTIVE nobody | HANDOFF_PENDING nobody",
        "pending, no owner": "HUMAN_ACTIVE nobody | HANDOFF_PENDING nobody",
        "pending, x": "as is",
        "human, x": "as is",
        "human, device": "as is",
        "AI_SUSPENDED": "HUMAN_ACTIVE nobody | HANDOFF_PENDING nobody",
    },
    Command.IDLE_RETURN: {
        "AI_ACTIVE": "as is",
        "pending, no owner": "as is",
        "pending, x": "as is",
        "human, x": "AI_ACTIVE nobody",
        "human, device": "AI_ACTIVE nobody",
        "AI_SUSPENDED": "as is",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    command: Command
    column: str
    by: OperatorId
    is_admin: bool
    in_flight: bool

    @property
    def expected(self) -> str:
        """The table's word, with the exceptions for the owner's own take, which stand in the cell as `x = y`."""
        if self.by == X and self.column in ("pending, x", "human, x"):
            if self.command is Command.TAKE:
                return "as is"
            if self.command is Command.TAKE_FORCED:
                return "HUMAN_ACTIVE x" if self.column == "pending, x" else "as is"
        cell = TABLE[self.command][self.column]
        allowed, _, refused = cell.partition(" / ")
        cell = refused if refused and self.by != X and not self.is_admin else allowed
        resting, _, flying = cell.partition(" | ")
        cell = flying if self.in_flight and flying else resting
        return cell.replace(" y", f" {NAMES[self.by]}")


def _cells() -> Iterator[Cell]:
    for command, column, by, is_admin, in_flight in product(
        Command, COLUMNS, (X, Y), (False, True), (False, True)
    ):
        yield Cell(command=command, column=column, by=by, is_admin=is_admin, in_flight=in_flight)


def _decide(cell: Cell, *, held_by_hand: bool = False) -> Transition | Unchanged | Conflict:
    state, owner, reason = COLUMNS[cell.column]
    return decide_transition(
        Authority(state=state, version=4, owner=owner, reason=reason),
        Request(
            command=cell.command,
            by=cell.by,
            is_admin=cell.is_admin,
            to=Z,
            reason="because",
            in_flight=cell.in_flight,
            held_by_hand=held_by_hand,
        ),
    )


def _describe(decision: Transition | Unchanged | Conflict) -> str:
    match decision:
        case Transition():
            return f"{decision.state.value} {NAMES[decision.owner]}"
        case Unchanged():
            return "as is"
        case Conflict():
            holder = f" {NAMES[decision.owner]}" if decision.owner else ""
            return f"409 {decision.code}{holder}"


@pytest.mark.parametrize(
    "cell",
    list(_cells()),
    ids=lambda cell: (
        f"{cell.command}-{cell.column}-by-{NAMES[cell.by]}"
        f"{'-admin' if cell.is_admin else ''}{'-flying' if cell.in_flight else ''}"
    ),
)
def test_each_cell_of_the_table(cell: Cell) -> None:
    """Every command in every state, by the owner and by another, admin or not, in flight or not."""
    assert _describe(_decide(cell)) == cell.expected


@pytest.mark.parametrize("cell", list(_cells()), ids=str)
def test_every_transition_has_a_reason(cell: Cell) -> None:
    """No conversation changes hands without one."""
    decision = _decide(cell)

    assert not isinstance(decision, Transition) or decision.reason


@pytest.mark.parametrize("column", ["human, x", "human, device"])
def test_a_conversation_held_by_hand_is_not_returned(column: str) -> None:
    """An idle time ends only what nobody asked to keep."""
    cell = Cell(command=Command.IDLE_RETURN, column=column, by=X, is_admin=True, in_flight=False)

    assert _decide(cell, held_by_hand=True) == Unchanged()


def test_a_pending_device_reply_is_confirmed_without_an_owner() -> None:
    """The phone has no operator, and still a human speaks."""
    pending = Authority(state=PENDING, version=2, owner=None, reason=DEVICE_REPLY)
    confirm = Request(command=Command.CONFIRM)

    decision = decide_transition(pending, confirm)

    assert isinstance(decision, Transition)
    assert (decision.state, decision.owner, decision.reason) == (HUMAN, None, DEVICE_REPLY)
    assert decide_transition(pending, Request(command=Command.CONFIRM, in_flight=True)) == Unchanged()
    assert decide_transition(pending, Request(command=Command.DEVICE_REPLY)) == Unchanged()


def test_only_a_forced_take_from_another_revokes_what_an_operator_wrote() -> None:
    """An operator's own messages survive every other transition."""
    revoking = {
        (cell.command, cell.column)
        for cell in _cells()
        if cell.by == Y and isinstance(found := _decide(cell), Transition) and found.revokes_operator
    }

    assert revoking == {(Command.TAKE_FORCED, "pending, x"), (Command.TAKE_FORCED, "human, x")}


def test_a_goodbye_survives_until_a_human_takes() -> None:
    """Suspending a handed-over conversation that nobody took leaves the agent's last words on their way."""
    keeping = {
        (cell.command, cell.column)
        for cell in _cells()
        if isinstance(found := _decide(cell), Transition) and found.keeps_goodbye
    }

    assert keeping == {(Command.SUSPEND, "pending, no owner")}


def test_why_a_human_was_asked_for_stays_while_one_has_it() -> None:
    """The operator still reads the customer's request after taking it."""
    asked = Authority(
        state=PENDING, version=2, owner=None, reason="customer_request", note="fala do contrato"
    )

    decision = decide_transition(asked, Request(command=Command.TAKE, by=Y, reason="manual"))

    assert isinstance(decision, Transition)
    assert (decision.reason, decision.note) == ("customer_request", "fala do contrato")
