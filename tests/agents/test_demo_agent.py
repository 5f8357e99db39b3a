"""The demo agent in conversation: what it answers, what it writes, and when it calls a human."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import onevoice.adapters.agents.demo.agent as demo_agent
from onevoice.adapters.agents.demo.agent import DemoAgent
from onevoice.adapters.agents.demo.book import Unavailable
from onevoice.testing import ManualClock, make_turn_context, settle
from onevoice.vocabulary import BurstMessage, EffectState, HistoryItem, Proposal, TurnContext, UntoldEffect

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MONDAY = NOW.astimezone(ZoneInfo("America/Sao_Paulo"))
FRIDAY = MONDAY.date() + timedelta(days=4)
SATURDAY = MONDAY.date() + timedelta(days=5)


def new_agent() -> DemoAgent:
    return DemoAgent(sleep=ManualClock().sleep, think_seconds=0.0)


@dataclass
class Customer:
    """One customer who talks to one agent; the history grows with what they see."""

    agent: DemoAgent = field(default_factory=new_agent)
    contact_id: str = "5511999990000"
    history: list[HistoryItem] = field(default_factory=list[HistoryItem])
    at: datetime = NOW
    turn: int = 0

    async def says(self, *texts: str) -> Proposal:
        self.turn += 1
        self.at += timedelta(minutes=1)
        context = make_turn_context(
            *texts, history=self.history, at=self.at, contact_id=self.contact_id, turn=self.turn
        )
        proposal = await self.agent.propose(context)
        self.history += [HistoryItem(role="customer", text=text, at=self.at) for text in texts]
        self.history += [
            HistoryItem(role="assistant", text=message.text, at=self.at) for message in proposal.messages
        ]
        return proposal


def only_text(proposal: Proposal) -> str:
    [message] = proposal.messages
    return message.text


CONVERSATIONS: dict[str, list[tuple[Sequence[str], list[str], bool]]] = {
    "burst": [
        (
            ["oi", "queria marcar", "pra sexta", "de manhã se tiver"],
            ["Olá, Ana!", "sexta-feira (04/12)", "08:00"],
            False,
        )
    ],
    "correction": [
        (["pode ser sexta", "ah, na verdade pode ser sábado"], ["sábado (05/12)", "Qual horário"], False)
    ],
    "hours_and_pix": [
        (["Qual o horário de funcionamento?", "E vocês aceitam PIX?"], ["8h às 18h", "PIX, sim"], False)
    ],
    "kept_order": [
        (["Quero cancelar meu pedido"], ["Confirma o cancelamento"], False),
        (["Na verdade não cancela, acabei de receber"], ["não cancelo nada", "já chegou"], False),
    ],
    "two_items": [
        (
            ["Adiciona uma pizza de calabresa", "E uma Coca 2L também"],
            ["pizza de calabresa e Coca 2L"],
            False,
        ),
        (["pode confirmar"], ["Pedido confirmado: pizza de calabresa e Coca 2L"], True),
        (["quero um café também"], ["Anotei do nosso café: café."], False),
        (["não"], ["deixo como está"], False),
        (["e uma água"], ["Anotei do nosso café: água."], False),
    ],
    "order_cancelled": [
        (["adiciona um café"], ["café"], False),
        (["sim"], ["confirmado"], True),
        (["quero cancelar"], ["Confirma o cancelamento do pedido?"], False),
        (["sim"], ["O pedido está cancelado"], True),
    ],
    "whole_life_of_an_appointment": [
        (["queria marcar"], ["Que dia"], False),
        (["sexta de manhã"], ["sexta-feira (04/12)", "08:00, 08:30"], False),
        (["o primeiro"], ["marcada para sexta-feira (04/12) às 08:00"], True),
        (["na verdade sábado"], ["sábado (05/12)", "Para qual horário quer mudar"], False),
        (["09:30"], ["Mudei sua consulta para sábado (05/12) às 09:30"], True),
        (["quando é minha consulta?"], ["sábado (05/12) às 09:30"], False),
        (["quero desmarcar"], ["(05/12) às 09:30 está cancelada"], True),
        (["quando é minha consulta?"], ["Não encontrei"], False),
        (["quero cancelar minha consulta"], ["Não encontrei"], False),
    ],
    "english": [
        (["hi", "can I book something for tomorrow afternoon?"], ["Hello, Ana!", "Tuesday (01/12)"], False),
        (["the last one"], ["booked for Tuesday (01/12)"], True),
        (["can I move it to friday?"], ["Friday (04/12)", "move your appointment to?"], False),
        (["8:30am"], ["moved your appointment to Friday (04/12) at 08:30"], True),
        (["thanks!"], ["welcome"], False),
        (["ok"], ["Is there anything else"], False),
    ],
    "which_of_two_days": [
        (["tem horário sexta ou sábado?"], ["sexta-feira (04/12)", "sábado (05/12)"], False),
        (["o primeiro"], ["marcada para sexta-feira (04/12) às 08:00"], True),
    ],
    "not_open_and_not_free": [
        (["domingo tem horário?"], ["a clínica não abre", "segunda-feira (07/12)"], False),
        (["sexta às 17h30"], ["às 17:30 não está livre", "tenho livre"], False),
        (["sábado à tarde"], ["não tenho horário à tarde", "sábado (05/12) tenho livre"], False),
        (["sábado à noite"], ["não tenho horário à noite"], False),
    ],
    "booking_again_changes_nothing": [
        (["marca sexta às 8h"], ["marcada para sexta-feira (04/12) às 08:00"], True),
        (["marca sexta às 8h"], ["marcada para sexta-feira (04/12) às 08:00"], False),
    ],
    "moving_nothing": [(["quero remarcar pra sexta"], ["Não encontrei", "sexta-feira (04/12)"], False)],
    "only_a_part_of_the_day": [(["de manhã tem?"], ["30/11", "Qual horário"], False)],
    "not_understood": [
        (["meu cachorro é bonito"], ["“meu cachorro é bonito”", "outro jeito"], False),
        (["ele late"], ["“ele late”", "escreva “atendente”"], False),
    ],
    "courtesies": [
        (["oi"], ["Aqui é da Clínica Aurora"], False),
        (["o que você faz?"], ["Posso marcar"], False),
        (["tchau"], ["Até logo"], False),
        (["não"], ["mais alguma coisa"], False),
    ],
    "facts": [
        (["onde fica?", "quanto custa a consulta?"], ["Rua das Acácias", "R$ 180"], False),
        (["aceitam pix ou cartão?"], ["PIX, cartão"], False),
        (["tem convênio?"], ["Vida Plena"], False),
    ],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_a_conversation_goes_as_written(name: str) -> None:
    """Each burst gets one message with these words in it, and only writes say that they wrote."""
    customer = Customer()
    for burst, expected, wrote in CONVERSATIONS[name]:
        proposal = await customer.says(*burst)
        answer = only_text(proposal)

        assert [words for words in expected if words not in answer] == [], answer
        assert proposal.wrote is wrote, answer
        assert proposal.handoff is None


async def test_the_corrected_day_is_not_mentioned() -> None:
    """After "na verdade sábado" nothing is said of Friday."""
    answer = only_text(await Customer().says("pode ser sexta", "ah, na verdade pode ser sábado"))

    assert "sexta" not in answer


@pytest.mark.parametrize(
    ("text", "goodbye"),
    [("quero falar com um atendente", "vou passar você"), ("human please", "passing you to a colleague")],
)
async def test_a_human_is_called_when_asked_for(text: str, goodbye: str) -> None:
    """The handoff has its reason, and the goodbye speaks the customer's language."""
    customer = Customer()
    await customer.says("marca sexta às 8h")
    proposal = await customer.says(text)

    assert goodbye in only_text(proposal)
    assert proposal.handoff is not None
    assert proposal.handoff.reason == "customer_request"
    assert proposal.handoff.summary == "Consulta: 04/12 08:00"
    assert not proposal.wrote


