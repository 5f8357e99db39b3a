"""A clinic's receptionist in pydantic-ai, on Claude. The diary is in memory."""

from __future__ import annotations

from pydantic_ai import Agent, RunContext

import onevoice
from onevoice import TurnContext

FREE = {"sexta": ["9h", "10h"], "sábado": ["10h"]}
BOOKED: dict[tuple[str, str], str] = {}

agent = Agent(
    "anthropic:claude-sonnet-4-6",
    deps_type=TurnContext,
    instructions="You are the receptionist of a small clinic. Answer briefly, in the customer's language. "
    "Look up the free hours before you offer one, and book only what the customer has chosen.",
    # The key is looked for when the first customer writes, not when this file is imported.
    defer_model_check=True,
)


@agent.tool_plain
async def free_hours(day: str) -> list[str]:
    """The free hours of a day."""
    return [hour for hour in FREE.get(day.lower(), []) if (day.lower(), hour) not in BOOKED]


@agent.tool
@onevoice.writes
async def book(ctx: RunContext[TurnContext], day: str, hour: str) -> str:
    """Book an hour for the customer."""
    BOOKED[day.lower(), hour] = ctx.deps.contact_id
    return f"{day} at {hour} is booked"
