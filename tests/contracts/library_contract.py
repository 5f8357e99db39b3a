"""What every adapted library's agent promises on its provider's wire. A subclass builds the agent, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import ClassVar

import pytest

import onevoice
from onevoice.errors import AgentError
from onevoice.ports.agent import Agent
from onevoice.testing import LoopbackModel, ModelFault, RecordingWriteGate, ToolCall, make_turn_context
from onevoice.testing.model_server import Refusal
from onevoice.vocabulary import (
    BurstMessage,
    EffectState,
    HistoryItem,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    MessageId,
    UntoldEffect,
)
from tests.contracts.agent_contract import AgentContract, FailingAgentContract
from tests.contracts.heard import data_url, heard

INSTRUCTIONS = "You are a clinic's receptionist."
BURSTS = "Read the messages as one."
DIARY: list[str] = []
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

Built = Callable[[str], AbstractAsyncContextManager[Agent]]


def slots(day: str) -> str:
    """The free hours of a day."""
    return f"{day}: 9:00"


@onevoice.writes
async def book(day: str) -> str:
    """Book a day."""
    DIARY.append(day)
    return f"{day} is booked"


@onevoice.writes
def cancel(day: str) -> str:
    """Cancel a booking."""
    DIARY.append(f"not {day}")
    return f"{day} is cancelled"


async def cancel_in_thread(day: str) -> str:
    """Cancel a booking, from a thread."""
    return await asyncio.to_thread(cancel, day)


class LibraryContract(AgentContract, FailingAgentContract):
    """``build(url)`` makes the agent with ``INSTRUCTIONS``, ``BURSTS`` and the tools above, its retries off.

    ``model_name`` is the model it names; ``faults`` are the provider's errors, and what each of them means.
    """

    model_name: ClassVar[str] = "test-model"
    faults: ClassVar[dict[str, tuple[ModelFault, str, bool, float | None]]]
    cancel_tool: ClassVar[str] = "cancel"

    build: ClassVar[Built]

    @pytest.fixture
    async def model(self) -> AsyncIterator[LoopbackModel]:
        DIARY.clear()
        async with LoopbackModel() as model:
            yield model

    @pytest.fixture
    async def agent(self, model: LoopbackModel) -> AsyncIterator[Agent]:
        async with type(self).build(model.url) as agent:
            yield agent

    @pytest.fixture
    def failing_agent(self, agent: Agent, model: LoopbackModel) -> Agent:
        model.script(ModelFault(status=500))
        return agent

    async def test_the_burst_is_one_turn_with_a_part_per_message(
        self, agent: Agent, model: LoopbackModel
    ) -> None:
        """Texts stay apart, in order; a transcription carries its label, a wordless audio its kind."""
        spare = make_turn_context("x", turn=9).messages[0]
        spoken = replace(spare, type="audio", text=None, transcription="pra sexta")
        silent = BurstMessage(id=MessageId(spare.id), type="audio", text=None, at=spare.at)
        context = replace(make_turn_context("oi", spoken, silent), transcribed_label="[áudio transcrito]")

        await agent.propose(context)

        assert heard(model.requests[0]).turns == [("user", ["oi", "[áudio transcrito] pra sexta", "[audio]"])]

    async def test_an_image_stands_right_after_the_text_of_its_message(
        self, agent: Agent, model: LoopbackModel
    ) -> None:
        """The provider gets the bytes as its own image; a file without bytes is its description alone."""
        spare = make_turn_context("x", turn=9).messages[0]
        shown = Media(
            id=MediaId(spare.id),
            kind=MediaKind.IMAGE,
            state=MediaState.STORED,
            mime_type="image/png",
            content=PICTURE,
        )
        described = replace(shown, content=None)
        context = make_turn_context(
            "olha",
            replace(spare, type="image", text="[image] assim?", media=shown),
            replace(spare, type="image", text="[image]", media=described),
        )

        await agent.propose(context)

        assert heard(model.requests[0]).turns == [
            ("user", ["olha", "[image] assim?", data_url("image/png", PICTURE), "[image]"])
        ]

    async def test_the_past_is_what_the_customer_saw(self, agent: Agent, model: LoopbackModel) -> None:
        """Colleagues speak on the assistant's side and are marked, as is what may not have arrived."""
        spare = make_turn_context("x").messages[0]
        history = [
            HistoryItem(role="assistant", text="Olá!", at=spare.at),
            HistoryItem(role="customer", text="Quero uma pessoa", at=spare.at),
            HistoryItem(role="system", text="[a human operator answers from here on]", at=spare.at),
            HistoryItem(role="operator", text="Sou a Bia.", at=spare.at, state="uncertain"),
            HistoryItem(role="assistant", text="Até já!", at=spare.at, state="on_its_way"),
            HistoryItem(role="customer", text=" ", at=spare.at),
        ]

        await agent.propose(make_turn_context("oi", history=history))

        assert _flat(heard(model.requests[0]).turns) == [
            ("user", "[the conversation so far]"),
            ("assistant", "Olá!"),
            ("user", "Quero uma pessoa"),
            ("user", "[a human operator answers from here on]"),
            ("assistant", "[human colleague] [may not have arrived] Sou a Bia."),
            ("assistant", "[on its way to the customer] Até já!"),
            ("user", "oi"),
        ]

    async def test_its_own_instructions_come_first_and_untold_effects_last(
        self, agent: Agent, model: LoopbackModel
    ) -> None:
        """The agent's instructions, the line about bursts, and what was done but not told."""
        effect = UntoldEffect(tool="book", args={"day": "sexta"}, state=EffectState.DONE, result="às 9h")

        await agent.propose(make_turn_context("oi", history=[("customer", "olá")], effects=[effect]))

        system = heard(model.requests[0]).system
        assert (
            0
            <= system.index(INSTRUCTIONS)
            < system.index(BURSTS)
            < system.index('book {"day": "sexta"} (done): "às 9h"')
        )

    async def test_tools_run_and_their_results_go_back_in_pairs(
        self, agent: Agent, model: LoopbackModel
    ) -> None:
        """The provider refuses a call without its result; here it gets both and answers."""
        model.script(
            (ToolCall(name="slots", args={"day": "sexta"}), ToolCall(name="slots", args={"day": "sábado"}))
        )

        proposal = await agent.propose(make_turn_context("tem sexta?"))

        assert [message.text for message in proposal.messages] == ["Hello!"]
        assert b"9:00" in model.requests[1].body
        assert proposal.usage == onevoice.Usage(input_tokens=24, output_tokens=6, model=self.model_name)

    async def test_the_model_can_hand_over_to_a_human(self, agent: Agent, model: LoopbackModel) -> None:
        """The tool is on offer, and its call becomes the proposal's handoff, beside the last words."""
        model.script(
            ToolCall(
                name="handoff",
                args={"reason": "Customer request", "note": "contrato", "summary": "quer gente"},
            )
        )

        proposal = await agent.propose(make_turn_context("quero uma pessoa"))

        assert "handoff" in heard(model.requests[0]).tools
        assert proposal.handoff == onevoice.HandoffRequest(
            reason="customer_request", note="contrato", summary="quer gente"
        )
        assert proposal.messages[0].text == "Hello!"

    async def test_a_handoff_stays_in_its_own_turn(self, agent: Agent, model: LoopbackModel) -> None:
        """The next turn of the same agent knows nothing of it."""
        model.script(ToolCall(name="handoff", args={"reason": "customer_request"}))
        await agent.propose(make_turn_context("quero uma pessoa"))

        assert (await agent.propose(make_turn_context("oi", turn=2))).handoff is None

    async def test_writes_pass_the_gate_of_their_turn(self, agent: Agent, model: LoopbackModel) -> None:
        """An async tool and one that works in a thread both find the gate."""
        model.script(
            ToolCall(name="book", args={"day": "sexta"}),
            ToolCall(name=self.cancel_tool, args={"day": "sábado"}),
        )

        with RecordingWriteGate() as gate:
            await agent.propose(make_turn_context("marca sexta e cancela sábado"))

        assert [(call.tool, call.args) for call in gate.calls] == [
            ("book", {"day": "sexta"}),
            ("cancel", {"day": "sábado"}),
        ]
        assert DIARY == ["sexta", "not sábado"]

    async def test_a_refused_write_is_no_success(self, agent: Agent, model: LoopbackModel) -> None:
        """Nothing is written, and the run ends before the model is asked again."""
        model.script(ToolCall(name="book", args={"day": "sexta"}))

        with (
            RecordingWriteGate(refuses="newer_message") as gate,
            pytest.raises(AgentError, match="newer_message") as failure,
        ):
            await agent.propose(make_turn_context("marca sexta"))

        assert failure.value.reason == "write_refused"
        assert len(model.requests) == 1
        assert gate.refusal == "newer_message"
        assert DIARY == []

    async def test_provider_errors_say_what_to_do(self, agent: Agent, model: LoopbackModel) -> None:
        """Overload and rate limits are retried, with the provider's own wait; a spent limit or a wrong key is not."""
        for case, (fault, reason, retry, wait) in self.faults.items():
            model.script(fault)
            with pytest.raises(AgentError) as failure:
                await agent.propose(make_turn_context("o meu segredo"))
            error = failure.value
            assert (case, error.reason, error.retry, error.retry_after_seconds) == (case, reason, retry, wait)
            assert "segredo" not in str(error)

    async def test_a_refusal_goes_to_a_human(self, agent: Agent, model: LoopbackModel) -> None:
        """The same question gets the same refusal: it is not asked again."""
        model.script(Refusal())

        with pytest.raises(AgentError) as failure:
            await agent.propose(make_turn_context("oi"))

        assert (failure.value.reason, failure.value.retry) == ("model_refused", False)

    async def test_a_past_that_is_too_long_is_halved_once(self, agent: Agent, model: LoopbackModel) -> None:
        """The newer half is tried; when that is too long as well, there is no answer."""
        too_long = next(fault for fault, reason, *_ in self.faults.values() if reason == "context_too_long")
        history = [("customer", "um"), ("assistant", "dois"), ("customer", "três"), ("assistant", "quatro")]
        model.script(too_long)
        proposal = await agent.propose(make_turn_context("oi", history=history))

        assert proposal.messages
        assert _flat(heard(model.requests[1]).turns) == [
            ("user", "três"),
            ("assistant", "quatro"),
            ("user", "oi"),
        ]
        model.script(too_long, too_long)
        with pytest.raises(AgentError) as failure:
            await agent.propose(make_turn_context("oi", history=history))
        assert (failure.value.reason, failure.value.retry) == ("context_too_long", False)

    async def test_the_deadline_ends_the_call(self, agent: Agent, model: LoopbackModel) -> None:
        """A provider that does not answer in time is a time-out, which is retried."""
        model.hold()
        with pytest.raises(AgentError) as failure:
            await agent.propose(make_turn_context("oi", deadline_seconds=0.3))

        assert (failure.value.reason, failure.value.retry) == ("agent_timeout", True)

    async def test_a_call_cut_between_tools_leaves_nothing_behind(
        self, agent: Agent, model: LoopbackModel
    ) -> None:
        """The same conversation's next turn starts clean: no tool call without its result is sent."""
        model.script(ToolCall(name="slots", args={"day": "sexta"}))
        gates = [model.hold(), model.hold()]
        call = asyncio.ensure_future(agent.propose(make_turn_context("tem sexta?")))
        await gates[0].reached()
        gates[0].open()
        await gates[1].reached()
        call.cancel()
        await asyncio.wait([call])

        assert call.cancelled()
        assert (await agent.propose(make_turn_context("tem sexta?", turn=2))).messages


def _flat(turns: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    return [(role, text) for role, texts in turns for text in texts]