async def test_a_reply_that_was_never_seen_has_offered_nothing() -> None:
    """The talk is read from the history: without the offer in it, "the first" is no choice."""
    customer = Customer()
    await customer.says("sexta de manhã")
    customer.history.clear()
    proposal = await customer.says("o primeiro")

    assert "Que dia" in only_text(proposal)
    assert not proposal.wrote


async def test_a_human_who_spoke_last_has_left_no_question_of_ours() -> None:
    """A yes to an operator's message confirms nothing the assistant asked before."""
    customer = Customer()
    await customer.says("adiciona um café")
    customer.history.append(
        HistoryItem(role="operator", text="Temos pão. Posso confirmar o pedido?", at=customer.at)
    )
    proposal = await customer.says("sim")

    assert not proposal.wrote


async def test_two_customers_cannot_have_the_same_time() -> None:
    """What one has booked is offered to no other, and their appointments do not mix."""
    agent = new_agent()
    ana, rui = Customer(agent=agent), Customer(agent=agent, contact_id="5511888880000")
    await ana.says("marca sexta às 8h")
    refused = await rui.says("marca sexta às 8h")

    assert "às 08:00 não está livre" in only_text(refused)
    assert not refused.wrote
    assert "Não encontrei" in only_text(await rui.says("quando é minha consulta?"))


