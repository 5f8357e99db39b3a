"""When an agent's words are kept as a suggestion, and for how long one holds. Pure."""

from __future__ import annotations

from onevoice.flow.conversation.decide import Conversation
from onevoice.vocabulary import AuthorityState, Proposal


def wants_suggestion(conversation: Conversation) -> bool:
    """Only a human who holds the conversation is helped by one."""
    return conversation.authority_state is AuthorityState.HUMAN_ACTIVE and conversation.open_since is not None


def still_holds(conversation: Conversation, *, authority_version: int, arrivals_seen: int) -> bool:
    """The thread has not moved on while the agent thought."""
    return (
        conversation.authority_version == authority_version
        and conversation.arrival_count == arrivals_seen
        and wants_suggestion(conversation)
    )


def words_of(proposal: Proposal) -> str:
    """All messages of a proposal as the one text an operator would send."""
    return "\n\n".join(message.words for message in proposal.messages)
