"""Scenes of what is left over, and the transactions of sweeps, approvals and operators that touch it."""

from __future__ import annotations

from datetime import timedelta

from onevoice.errors import CommandRefused, EffectSettled
from onevoice.flow.authority.command import give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.authority.echo import decide_waiting_echoes
from onevoice.flow.authority.perform import confirm_waiting, return_idle
from onevoice.flow.effect.approval import approve, refuse, take_back
from onevoice.flow.effect.perform import authorise
from onevoice.flow.inbound.amend import amend_pending
from onevoice.flow.operator.perform import (
    add_note,
    discard_outbound,
    release_outbound,
    schedule_follow_up,
    seal_due_follow_ups,
)
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.receipt.perform import adopt_known_orphans
from onevoice.flow.runtime import Runtime
from onevoice.flow.suggestion.perform import claim_drafts, keep_draft
from onevoice.flow.turn.perform import abandon_drained
from onevoice.ports.writes import WriteCall
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import OperatorId, OutgoingMessage, Proposal
from tests.interleave.casts import (
    Script,
    commander,
    customer,
    human_holds,
    message_due,
    operator,
    post,
    reply_sealed,
    status_of_begun,
    webhook,
)
from tests.interleave.gates import Seat
from tests.interleave.pairs import (
    ECHO,
    EDIT,
    RECEIVE,
    TAKE,
    Scene,
    claims,
    finishes,
    finishes_write,
    reply_sending,
    settles,
    turn_running,
    turn_writing,
)
from tests.interleave.ports import TEMPLATE
from tests.interleave.world import KEY, World


async def takeover_to_confirm(world: World, runtime: Runtime) -> None:
    """A write that nobody will hear of again holds up a takeover, and its time is over."""
    await turn_writing(world, runtime)
    await give_command(runtime, KEY, Command.TAKE, actor=commander(world, "bia"))
    world.clock.advance(600.0)


async def echo_waiting(world: World, runtime: Runtime) -> None:
    """A message from the phone that may be our own, which is on the wire without an id."""
    await reply_sending(world, runtime)
    await post(world, runtime, {"id": "e1", "from": "ana", "text": "from the phone", "echo": True})
    world.clock.advance(3.1)


async def edit_too_early(world: World, runtime: Runtime) -> None:
    """An edit of a message that has not come yet."""
    await message_due(world, runtime)
    await post(
        world, runtime, {"id": "x2", "from": "ana", "kind": "edit", "target": "m2", "text": "other words"}
    )


async def follow_up_due(world: World, runtime: Runtime) -> None:
    await human_holds(world, runtime)
    await _schedule(world, runtime)
    world.clock.advance(2.0)


async def reply_parked(world: World, runtime: Runtime) -> None:
    """The channel's window is closed."""
    await reply_sealed(world, runtime)
    world.scene["begun"] = await begin_sends(runtime, limit=1)
    await finish_sends(runtime, [Finished(begun=begun, outcome=TEMPLATE) for begun in world.scene["begun"]])


async def status_left_behind(world: World, runtime: Runtime) -> None:
    """A status that came before its message's id was known, and was not joined to it."""
    await reply_sending(world, runtime)
    await finishes(world, runtime, Seat("scene", level=1, clock=world.clock, is_free=True))
    if not world.is_known:
        await world.theatre.execute(
            "insert into orphan_status (account_id, channel, external_id, status, at, received_at, raw) "
            "values ('default', 'loja', $1, 'delivered', $2, $2, '')",
            f"wamid.{world.scene['begun'][0].message.key}",
            world.clock.instant,
        )


async def human_idle(world: World, runtime: Runtime) -> None:
    await human_holds(world, runtime)
    world.clock.advance(61.0)


async def write_asked(world: World, runtime: Runtime) -> None:
    """A write waits for an operator's word."""
    await turn_running(world, runtime)
    call = WriteCall(tool="book", args={"day": "friday"}, needs_approval=True)
    for turn in world.scene["turns"]:
        world.scene["effect"] = await authorise(runtime, turn.id, call, account=KEY.account)


async def suspended(world: World, runtime: Runtime) -> None:
    await message_due(world, runtime)
    actor = commander(world, "caio", is_admin=True)
    await give_command(runtime, KEY, Command.SUSPEND, actor=actor)


async def draft_due(world: World, runtime: Runtime) -> None:
    """A human holds the conversation, and the agent is to suggest an answer."""
    await human_holds(world, runtime)
    await post(world, runtime, {"id": "m2", "from": "ana", "text": "text of m2"})
    world.clock.advance(60.0)


async def confirms(world: World, runtime: Runtime, seat: Seat) -> None:
    await confirm_waiting(runtime, limit=10)


async def decides_echo(world: World, runtime: Runtime, seat: Seat) -> None:
    await decide_waiting_echoes(runtime, limit=10)


async def amends(world: World, runtime: Runtime, seat: Seat) -> None:
    await amend_pending(runtime, limit=10)


async def seals_follow_up(world: World, runtime: Runtime, seat: Seat) -> None:
    await seal_due_follow_ups(runtime, limit=10)


async def schedules(world: World, runtime: Runtime, seat: Seat) -> None:
    try:
        await _schedule(world, runtime)
    except CommandRefused as refused:
        seat.observe(refused.code)


async def _schedule(world: World, runtime: Runtime) -> None:
    actor = commander(world, "bia")
    later = START + timedelta(seconds=6)
    await schedule_follow_up(runtime, KEY, actor=actor, text="still there?", not_before=later)


async def releases_message(world: World, runtime: Runtime, seat: Seat) -> None:
    await _act_on_parked(world, runtime, seat, releases=True)


