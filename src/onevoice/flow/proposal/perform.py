"""Load what the agent may know, ask it within its deadline, and say what came of it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from onevoice.errors import AgentError, MediaUnavailable, MessageUnsendable, OnevoiceError
from onevoice.flow.attachment.decide import Prepared
from onevoice.flow.attachment.perform import prepare_proposal
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.effect.gate import MISUSED, open_write_gate
from onevoice.flow.gate.decide import CutShort, Failure
from onevoice.flow.media.decide import media_key
from onevoice.flow.proposal.decide import choose_images, describe_burst, describe_history, describe_untold
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import Turn
from onevoice.store.statements import Statement, load_statements
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


async def ask(runtime: Runtime, turn: Turn) -> Answered:
    """One agent call; every way it can go wrong becomes a ``Failure`` with a reason, never an exception."""
    try:
        context = await load_context(runtime, turn)
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
    context = await load_context(runtime, draft, burst=SQL["load_open_messages"], of=draft.conversation.id)
    if not context.messages:
        return Proposal(silence_reason="answered")
    return await _propose(runtime, context)


async def load_context(
    runtime: Runtime, turn: Asking, *, burst: Statement = SQL["load_burst"], of: UUID | None = None
) -> TurnContext:
    """The burst as it was claimed (or what ``burst`` reads of ``of``), and the past as the customer saw it."""
    key = turn.conversation
    agent = runtime.settings.agent
    async with runtime.database.transaction("load_context") as transaction:
        contact = await transaction.fetch(SQL["load_contact"], key.account, key.id)
        messages = await transaction.fetch(burst, key.account, of or turn.id)
        history = await transaction.fetch(SQL["load_history"], key.account, key.id, agent.history_messages)
    images = await _load_images(runtime, key.account, choose_images(messages, bytes_max=IMAGE_BYTES_MAX))
    return TurnContext(
        turn_id=turn.id,
        attempt=turn.attempt,
        authority_version=turn.authority_version,
        correlation_id=str(turn.id),
        deadline_seconds=agent.timeout_seconds,
        conversation_id=key.id,
        account_id=key.account,
        channel=turn.channel,
        contact_id=contact[0]["contact_address"],
        contact_name=contact[0]["contact_name"],
        messages=describe_burst(messages, images),
        history=describe_history(history),
        effects=describe_untold(contact[0]["untold"]),
        transcribed_label=agent.transcribed_label,
    )


async def _load_images(runtime: Runtime, account: AccountId, wanted: list[MediaId]) -> dict[MediaId, bytes]:
    """The bytes of images for an agent that takes them; one that cannot be read is described like the others."""
    images: dict[MediaId, bytes] = {}
    if not runtime.settings.agent.takes_images:
        return images
    for media in wanted:
        try:
            images[media] = b"".join([piece async for piece in runtime.media.read(media_key(account, media))])
        except MediaUnavailable as error:
            LOG.warning("an image could not be read", extra={"media_id": str(media), "reason": error.reason})
    return images
