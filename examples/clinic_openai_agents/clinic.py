"""A clinic's receptionist in the OpenAI Agents SDK. The diary is in memory."""

from __future__ import annotations

from agents import Agent, RunContextWrapper, function_tool

import onevoice
from onevoice import TurnContext

FREE = {"sexta": ["9h", "10h"], "sábado": ["10h"]}
BOOKED: dict[tuple[str, str], str] = {}


@function_tool
async def free_hours(day: str) -> list[str]:
    """The free hours of a day."""
    return [hour for hour in FREE.get(day.lower(), []) if (day.lower(), hour) not in BOOKED]


@function_tool
@onevoice.writes
async def book(turn: RunContextWrapper[TurnContext], day: str, hour: str) -> str:
    """Book an hour for the customer."""
    BOOKED[day.lower(), hour] = turn.context.contact_id
    return f"{day} at {hour} is booked"


agent = Agent[TurnContext](
    name="receptionist",
    model="gpt-5.2",
    instructions="You are the receptionist of a small clinic. Answer briefly, in the customer's language.",
    tools=[free_hours, book],
)
