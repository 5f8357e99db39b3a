"""What every triage decider promises (ports/triage.py). A subclass adds the ``decider`` fixture."""

from __future__ import annotations

import asyncio
import re

from onevoice.ports.triage import Decider
from onevoice.testing import CountingChance
from onevoice.vocabulary import ChannelName, ConversationId, TriageDecision, TriageRequest


def a_request(*newer: str) -> TriageRequest:
    return TriageRequest(
        conversation_id=ConversationId(CountingChance().new_id()),
        channel=ChannelName("loja"),
        overtaken=("Qual o horário de funcionamento?",),
        reply=("Abrimos às oito.",),
        newer=newer,
    )


class DeciderContract:
    async def test_it_decides_one_of_the_three(self, decider: Decider) -> None:
        """Every request gets one of the decisions the flow knows."""
        decision = await decider.decide(a_request("E vocês aceitam PIX?"))

        assert isinstance(decision, TriageDecision)

    async def test_strange_texts_are_decided_too(self, decider: Decider) -> None:
        """Nothing a customer writes makes it fail: no words, no letters, very many letters."""
        for text in ("", " ", "👍", "\u0000\u202e", "não " * 20_000):
            assert isinstance(await decider.decide(a_request(text)), TriageDecision)
        assert isinstance(await decider.decide(a_request()), TriageDecision)

    async def test_requests_run_side_by_side(self, decider: Decider) -> None:
        """One instance serves all conversations at once."""
        decisions = await asyncio.gather(*(decider.decide(a_request(f"e {n}?")) for n in range(20)))

        assert all(isinstance(decision, TriageDecision) for decision in decisions)

    async def test_its_name_fits_a_metric_label(self, decider: Decider) -> None:
        """The name labels ``triage_total``, so it is short and printable."""
        assert re.fullmatch(r"\S{1,64}", decider.name)

    async def test_it_can_be_closed_twice(self, decider: Decider) -> None:
        """Closing is the last call and harmless when repeated."""
        await decider.close()
        await decider.close()
