"""The case study's three decisions: A's answer waits 0.6 s, and B comes 0.3 s after A."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from onevoice.entrypoints.simulate.conversation_agent import answering_each
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue

B_AFTER_MS = 300
A_DUE_MS = 600
B_DUE_MS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What the customer writes and what the agent answers to each."""

    first: str
    first_answer: str
    second: str
    second_answer: str


async def write_both(play: Play, exchange: Exchange) -> None:
    """A, then B 0.3 s later; the agent answers at once."""
    play.answer(
        answering_each({
            exchange.first: exchange.first_answer,
            exchange.second: exchange.second_answer,
        })
    )  # fmt: skip
    await play.say(exchange.first)
    await play.until_ms(B_AFTER_MS)
    await play.say(exchange.second)


def _release_first() -> Callable[[Play], Awaitable[None]]:
    exchange = Exchange(
        first="Qual o horário de funcionamento?",
        first_answer="Abrimos de segunda a sábado, das 9h às 18h.",
        second="E vocês aceitam PIX?",
        second_answer="Sim, aceitamos PIX.",
    )

    async def act(play: Play) -> None:
        await write_both(play, exchange)
        await play.got(2)
        await play.quiet()
        play.expect_received(exchange.first_answer, exchange.second_answer)
        expect_decision(play, "release_first")
        play.time("A's answer", A_DUE_MS, play.received_at(0), published_ms=606)
        play.time("B's answer", B_DUE_MS, play.received_at(1), published_ms=891)

    return act


def _cancel_first() -> Callable[[Play], Awaitable[None]]:
    exchange = Exchange(
        first="Quero cancelar meu pedido",
        first_answer="Cancelei o seu pedido.",
        second="Na verdade não cancela, acabei de receber",
        second_answer="Combinado, o pedido fica como está.",
    )

    async def act(play: Play) -> None:
        await write_both(play, exchange)
        await play.got()
        await play.quiet()
        play.expect_received(exchange.second_answer)
        play.expect_ended("outbound", "cancelled", "cancelled")
        expect_decision(play, "cancel_first")
        play.time("B's answer", B_DUE_MS, play.received_at(0), published_ms=892)

    return act


def _merge() -> Callable[[Play], Awaitable[None]]:
    exchange = Exchange(
        first="Adiciona uma pizza de calabresa",
        first_answer="Adicionei uma pizza de calabresa.",
        second="E uma Coca 2L também",
        second_answer="Adicionei uma Coca 2L.",
    )

    async def act(play: Play) -> None:
        await write_both(play, exchange)
        await play.got()
        await play.quiet()
        play.expect_received(f"{exchange.first_answer} {exchange.second_answer}")
        play.expect_ended("outbound", "superseded", "superseded")
        expect_decision(play, "merge")
        play.time("one answer for both", B_DUE_MS, play.received_at(0), published_ms=893)

    return act


def expect_decision(play: Play, decision: str) -> None:
    """The decider said so; held tries and void answers are no decisions."""
    found = [event.state for event in play.events("triage") if event.data.get("decision")]
    play.expect(f"triage: {decision}", found == [decision], found=", ".join(found) or "no decision")


RELEASE_FIRST = Scenario(
    name="release_first",
    shows="two questions that have nothing to do with each other: both answers, in order",
    venue=Venue.CASE_STUDY,
    act=_release_first(),
)
CANCEL_FIRST = Scenario(
    name="cancel_first",
    shows="the customer takes it back: A's answer is never sent",
    venue=Venue.CASE_STUDY,
    act=_cancel_first(),
)
MERGE = Scenario(
    name="merge",
    shows="the customer adds to it: one answer for both",
    venue=Venue.CASE_STUDY,
    act=_merge(),
)
