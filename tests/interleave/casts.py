"""The actors' scripts, in the flow's own calls, and the casts that the explorer plays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from onevoice.errors import CommandRefused
from onevoice.flow.authority.command import Actor as Commander
from onevoice.flow.authority.command import give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.operator.perform import seal_operator_message
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.sweep.perform import sweep
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.perform import claim, renew
from onevoice.ports.channel import StatusItem
from onevoice.vocabulary import ChannelName, OperatorId, OutgoingMessage
from tests.interleave.gates import Facts, Guard, Seat
from tests.interleave.world import KEY, Actor, Cast, World

Script = Callable[[World, Runtime, Seat], Awaitable[None]]


def turn_due(facts: Facts) -> bool:
    return bool(facts["turn"])


def outbox_due(facts: Facts) -> bool:
    return bool(facts["outbox"])


def triage_due(facts: Facts) -> bool:
    return bool(facts["triage"])


def is_sending(facts: Facts) -> bool:
    return bool(facts["sending"] or facts["uncertain"])


def is_running(facts: Facts) -> bool:
    return bool(facts["running"])


def is_answered(facts: Facts) -> bool:
    """The AI has said something, or has given the conversation away."""
    return bool(facts["sent"]) or facts["authority"] != "AI_ACTIVE"


def has_sent(facts: Facts) -> bool:
    return bool(facts["sent"])


def is_owned(facts: Facts) -> bool:
    return bool(facts["owned"])


# ---------------------------------------------------------------------- scripts


async def post(world: World, runtime: Runtime, *items: dict[str, Any]) -> None:
    """A webhook through the door's own intake; it counts as answered with 2xx when this returns."""
    channel = runtime.channels[ChannelName("loja")]
    parsed = channel.parse(channel.webhook(*items).body)  # type: ignore[attr-defined]  # The recording channel's.
    await Intake(runtime).take(channel, parsed)
    world.record.accepted_webhooks += [
        str(item["id"]) for item in items if "echo" not in item and "status" not in item
    ]


def customer(*external_ids: str) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for external_id in external_ids:
            await post(world, runtime, {"id": external_id, "from": "ana", "text": f"text of {external_id}"})

    return script


def typist(*external_ids: str, pause: float) -> Script:
    """A customer who never stops typing."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for external_id in external_ids:
            await post(world, runtime, {"id": external_id, "from": "ana", "text": f"text of {external_id}"})
            world.clock.advance(pause)

    return script


def webhook(**item: Any) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        await post(world, runtime, {"from": "ana", **item})

    return script


def worker(looks: int = 1, *, renews: bool = False) -> Script:
    """Claims what is due, asks, settles; as many looks as said."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            seat.only_when(turn_due)
            for turn in await claim(runtime, limit=10):
                answered = await ask(runtime, turn)
                if renews and turn.id not in await renew(runtime, [turn]):
                    world.mark("a worker learned that its turn is over")
                await settle(runtime, [prepare(runtime, turn, answered)])

    return script


def dispatcher(looks: int = 1, *, sends_when: Guard | None = None) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            seat.only_when(outbox_due)
            for begun in await begin_sends(runtime, limit=10):
                if sends_when is not None:
                    seat.only_when(sends_when)
                outcome = await runtime.channels[begun.channel].deliver(begun.delivery)
                await finish_sends(runtime, [Finished(begun=begun, outcome=outcome)])

    return script


def triager(looks: int = 1) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            seat.only_when(triage_due)
            for asked in await claim_triage(runtime, limit=10):
                await conclude(runtime, asked)

    return script


def sweeper(looks: int = 1) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            await sweep(runtime)

    return script


def commander(world: World, name: str, *, is_admin: bool = False) -> Commander:
    return Commander(operator=OperatorId(world.operators[name]), is_admin=is_admin)


