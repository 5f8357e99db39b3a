"""What an agent's answer counts as, whatever library it came from."""

from __future__ import annotations

from onevoice.errors import AgentError
from onevoice.vocabulary import OutgoingMessage, Proposal


def as_proposal(name: str, answer: object) -> Proposal:
    """A ``Proposal`` as it is, a text as one message, a blank text as silence; anything else is an error."""
    if isinstance(answer, Proposal):
        return answer
    if isinstance(answer, str):
        return Proposal(messages=(OutgoingMessage(text=answer),) if answer.strip() else ())
    raise AgentError(
        "agent_bad_answer",
        f"the agent {name} returned {type(answer).__name__}; return a Proposal or a str",
    )
