"""Load what the agent may know, ask it within its deadline, and say what came of it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from onevoice.errors import AgentError, MediaUnavailable, MessageUnsendable, OnevoiceError
from onevoice.flow.attachment.decide import Prepared
from onevoice.flow.attachment.link import signed_media_path
from onevoice.flow.attachment.perform import prepare_proposal
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.conversation.decide import Row
from onevoice.flow.effect.gate import MISUSED, open_write_gate
from onevoice.flow.gate.decide import CutShort, Failure
from onevoice.flow.media.decide import media_key, media_path
from onevoice.flow.proposal.decide import (
    choose_images,
    describe_burst,
    describe_history,
    describe_untold,
    show_image,
)
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import Turn
from onevoice.store.statements import load_statements
from onevoice.vocabulary import AccountId, ChannelName, MediaId, Proposal, TurnContext, TurnId

LOG = logging.getLogger("onevoice.proposal")
SQL = load_statements(__package__)

IMAGE_BYTES_MAX = 10 * 1024 * 1024
"""How many bytes of images one turn shows its agent."""

Answer = Proposal | Failure | CutShort


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came of one agent call, with what the customer had said.

    ``prepared`` are the proposal's messages with their files in the store.
    """

    answer: Answer
    texts: tuple[str, ...] = ()
    prepared: tuple[Prepared, ...] = ()


class Asking(Protocol):
    """Whatever the agent is asked for: a turn, or a suggestion that stands for none."""

    @property
    def id(self) -> TurnId: ...
    @property
    def conversation(self) -> ConversationKey: ...
    @property
    def channel(self) -> ChannelName: ...
    @property
    def attempt(self) -> int: ...
    @property
    def authority_version(self) -> int: ...


async def ask(
    runtime: Runtime, turn: Turn, *, load: Callable[[Turn], Awaitable[TurnContext]] | None = None
) -> Answered:
    """One agent call; every way it can go wrong becomes a ``Failure`` with a reason, never an exception.

    ``load`` reads the turn's context, together with those of others where the caller has more than one.
    """
    try:
        context = await load(turn) if load is not None else (await load_contexts(runtime, [turn]))[0]
    except OnevoiceError as error:
        LOG.warning(
            "a turn's context could not be read",
            extra={"turn_id": str(turn.id), "reason": type(error).__name__},
        )
        return Answered(answer=Failure(reason="context_unavailable", retry=True))
    texts = tuple(message.transcription or message.text or "" for message in context.messages)
    if not context.messages:
        return Answered(answer=Proposal(silence_reason="withdrawn"))
    answer = await _propose(runtime, context)
    if not isinstance(answer, Proposal):
        return Answered(answer=answer, texts=texts)
    try:
        prepared = await prepare_proposal(runtime, turn.conversation, answer)
    except MessageUnsendable as error:
        LOG.warning(
            "an agent's message cannot be sent", extra={"turn_id": str(turn.id), "reason": error.code}
        )
        return Answered(answer=Failure(reason="answer_unsendable", retry=True), texts=texts)
    except OnevoiceError as error:
        reason = error.reason if isinstance(error, MediaUnavailable) else "store_unavailable"
        return Answered(answer=Failure(reason=reason, retry=True), texts=texts)
    return Answered(answer=answer, texts=texts, prepared=prepared)


async def _propose(runtime: Runtime, context: TurnContext) -> Answer:
    context = await _show_images(runtime, context)
    async with open_write_gate(runtime, context) as gate:
        answer = await _call(runtime, context)
    if gate.refusal is not None:
        # Frameworks turn errors into tool results: what was said after a refused write is not believed.
        answer = Failure(reason=f"write_{gate.refusal}", retry=gate.refusal != MISUSED)
    outcome = "answered" if isinstance(answer, Proposal) else "failed"
    runtime.telemetry.agent_calls.labels(outcome="refused" if gate.refusal else outcome).inc()
    return answer


