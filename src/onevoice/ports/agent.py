"""The agent behind the conversation: it proposes, onevoice decides."""

from __future__ import annotations

from typing import Protocol

from onevoice.vocabulary import Proposal, TurnContext


class Agent(Protocol):
    """Something that answers a burst.

    ``in_process`` says that cancelling the call stops the work: such a call may be cut short when
    its verdict can only be a discard. An HTTP agent's call never is.
    """

    name: str
    in_process: bool

    async def propose(self, context: TurnContext) -> Proposal:
        """Answer one turn; raises ``errors.AgentError`` when there is no proposal."""
        ...

    async def close(self) -> None: ...
