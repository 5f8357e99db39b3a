"""Scenes of the message path, and the transactions that find something to do in each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from onevoice.errors import EffectSettled
from onevoice.flow.authority.decide import Command
from onevoice.flow.effect.perform import authorise, finish
from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.expire import expire_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.perform import abandon_lost, claim, renew
from onevoice.ports.channel import Accepted
from onevoice.ports.writes import WriteCall
from onevoice.vocabulary import EffectState
from tests.interleave.casts import (
    Script,
    customer,
    human_holds,
    message_due,
    operator,
    reply_overtaken,
    reply_sealed,
    status_of_begun,
    webhook,
)
from tests.interleave.gates import Seat
from tests.interleave.world import KEY, World

Scene = Callable[[World, Runtime], Awaitable[None]]
WRITE = WriteCall(tool="book", args={"day": "friday"})


async def turn_running(world: World, runtime: Runtime) -> None:
    await message_due(world, runtime)
    world.scene["turns"] = await claim(runtime, limit=1)
    world.scene["answers"] = [await ask(runtime, turn) for turn in world.scene["turns"]]


async def turn_lost(world: World, runtime: Runtime) -> None:
    """Its worker is slow beyond the lease, and still alive."""
    await turn_running(world, runtime)
    world.clock.advance(31.0)


async def turn_writing(world: World, runtime: Runtime) -> None:
    await turn_running(world, runtime)
    for turn in world.scene["turns"]:
        world.scene["effect"] = await authorise(runtime, turn.id, WRITE, account=KEY.account)
    world.record.performed.append("friday")


async def writer_lost(world: World, runtime: Runtime) -> None:
    await turn_writing(world, runtime)
    world.clock.advance(31.0)


async def reply_sending(world: World, runtime: Runtime) -> None:
    await reply_sealed(world, runtime)
    world.scene["begun"] = await begin_sends(runtime, limit=1)
    for begun in world.scene["begun"]:
        await world.customer_gets(begun.delivery)


async def sender_lost(world: World, runtime: Runtime) -> None:
    await reply_sending(world, runtime)
    world.clock.advance(21.0)


async def triage_asked(world: World, runtime: Runtime) -> None:
    await reply_overtaken(world, runtime)
    world.scene["asked"] = await claim_triage(runtime, limit=1)


async def claims(world: World, runtime: Runtime, seat: Seat) -> None:
    """Its worker is lost with the claim: whoever recovers waits for the lease."""
    await claim(runtime, limit=10)


async def settles(world: World, runtime: Runtime, seat: Seat) -> None:
    for turn, answer in zip(world.scene["turns"], world.scene["answers"], strict=True):
        await settle(runtime, [prepare(runtime, turn, answer)])


async def abandons(world: World, runtime: Runtime, seat: Seat) -> None:
    await abandon_lost(runtime, limit=10)


async def renews(world: World, runtime: Runtime, seat: Seat) -> None:
    await renew(runtime, world.scene["turns"])


async def authorises(world: World, runtime: Runtime, seat: Seat) -> None:
    for turn in world.scene["turns"]:
        authorised = await authorise(runtime, turn.id, WRITE, account=KEY.account)
        if authorised.state is EffectState.STARTED and authorised.effect is not None:
            await world.effect_begins("friday")
            await finish(runtime, KEY.account, authorised.effect, state=EffectState.DONE, result="ok")


async def finishes_write(world: World, runtime: Runtime, seat: Seat) -> None:
    try:
        await finish(runtime, KEY.account, world.scene["effect"].effect, state=EffectState.DONE, result="ok")
    except EffectSettled:
        world.mark("an effect has two outcomes")


async def begins(world: World, runtime: Runtime, seat: Seat) -> None:
    for begun in await begin_sends(runtime, limit=10):
        outcome = await runtime.channels[begun.channel].deliver(begun.delivery)
        await finish_sends(runtime, [Finished(begun=begun, outcome=outcome)])


async def finishes(world: World, runtime: Runtime, seat: Seat) -> None:
    for begun in world.scene["begun"]:
        outcome = Accepted(external_id=f"wamid.{begun.message.key}")
        await finish_sends(runtime, [Finished(begun=begun, outcome=outcome)])


async def expires(world: World, runtime: Runtime, seat: Seat) -> None:
    await expire_sends(runtime, limit=10)


async def triages(world: World, runtime: Runtime, seat: Seat) -> None:
    for asked in await claim_triage(runtime, limit=10):
        await conclude(runtime, asked)


async def concludes(world: World, runtime: Runtime, seat: Seat) -> None:
    for asked in world.scene["asked"]:
        await conclude(runtime, asked)


RECEIVE: Script = customer("m2")
RECEIVE_LATER: Script = customer("m3")
TAKE: Script = operator("bia", Command.TAKE)
ECHO: Script = webhook(id="e1", text="from the phone", echo=True)
EDIT: Script = webhook(id="x1", kind="edit", target="m1", text="other words")

# Each scene with the transactions that find something to do there.
SCENES: dict[str, tuple[Scene, dict[str, Script]]] = {
    "message due": (message_due, {
        "receive": RECEIVE, "claim": claims, "take": TAKE, "suspend": operator("caio", Command.SUSPEND, is_admin=True),
        "echo": ECHO, "edit": EDIT}),
    "turn running": (turn_running, {
        "receive": RECEIVE, "settle": settles, "authorise": authorises, "take": TAKE, "echo": ECHO, "edit": EDIT,
        "renew": renews}),
    "turn lost": (turn_lost, {
        "settle": settles, "abandon": abandons, "renew": renews, "take": TAKE, "authorise": authorises}),
    "turn writing": (turn_writing, {
        "finish write": finishes_write, "settle": settles, "take": TAKE, "receive": RECEIVE, "authorise": authorises}),
    "writer lost": (writer_lost, {"finish write": finishes_write, "abandon": abandons, "take": TAKE}),
    "reply sealed": (reply_sealed, {
        "receive": RECEIVE, "begin": begins, "take": TAKE, "echo": ECHO, "edit": EDIT}),
    "reply sending": (reply_sending, {
        "receive": RECEIVE, "finish": finishes, "status": status_of_begun("delivered"), "take": TAKE, "echo": ECHO}),
    "sender lost": (sender_lost, {
        "finish": finishes, "status": status_of_begun("sent"), "expire": expires, "take": TAKE}),
    "triage due": (reply_overtaken, {
        "triage": triages, "receive": RECEIVE_LATER, "begin": begins, "take": TAKE, "edit": EDIT}),
    "triage asked": (triage_asked, {
        "conclude": concludes, "receive": RECEIVE_LATER, "begin": begins, "take": TAKE}),
    "human holds": (human_holds, {
        "message": operator("bia", "from bia"), "release": operator("bia", Command.RELEASE),
        "force": operator("caio", Command.TAKE_FORCED, "from caio", is_admin=True), "receive": RECEIVE, "echo": ECHO}),
}  # fmt: skip