async def test_a_time_taken_while_deciding_is_told() -> None:
    """A write that fails at the last moment is no booking, and other times are offered."""

    async def write(context: TurnContext, tool: str, args: dict[str, object]) -> dict[str, object]:
        raise Unavailable("taken")

    agent = DemoAgent(sleep=ManualClock().sleep, think_seconds=0.0, write=write)
    proposal = await agent.propose(make_turn_context("marca sexta às 8h", at=NOW))

    assert "não está livre" in only_text(proposal)
    assert not proposal.wrote


async def test_every_write_passes_the_one_hook() -> None:
    """Each write tool is called by name with JSON arguments, and nothing is written beside it."""
    calls: list[tuple[str, dict[str, object]]] = []
    customer = Customer()
    agent = customer.agent

    async def write(context: TurnContext, tool: str, args: dict[str, object]) -> dict[str, object]:
        calls.append((tool, args))
        return agent.book.write(f"{context.account_id}/{context.channel}/{context.contact_id}", tool, args)

    gated = DemoAgent(sleep=ManualClock().sleep, think_seconds=0.0, write=write)
    gated.book = agent.book
    customer.agent = gated
    for text in ("marca sexta às 8h", "muda pra sábado às 9h30", "desmarca", "adiciona um café", "sim"):
        await customer.says(text)
    for text in ("cancela o pedido", "sim"):
        await customer.says(text)

    assert calls == [
        ("book_appointment", {"day": FRIDAY.isoformat(), "time": "08:00"}),
        ("move_appointment", {"day": SATURDAY.isoformat(), "time": "09:30"}),
        ("cancel_appointment", {}),
        ("place_order", {"items": ["café"]}),
        ("cancel_order", {}),
    ]


async def test_a_refused_write_ends_the_turn() -> None:
    """An error of the hook is not caught: the agent cannot mistake it for success."""

    async def write(context: TurnContext, tool: str, args: dict[str, object]) -> dict[str, object]:
        raise PermissionError("newer_message")

    agent = DemoAgent(sleep=ManualClock().sleep, think_seconds=0.0, write=write)
    with pytest.raises(PermissionError):
        await agent.propose(make_turn_context("marca sexta às 8h", at=NOW))


