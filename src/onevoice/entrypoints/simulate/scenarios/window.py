"""When a thought is complete: fragments become one turn, and nobody waits for ever because they keep typing."""

from __future__ import annotations

from onevoice.entrypoints.simulate.conversation_agent import AgentCall, Json, saying
from onevoice.entrypoints.simulate.play import Play
from onevoice.entrypoints.simulate.scenario import Scenario, Venue

_FRAGMENTS = ("oi", "queria marcar", "pra sexta", "de manhã se tiver")
_FRAGMENT_EVERY_MS = 700
_WINDOW_MS = 5000
_ANSWER = "Sexta de manhã às 9h está livre. Confirmo?"

_TYPING_EVERY_MS = 2000
_TYPING_MS = 26_000
_MAX_WAIT_MS = 20_000
# So that a call has a length of its own.
_CALL_SECONDS = 0.5


async def _burst(play: Play) -> None:
    async def answer(call: AgentCall) -> Json:
        return saying(_ANSWER if len(call.texts) == len(_FRAGMENTS) else "Pode me dizer mais?")

    play.answer(answer)
    for number, fragment in enumerate(_FRAGMENTS):
        await play.until_ms(number * _FRAGMENT_EVERY_MS)
        await play.say(fragment)
    await play.got()
    await play.quiet(_WINDOW_MS / 1000)
    play.expect_calls(1)
    play.expect(
        "the call has four parts", play.calls[0].texts == _FRAGMENTS, found=" | ".join(play.calls[0].texts)
    )
    play.expect_received(_ANSWER)
    last = (len(_FRAGMENTS) - 1) * _FRAGMENT_EVERY_MS
    play.time("the answer", last + _WINDOW_MS, play.received_at(0))


async def _never_stops(play: Play) -> None:
    async def answer(call: AgentCall) -> Json:
        await play.pause(_CALL_SECONDS)
        return saying(f"Li {len(call.texts)} mensagens.")

    play.answer(answer)
    count = _TYPING_MS // _TYPING_EVERY_MS + 1
    for number in range(count):
        await play.until_ms(number * _TYPING_EVERY_MS)
        await play.say(f"mensagem {number + 1}")
    last = play.ms(play.noted[-1][0])
    await play.got(2)
    await play.quiet()
    first = play.received_at(0)
    play.expect(
        "the first answer comes while the customer still types",
        first is not None and first < last,
        found=f"{first} ms, the last message at {last} ms",
    )
    read = [text for call in play.calls for text in call.texts]
    wanted = [f"mensagem {number + 1}" for number in range(count)]
    play.expect(f"each of the {count} messages is read once", read == wanted, found=f"{len(read)} read")
    play.expect("answers: 2", len(play.received) == 2, found=len(play.received))
    play.time("the first answer", _MAX_WAIT_MS + round(_CALL_SECONDS * 1000), first)


BURST = Scenario(
    name="burst",
    shows="four quick fragments: one agent call, one answer",
    venue=Venue.DEFAULT,
    act=_burst,
)
NEVER_STOPS = Scenario(
    name="never_stops",
    shows="a message every 2 s for 26 s: answered after 20 s all the same",
    venue=Venue.DEFAULT,
    act=_never_stops,
)
