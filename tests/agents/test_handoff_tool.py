"""``onevoice.handoff``, the tool with which an agent asks for a human."""

from __future__ import annotations

import asyncio

import pytest

import onevoice
from onevoice.adapters.agents.module import FunctionAgent
from onevoice.handoff_tool import NOTE_CHARS_MAX, catch_handoff
from onevoice.testing import make_turn_context
from onevoice.vocabulary import HandoffRequest, Proposal, TurnContext


async def test_a_plain_function_can_call_it_too() -> None:
    """The handoff joins whatever the function returns, unless it returns one of its own."""

    async def asks(context: TurnContext) -> str:
        await asyncio.create_task(onevoice.handoff("customer_request", note="contrato"))
        return "Já chamo alguém."

    async def says_itself(context: TurnContext) -> Proposal:
        await onevoice.handoff("first")
        return Proposal(handoff=HandoffRequest(reason="second"))

    asked = await FunctionAgent("bot:asks", asks).propose(make_turn_context("oi"))
    said = await FunctionAgent("bot:says", says_itself).propose(make_turn_context("oi"))

    assert asked.handoff == HandoffRequest(reason="customer_request", note="contrato")
    assert asked.messages[0].text == "Já chamo alguém."
    assert said.handoff == HandoffRequest(reason="second")


@pytest.mark.parametrize(
    ("reason", "code", "note"),
    [
        ("customer_request", "customer_request", "n"),
        ("Customer request!", "customer_request", "n"),
        ("  ", "agent_request", "  \nn"),
        ("客户", "agent_request", "客户\nn"),
        ("a" * 65, "agent_request", "a" * 65 + "\nn"),
    ],
)
async def test_an_unusable_reason_does_not_undo_the_wish(reason: str, code: str, note: str) -> None:
    """What is no code moves into the note, where the operator reads it."""
    with catch_handoff() as caught:
        await onevoice.handoff(reason, note="n")

    assert caught.request == HandoffRequest(reason=code, note=note.strip())


async def test_texts_are_kept_as_the_database_can_hold_them() -> None:
    """No NUL, no half of a surrogate pair, no end; and the first call counts."""
    with catch_handoff() as caught:
        await onevoice.handoff("first", note="a\x00\ud800", summary="x" * 10_000)
        await onevoice.handoff("second")

    assert caught.request is not None
    assert (caught.request.reason, caught.request.note) == ("first", "a?")
    assert len(caught.request.summary or "") == NOTE_CHARS_MAX


async def test_outside_a_turn_it_says_so() -> None:
    """A test of a tool learns what to put around it."""
    with pytest.raises(onevoice.HandoffOutsideTurn, match="catch_handoff"):
        await onevoice.handoff("customer_request")
