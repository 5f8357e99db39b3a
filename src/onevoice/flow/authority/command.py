"""A command of an operator, a policy or the automation, from the lock to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from onevoice.errors import CommandRefused, ConversationUnknown
from onevoice.flow.authority.decide import Command, Conflict
from onevoice.flow.authority.perform import SQL, request_transition
from onevoice.flow.conversation import ConversationKey, lock, refresh
from onevoice.flow.runtime import Runtime
from onevoice.store.database import Transaction
from onevoice.vocabulary import AuthorityState, OperatorId

REASONS: Final[Mapping[Command, str]] = {
    Command.TAKE: "manual",
    Command.TAKE_FORCED: "manual",
    Command.RELEASE: "released",
    Command.TRANSFER: "transferred",
    Command.SUSPEND: "manual",
    Command.RESUME: "resumed",
    Command.REQUEST_HANDOFF: "manual",
}

SENTENCES: Final[Mapping[str, str]] = {
    "held_by_other": "another operator holds this conversation; ask them to release it, or force the take",
    "role_too_small": "only an admin may take a conversation from its holder; ask the holder to release it",
    "not_owner": "only its owner or an admin may do this; take the conversation first",
    "invalid_transition": "the conversation's state does not allow this; read it again and choose another command",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who gives a command. ``operator`` is ``None`` for the runtime's own policies."""

    operator: OperatorId | None
    is_admin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityView:
    """The authority as an answer shows it. ``unresolved_count``: AI messages on the wire or of unknown outcome."""

    state: AuthorityState
    version: int
    owner: OperatorId | None
    owner_name: str | None
    reason: str | None
    note: str | None
    since: datetime
    unresolved_count: int


async def give_command(
    runtime: Runtime,
    key: ConversationKey,
    command: Command,
    *,
    actor: Actor,
    to: OperatorId | None = None,
    reason: str | None = None,
    note: str | None = None,
    hold: bool = False,
) -> AuthorityView:
    """Carry out one command under the conversation's lock; raises ``CommandRefused`` with the holder's id."""
    async with runtime.database.transaction("command", account=key.account) as transaction:
        locked = await lock(transaction, [key], now=runtime.clock.now())
        if key not in locked:
            raise ConversationUnknown
        if to is not None and not await transaction.fetch(SQL["read_operator"], key.account, to):
            raise CommandRefused(
                "operator_unknown", "no such operator in this account; see GET /api/v1/operators"
            )
        decision = await request_transition(
            runtime,
            transaction,
            locked[key],
            command,
            by=actor.operator,
            is_admin=actor.is_admin,
            to=to,
            reason=reason or REASONS.get(command),
            note=note,
            holds=hold,
        )
        if isinstance(decision, Conflict):
            raise CommandRefused(decision.code, SENTENCES[decision.code], owner=decision.owner)
        nudges = await refresh(runtime, transaction, [key])
        view = await read_authority(transaction, key)
    nudges.send(runtime)
    return view


async def read_authority(transaction: Transaction, key: ConversationKey) -> AuthorityView:
    rows = await transaction.fetch(SQL["read_owner"], key.account, key.id)
    if not rows:
        raise ConversationUnknown
    row = rows[0]
    return AuthorityView(
        state=AuthorityState(row["authority_state"]),
        version=row["authority_version"],
        owner=row["authority_owner"],
        owner_name=row["owner_name"],
        reason=row["authority_reason"],
        note=row["authority_note"],
        since=row["authority_since"],
        unresolved_count=row["unresolved_count"],
    )