async def _call(runtime: Runtime, context: TurnContext) -> Answer:
    try:
        async with asyncio.timeout(context.deadline_seconds):
            proposal = await runtime.agent.propose(context)
    except TimeoutError:
        return Failure(reason="agent_timeout", retry=True)
    except AgentError as error:
        return Failure(reason=error.reason, retry=error.retry, retry_after_seconds=error.retry_after_seconds)
    except Exception as error:  # noqa: BLE001  # A foreign agent may raise anything; the turn must still end.
        LOG.warning(
            "the agent raised", extra={"turn_id": str(context.turn_id), "reason": type(error).__name__}
        )
        return Failure(reason="agent_raised", retry=True)
    return proposal


async def suggest(runtime: Runtime, draft: Asking) -> Answer:
    """The same call for an operator: over what is open, outside any turn."""
    [context] = await load_contexts(runtime, [draft], of_open=True)
    if not context.messages:
        return Proposal(silence_reason="answered")
    return await _propose(runtime, context)


async def load_contexts(
    runtime: Runtime, asked: Sequence[Asking], *, of_open: bool = False
) -> list[TurnContext]:
    """For each that is asked: the burst its turn claimed (``of_open``: what nobody has answered), and the past as
    the customer saw it. So many round trips for all of them as for one."""
    accounts = [asking.conversation.account for asking in asked]
    conversations = [asking.conversation.id for asking in asked]
    bursts_of = conversations if of_open else [asking.id for asking in asked]
    async with runtime.database.transaction("load_contexts") as transaction:
        contacts = await transaction.fetch(SQL["load_contacts"], accounts, conversations, runtime.clock.now())
        statement = SQL["load_open_bursts"] if of_open else SQL["load_bursts"]
        bursts_max = runtime.settings.turns.burst_messages
        bursts = _by(await transaction.fetch(statement, accounts, bursts_of, bursts_max), "asked_id")
        histories = _by(
            await transaction.fetch(
                SQL["load_histories"], accounts, conversations, runtime.settings.agent.history_messages
            ),
            "conversation_id",
        )
    known = {row["id"]: row for row in contacts}
    return [
        _context(
            runtime,
            asking,
            contact=known[asking.conversation.id],
            burst=bursts[burst_of],
            history=histories[asking.conversation.id],
        )
        for asking, burst_of in zip(asked, bursts_of, strict=True)
    ]


def _context(
    runtime: Runtime, asking: Asking, *, contact: Row, burst: Sequence[Row], history: Sequence[Row]
) -> TurnContext:
    key = asking.conversation
    agent = runtime.settings.agent
    return TurnContext(
        turn_id=asking.id,
        attempt=asking.attempt,
        authority_version=asking.authority_version,
        correlation_id=str(asking.id),
        deadline_seconds=agent.timeout_seconds,
        conversation_id=key.id,
        account_id=key.account,
        channel=asking.channel,
        contact_id=contact["contact_address"],
        contact_name=contact["contact_name"],
        messages=describe_burst(burst, link=_linker(runtime, key.account, contact["now"])),
        history=describe_history(history),
        effects=describe_untold(contact["untold"]),
        transcribed_label=agent.transcribed_label,
    )


def _linker(runtime: Runtime, account: AccountId, now: datetime) -> Callable[[MediaId], str]:
    """Where an agent fetches a file: with a secret by the link alone, else with a token of its own."""
    secret = runtime.settings.agent.secret.get_secret_value()
    root = runtime.settings.server.public_url.rstrip("/")

    def link(media: MediaId) -> str:
        path = signed_media_path(account, media, secret=secret, now=now) if secret else media_path(media)
        return f"{root}{path}"

    return link


def _by(rows: Sequence[Row], column: str) -> dict[UUID, list[Row]]:
    grouped: dict[UUID, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row[column]].append(row)
    return grouped


async def _show_images(runtime: Runtime, context: TurnContext) -> TurnContext:
    """With the bytes of images, for an agent that takes them; one that cannot be read is described like the others."""
    if not runtime.settings.agent.takes_images:
        return context
    images: dict[MediaId, bytes] = {}
    for media in choose_images(context.messages, bytes_max=IMAGE_BYTES_MAX):
        key = media_key(context.account_id, media)
        try:
            images[media] = b"".join([piece async for piece in runtime.media.read(key)])
        except MediaUnavailable as error:
            LOG.warning("an image could not be read", extra={"media_id": str(media), "reason": error.reason})
    return replace(context, messages=tuple(show_image(message, images) for message in context.messages))
