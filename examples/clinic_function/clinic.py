"""A clinic's receptionist without any library: one async function, one write tool."""

from __future__ import annotations

import re

import onevoice
from onevoice import HandoffRequest, Proposal, TurnContext

FREE = {"sexta": "9h", "sábado": "10h"}
DIARY: dict[str, str] = {}


@onevoice.writes
async def book(contact: str, day: str) -> str:
    """Book the free hour of a day."""
    DIARY[contact] = day
    return f"Marcado para {day} às {FREE[day]}."


async def answer(context: TurnContext) -> Proposal | str:
    """Answer the whole burst at once; the last day that is named counts."""
    said = " ".join(message.transcription or message.text or "" for message in context.messages).lower()
    if "humano" in said or "pessoa" in said:
        return Proposal(handoff=HandoffRequest(reason="customer_request"))
    for effect in context.effects:
        return f"Já estava feito: {effect.result}"
    days = [day for day in re.findall(r"\w+", said) if day in FREE]
    if days:
        return await book(context.contact_id, days[-1])
    return "Temos " + " e ".join(f"{day} às {hour}" for day, hour in FREE.items()) + ". Qual prefere?"
