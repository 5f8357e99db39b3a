"""Triage never decides: the ladder ends, and the reply waits for a human instead of for ever."""

from __future__ import annotations

from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue
from onevoice.entrypoints.simulate.scenarios.case_study import Exchange, write_both

_TRIES_MS = ((600, 600), (900, 900), (1500, 1510))
_PARKED_MS, _PARKED_PUBLISHED_MS = 2700, 2710
_EXCHANGE = Exchange(
    first="Quero cancelar meu pedido 10",
    first_answer="Cancelei o pedido 10.",
    second="Esquece, na verdade quero só mudar o endereço",
    second_answer="Qual é o novo endereço?",
)


async def _act(play: Play) -> None:
    await write_both(play, _EXCHANGE)
    parked = await play.journalled("outbound", "parked")
    await play.got()
    await play.quiet()
    play.expect_received(_EXCHANGE.second_answer)
    play.expect_ended("outbound", "parked", "triage_undecided")
    tries = play.events("triage", "held")
    play.expect("tries before it is parked: 3", len(tries) == len(_TRIES_MS), found=len(tries))
    play.expect(
        "B becomes a turn of its own",
        play.calls[-1].texts == (_EXCHANGE.second,),
        found=" + ".join(play.calls[-1].texts),
    )
    for number, (about, published) in enumerate(_TRIES_MS):
        at = play.ms(tries[number].at) if number < len(tries) else None
        play.time(f"try {number + 1}", about, at, published_ms=published)
    play.time("parked", _PARKED_MS, play.ms(parked.at), published_ms=_PARKED_PUBLISHED_MS)


PARKED = Scenario(
    name="parked",
    shows="triage never decides: tried three times, then parked; never sent, never retried for ever",
    venue=Venue.UNDECIDED,
    act=_act,
)
