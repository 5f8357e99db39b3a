"""A decider that never decides, as ``[triage] use = "module:function"`` names it."""

from __future__ import annotations

import asyncio

from onevoice import TriageRequest


async def never(request: TriageRequest) -> str:
    """Wait until the caller's time limit."""
    await asyncio.Event().wait()
    raise AssertionError(f"nothing ends the wait over {request.conversation_id}")