async def test_what_an_earlier_attempt_did_is_told() -> None:
    """An untold booking is said before anything else; failed and foreign ones are not."""
    args: dict[str, object] = {"day": FRIDAY.isoformat(), "time": "08:00"}
    effects = [
        UntoldEffect(tool="book_appointment", args=args, state=EffectState.DONE),
        UntoldEffect(tool="move_appointment", args=args, state=EffectState.FAILED),
        UntoldEffect(tool="send_invoice", args={}, state=EffectState.DONE),
    ]
    answer = only_text(await new_agent().propose(make_turn_context("aceita pix?", effects=effects, at=NOW)))

    assert answer.splitlines()[0] == "Pronto! Sua consulta está marcada para sexta-feira (04/12) às 08:00."
    assert len(answer.splitlines()) == 2


async def test_it_thinks_on_the_injected_clock() -> None:
    """The answer comes after the thinking time, which a test moves by hand."""
    clock = ManualClock()
    call = asyncio.create_task(DemoAgent(sleep=clock.sleep).propose(make_turn_context("oi")))
    await clock.advance(1.19)

    assert not call.done()

    await clock.advance(0.01)
    await settle()
    assert call.done()


async def test_an_audio_is_read_by_its_transcription() -> None:
    """A transcribed audio is understood like a text; one that nobody heard is asked for in writing."""
    template = make_turn_context("x", at=NOW).messages[0]
    heard = BurstMessage(id=template.id, type="audio", text=None, at=NOW, transcription="aceita pix?")
    mark = "[voice message] [audio not transcribed]"
    unheard = BurstMessage(id=template.id, type="audio", text=mark, at=NOW)

    assert "PIX, sim" in only_text(await new_agent().propose(make_turn_context(heard, at=NOW)))
    assert "ouvir o seu áudio" in only_text(await new_agent().propose(make_turn_context(unheard, at=NOW)))


async def test_a_caption_is_read_and_the_file_is_not() -> None:
    """What onevoice says of a file is not taken for the customer's words."""
    template = make_turn_context("x", at=NOW).messages[0]
    photo = BurstMessage(id=template.id, type="image", text="[image] aceita pix?", at=NOW)
    answer = only_text(await new_agent().propose(make_turn_context(photo, at=NOW)))

    assert "PIX, sim" in answer
    assert "Recebi o arquivo" in answer
    assert "image" not in answer


async def test_an_empty_burst_is_answered_with_silence() -> None:
    """No messages, no words."""
    proposal = await new_agent().propose(make_turn_context())

    assert proposal == Proposal(silence_reason="nothing_to_answer")


async def test_the_language_of_the_talk_stays_when_a_burst_has_none() -> None:
    """A bare "ok" is answered in the language spoken before."""
    customer = Customer()
    await customer.says("hello, what are your opening hours?")

    assert "anything else" in only_text(await customer.says("ok"))


async def test_a_guess_is_less_sure_than_an_answer() -> None:
    """Low confidence marks what was not understood, for ``min_confidence``."""
    customer = Customer()
    known, guessed = await customer.says("oi"), await customer.says("meu cachorro é bonito")

    assert known.confidence is not None
    assert guessed.confidence is not None
    assert guessed.confidence < 0.5 < known.confidence


async def test_days_are_the_clinics_days() -> None:
    """Late in the evening in São Paulo it is not tomorrow yet, although it is in UTC."""
    late = datetime(2026, 12, 1, 1, 30, tzinfo=UTC)
    answer = only_text(await new_agent().propose(make_turn_context("tem horário amanhã?", at=late)))

    assert "terça-feira (01/12)" in answer


async def test_without_time_zone_data_the_offset_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without time zone data counts the same days."""

    def missing(key: str) -> ZoneInfo:
        raise demo_agent.ZoneInfoNotFoundError(key)

    monkeypatch.setattr(demo_agent, "ZoneInfo", missing)
    late = datetime(2026, 12, 1, 1, 30, tzinfo=UTC)
    answer = only_text(await new_agent().propose(make_turn_context("tem horário amanhã?", at=late)))

    assert "terça-feira (01/12)" in answer
