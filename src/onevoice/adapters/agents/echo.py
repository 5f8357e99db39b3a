"""The agent behind ``builtin:echo``: it repeats the burst, which makes every run predictable."""

from __future__ import annotations

from onevoice.adapters.agents.burst import spoken_text
from onevoice.vocabulary import OutgoingMessage, Proposal, TurnContext


class EchoAgent:
    """Implements ports/agent.py: one message, the burst's texts joined by newlines."""

    name = "builtin:echo"
    in_process = True

    async def propose(self, context: TurnContext) -> Proposal:
        texts = [text for message in context.messages if (text := spoken_text(message))]
        if not texts:
            return Proposal(silence_reason="nothing_to_echo")
        return Proposal(messages=(OutgoingMessage(text="\n".join(texts)),))

    async def close(self) -> None:
        return None
