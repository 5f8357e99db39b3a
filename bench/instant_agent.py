"""An agent that answers at once and notes when it was called: one line per turn in the file `calls`."""

from __future__ import annotations

import time
from pathlib import Path

from onevoice import OutgoingMessage, Proposal, TurnContext

_calls = Path(__file__).with_name("calls").open("a", buffering=1, encoding="ascii")


async def agent(context: TurnContext) -> Proposal:
    """Told apart by the turn; the wall clock is the one the database on the same machine reads."""
    _calls.write(f"{context.turn_id} {time.time():.6f} {len(context.messages)}\n")
    return Proposal(messages=(OutgoingMessage(text="Certo!"),))
