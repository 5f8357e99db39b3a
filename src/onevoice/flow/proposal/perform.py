"""Load what the agent may know, ask it within its deadline, and say what came of it."""

from __future__ import annotations

import asyncio
import logging

from onevoice.errors import AgentError
from onevoice.flow.gate.decide import Failure
from onevoice.flow.proposal.decide import describe_burst, describe_history
from onevoice.flow.runtime import Runtime
from onevoice.flow.turn.decide import Turn
from onevoice.store.statements import load_statements
from onevoice.vocabulary import Proposal, TurnContext

LOG = logging.getLogger("onevoice.proposal")
SQL = load_statements(__package__)

Answer = Proposal | Failure


async def ask(runtime: Runtime, turn: Turn) -> Answer:
    """One agent call; every way it can go wrong becomes a ``Failure`` with a reason, never an exception."""
    context = await load_context(runtime, turn)
    if not context.messages:
        return Proposal(silence_reason="withdrawn")
    try:
        async with asyncio.timeout(context.deadline_seconds):
            proposal = await runtime.agent.propose(context)
    except TimeoutError:
        answer: Answer = Failure(reason="agent_timeout", retry=True)
    except AgentError as error:
        answer = Failure(
            reason=error.reason, retry=error.retry, retry_after_seconds=error.retry_after_seconds
        )
    except Exception as error:  # noqa: BLE001  # A foreign agent may raise anything; the turn must still end.
        LOG.warning("the agent raised", extra={"turn_id": str(turn.id), "reason": type(error).__name__})
        answer = Failure(reason="agent_raised", retry=True)
    else:
        answer = proposal
    outcome = "failed" if isinstance(answer, Failure) else "answered"
    runtime.telemetry.agent_calls.labels(outcome=outcome).inc()
    return answer


async def load_context(runtime: Runtime, turn: Turn) -> TurnContext:
    """The burst as it was claimed, and the past as the customer saw it."""
    key = turn.conversation
    agent = runtime.settings.agent
    async with runtime.database.transaction("load_context") as transaction:
        contact = await transaction.fetch(SQL["load_contact"], key.account, key.id)
        burst = await transaction.fetch(SQL["load_burst"], key.account, turn.id)
        history = await transaction.fetch(SQL["load_history"], key.account, key.id, agent.history_messages)
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
        messages=describe_burst(burst),
        history=describe_history(history),
        transcribed_label=agent.transcribed_label,
    )