def operator(name: str, *acts: Command | str, is_admin: bool = False) -> Script:
    """Commands, and texts to send; a refusal is an answer like any other."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        actor = commander(world, name, is_admin=is_admin)
        for number, act in enumerate(acts):
            try:
                if isinstance(act, Command):
                    view = await give_command(runtime, KEY, act, actor=actor)
                    seat.observe((view.state.value, view.version))
                else:
                    await seal_operator_message(
                        runtime,
                        KEY,
                        actor=actor,
                        message=OutgoingMessage(text=act),
                        seen=None,
                        idempotency_key=f"{name}-{number}",
                    )
            except CommandRefused as refused:
                world.mark(f"refused {refused.code}")
                seat.observe(refused.code)

    return script


def status(kind: str, *, correlated: bool = True) -> Script:
    """The channel's own word about the first message on the wire, by correlation or by id."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        seat.only_when(lambda facts: bool(facts["sending"] or facts["uncertain"] or facts["sent"]))
        await seat.gate("channel: sends a status")
        key, correlation = await _first_seen(world)
        if key is None:
            return
        channel = runtime.channels[ChannelName("loja")]
        item = StatusItem(
            external_id=f"wamid.{key}",
            status=kind,
            raw=b"{}",
            at=world.clock.instant,
            correlation_id=correlation if correlated else None,
        )
        await Intake(runtime).take(channel, [item])
        world.mark(f"status {kind}")

    return script


def status_of_begun(kind: str) -> Script:
    """The channel's word about the attempt that the scene has begun."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for begun in world.scene["begun"]:
            item = StatusItem(
                external_id=f"wamid.{begun.message.key}",
                status=kind,
                raw=b"{}",
                at=world.clock.instant,
                correlation_id=begun.delivery.correlation_id,
            )
            await Intake(runtime).take(runtime.channels[ChannelName("loja")], [item])

    return script


async def _first_seen(world: World) -> tuple[str | None, str | None]:
    for seen in world.record.seen:
        return seen.key, seen.correlation_id
    return None, None


def clock(*spans: float) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for seconds in spans:
            await seat.gate(f"clock: {seconds:g} s pass")
            world.clock.advance(seconds)

    return script


# ---------------------------------------------------------------------- scenes


async def operators(world: World, runtime: Runtime) -> None:
    for name in ("bia", "caio"):
        identity = world.operators[name] = runtime.chance.new_id()
        if world.is_known:
            continue
        await world.theatre.execute(
            "insert into operator (account_id, id, name, role, created_at) values ('default', $1, $2, $3, $4)",
            identity,
            name,
            "admin" if name == "caio" else "operator",
            world.clock.instant,
        )


async def message_due(world: World, runtime: Runtime) -> None:
    """Two operators, and a customer whose message waits for a turn that is due now."""
    await operators(world, runtime)
    await post(world, runtime, {"id": "m1", "from": "ana", "text": "text of m1"})
    world.clock.advance(5.0)


async def reply_sealed(world: World, runtime: Runtime) -> None:
    """The message has its reply, sealed and due."""
    await message_due(world, runtime)
    for turn in await claim(runtime, limit=1):
        await settle(runtime, [prepare(runtime, turn, await ask(runtime, turn))])


async def reply_overtaken(world: World, runtime: Runtime) -> None:
    """A newer message waits for triage over the sealed reply."""
    await reply_sealed(world, runtime)
    await post(world, runtime, {"id": "m2", "from": "ana", "text": "text of m2"})


async def human_holds(world: World, runtime: Runtime) -> None:
    """An operator has the conversation, and a message is open."""
    await message_due(world, runtime)
    await give_command(runtime, KEY, Command.TAKE, actor=commander(world, "bia"))


SMALL = Cast(
    name="small",
    before=message_due,
    actors=(
        Actor(name="worker", script=worker()),
        Actor(name="dispatcher", script=dispatcher(), when=outbox_due),
        Actor(name="bia", script=operator("bia", Command.TAKE)),
    ),
)