async def discards_message(world: World, runtime: Runtime, seat: Seat) -> None:
    await _act_on_parked(world, runtime, seat, releases=False)


async def _act_on_parked(world: World, runtime: Runtime, seat: Seat, *, releases: bool) -> None:
    actor = commander(world, "caio", is_admin=True)
    act = release_outbound if releases else discard_outbound
    for begun in world.scene["begun"]:
        try:
            await act(runtime, KEY.account, begun.message.id, actor=actor)
        except CommandRefused as refused:
            seat.observe(refused.code)


async def adopts(world: World, runtime: Runtime, seat: Seat) -> None:
    await adopt_known_orphans(runtime, limit=10)


async def returns(world: World, runtime: Runtime, seat: Seat) -> None:
    await return_idle(runtime, limit=10)


async def drains(world: World, runtime: Runtime, seat: Seat) -> None:
    await abandon_drained(runtime, world.scene["turns"])


async def approves(world: World, runtime: Runtime, seat: Seat) -> None:
    await _say_of_write(world, runtime, seat, approves=True)


async def refuses(world: World, runtime: Runtime, seat: Seat) -> None:
    await _say_of_write(world, runtime, seat, approves=False)


async def _say_of_write(world: World, runtime: Runtime, seat: Seat, *, approves: bool) -> None:
    bia = OperatorId(world.operators["bia"])
    say = approve if approves else refuse
    try:
        await say(runtime, KEY.account, world.scene["effect"].effect, operator=bia)
    except (CommandRefused, EffectSettled) as refused:
        seat.observe(type(refused).__name__)


async def takes_back(world: World, runtime: Runtime, seat: Seat) -> None:
    await take_back(runtime, KEY.account, world.scene["effect"].effect)


async def drafts(world: World, runtime: Runtime, seat: Seat) -> None:
    for draft in await claim_drafts(runtime, limit=10):
        await keep_draft(runtime, draft, Proposal(messages=(OutgoingMessage(text="say this"),)))


async def notes(world: World, runtime: Runtime, seat: Seat) -> None:
    await add_note(runtime, KEY, actor=commander(world, "bia"), text="an internal word")


async def transfers(world: World, runtime: Runtime, seat: Seat) -> None:
    try:
        await give_command(
            runtime,
            KEY,
            Command.TRANSFER,
            actor=commander(world, "bia"),
            to=OperatorId(world.operators["caio"]),
        )
    except CommandRefused as refused:
        seat.observe(refused.code)


RELEASE: Script = operator("bia", Command.RELEASE)
MESSAGE: Script = operator("bia", "from bia")
STATUS: Script = status_of_begun("delivered")

SCENES: dict[str, tuple[Scene, dict[str, Script]]] = {
    "takeover to confirm": (takeover_to_confirm, {
        "confirm": confirms, "finish write": finishes_write, "release": RELEASE, "receive": RECEIVE,
        "suspend": operator("caio", Command.SUSPEND, is_admin=True)}),
    "echo waiting": (echo_waiting, {
        "decide echo": decides_echo, "finish": finishes, "take": TAKE, "receive": RECEIVE, "status": STATUS}),
    "edit too early": (edit_too_early, {"receive": customer("m2"), "amend": amends, "claim": claims, "take": TAKE}),
    "follow-up due": (follow_up_due, {
        "seal follow-up": seals_follow_up, "schedule": schedules, "release": RELEASE, "message": MESSAGE,
        "receive": RECEIVE}),
    "reply parked": (reply_parked, {
        "release message": releases_message, "discard message": discards_message, "receive": RECEIVE, "take": TAKE,
        "edit": EDIT}),
    "status left behind": (status_left_behind, {"adopt": adopts, "status": STATUS, "take": TAKE, "receive": RECEIVE}),
    "human idle": (human_idle, {
        "return": returns, "message": MESSAGE, "release": RELEASE, "receive": RECEIVE, "echo": ECHO}),
    "turn drained": (turn_running, {
        "drain": drains, "settle": settles, "receive": RECEIVE, "take": TAKE, "edit": EDIT}),
    "writer drained": (turn_writing, {"drain": drains, "finish write": finishes_write, "take": TAKE}),
    "write asked": (write_asked, {
        "approve": approves, "refuse": refuses, "take back": takes_back, "take": TAKE, "receive": RECEIVE,
        "settle": settles}),
    "suspended": (suspended, {
        "resume": operator("caio", Command.RESUME, is_admin=True), "receive": RECEIVE, "claim": claims,
        "take": operator("caio", Command.TAKE_FORCED, is_admin=True), "echo": webhook(id="e1", text="hi", echo=True)}),
    "draft due": (draft_due, {"draft": drafts, "message": MESSAGE, "release": RELEASE, "receive": customer("m3")}),
    "human notes": (human_holds, {
        "note": notes, "transfer": transfers, "message": MESSAGE, "release": RELEASE, "receive": RECEIVE}),
}  # fmt: skip

SETTINGS: dict[str, dict[str, dict[str, object]]] = {
    "human idle": {"handoff": {"idle_return_seconds": 60}},
    "draft due": {"agent": {"suggest_to_operators": True}},
}

# Transactions that no pair plays, each with its reason.
ELSEWHERE: dict[str, str] = {
    "load_contexts": "reads only",
    "prepare_proposal": "reads only",
    "keep_file": "a new file that nobody knows of yet",
    "look_for_approval": "reads only",
    "read_outbound": "reads only",
    "merge_conversations": "two conversations, locked in the order of their ids: perform/test_identity.py",
    "retime": "mends rows that no transaction leaves behind: perform/test_sweep.py",
}
