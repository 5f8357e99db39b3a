"""The casts of ``make test``: every named order of events lies inside one of them."""

from __future__ import annotations

from dataclasses import replace

from onevoice.flow.authority.decide import Command
from tests.interleave.casts import (
    SMALL,
    clock,
    customer,
    dispatcher,
    has_sent,
    human_holds,
    is_answered,
    is_owned,
    is_running,
    is_sending,
    message_due,
    operator,
    operators,
    outbox_due,
    reply_overtaken,
    reply_sealed,
    status,
    sweeper,
    triage_due,
    triager,
    turn_due,
    typist,
    webhook,
    worker,
)
from tests.interleave.every_pair import PAIRS
from tests.interleave.voices import VOICES
from tests.interleave.world import Actor, Cast

WORKER = Actor(name="worker", script=worker(), when=turn_due)
SECOND_WORKER = Actor(name="worker 2", script=worker(), when=turn_due)
MORTAL_WORKER = Actor(name="worker", script=worker(renews=True), when=turn_due, is_mortal=True)
DISPATCHER = Actor(name="dispatcher", script=dispatcher(), when=outbox_due)
MORTAL_DISPATCHER = Actor(name="dispatcher", script=dispatcher(), when=outbox_due, is_mortal=True)
SECOND_DISPATCHER = Actor(name="dispatcher 2", script=dispatcher(), when=outbox_due)
TAKES = Actor(name="bia", script=operator("bia", Command.TAKE))
WRITES_AGAIN = Actor(name="customer", script=customer("m2"))

BURST = Cast(
    name="burst",
    before=message_due,
    actors=(
        Actor(name="customer", script=customer("m2", "m3")),
        Actor(name="worker", script=worker(2), when=turn_due),
        DISPATCHER,
        Actor(name="clock", script=clock(5.0)),
    ),
)
TAKEOVER = Cast(
    name="takeover",
    before=message_due,
    actors=(
        MORTAL_WORKER,
        MORTAL_DISPATCHER,
        Actor(name="bia", script=operator("bia", Command.TAKE, "from bia", Command.RELEASE)),
        SECOND_WORKER,
        WRITES_AGAIN,
    ),
    crashes_max=1,
    preemptions_max=3,
)
DUPLICATE = Cast(
    name="duplicate webhook",
    before=operators,
    actors=(
        Actor(name="door 1", script=customer("m1", "m2")),
        Actor(name="door 2", script=customer("m1", "m2")),
        Actor(name="clock", script=clock(5.0)),
        WORKER,
        SECOND_WORKER,
        DISPATCHER,
    ),
    preemptions_max=3,
)
CHANNEL = Cast(
    name="channel answers",
    before=reply_sealed,
    actors=(
        MORTAL_DISPATCHER,
        SECOND_DISPATCHER,
        Actor(name="status", script=status("delivered")),
        Actor(name="sweep", script=sweeper(2), when=is_sending),
        Actor(name="clock", script=clock(10.0, 11.0)),
        TAKES,
    ),
    outcomes=(
        "accepted",
        "timed out but delivered",
        "timed out and lost",
        "refused",
        "dropped",
        "window closed",
    ),
    crashes_max=1,
    preemptions_max=3,
)
TRIAGE = Cast(
    name="triage",
    before=reply_sealed,
    actors=(
        WRITES_AGAIN,
        Actor(name="triage", script=triager(2), when=triage_due, is_mortal=True),
        DISPATCHER,
        WORKER,
        TAKES,
        Actor(name="clock", script=clock(5.0)),
    ),
    decisions=("release_first", "cancel_first", "merge"),
    crashes_max=1,
    preemptions_max=3,
)
LADDER = Cast(
    name="hold ladder",
    before=reply_overtaken,
    actors=(
        Actor(name="triage", script=triager(), when=triage_due, is_mortal=True),
        Actor(name="dispatcher", script=dispatcher(5), when=outbox_due),
        Actor(name="clock", script=clock(0.3, 0.6, 1.2, 3.0)),
        Actor(name="customer", script=customer("m3")),
    ),
    decisions=("merge", "cancel_first"),
    crashes_max=1,
    preemptions_max=3,
)
TWO_OPERATORS = Cast(
    name="two operators",
    before=human_holds,
    actors=(
        Actor(name="bia", script=operator("bia", "from bia", Command.RELEASE)),
        Actor(
            name="caio",
            script=operator("caio", Command.TAKE, Command.TAKE_FORCED, "from caio", is_admin=True),
        ),
        DISPATCHER,
        WORKER,
        WRITES_AGAIN,
    ),
    preemptions_max=3,
)
LEASE = Cast(
    name="lease",
    before=message_due,
    actors=(
        MORTAL_WORKER,
        Actor(name="clock", script=clock(31.0)),
        Actor(name="sweep", script=sweeper()),
        SECOND_WORKER,
        DISPATCHER,
        WRITES_AGAIN,
    ),
    crashes_max=1,
    preemptions_max=3,
)
WRITES = Cast(
    name="write tool",
    before=message_due,
    actors=(
        MORTAL_WORKER,
        Actor(name="customer", script=customer("m2"), when=is_running),
        Actor(name="bia", script=operator("bia", Command.TAKE), when=is_running),
        Actor(name="clock", script=clock(31.0, 11.0), when=is_running),
        Actor(name="sweep", script=sweeper(), when=is_running),
        DISPATCHER,
    ),
    moods=("writes",),
    crashes_max=1,
    preemptions_max=3,
)
DEVICE = Cast(
    name="device reply",
    before=reply_sealed,
    actors=(
        DISPATCHER,
        Actor(name="phone", script=webhook(id="e1", text="from the phone", echo=True)),
        WRITES_AGAIN,
        WORKER,
        Actor(name="bia", script=operator("bia", Command.TAKE, "from bia", Command.RELEASE)),
        Actor(name="clock", script=clock(5.0)),
    ),
    preemptions_max=3,
)
PARTS = Cast(
    name="parts",
    before=reply_sealed,
    actors=(
        Actor(name="dispatcher", script=dispatcher(3), when=outbox_due, is_mortal=True),
        Actor(name="clock", script=clock(2.0)),
        TAKES,
        WRITES_AGAIN,
        Actor(name="triage", script=triager(), when=triage_due),
        Actor(name="status", script=status("failed")),
    ),
    moods=("parts",),
    outcomes=("accepted", "timed out and lost", "refused"),
    decisions=("merge",),
    crashes_max=1,
    preemptions_max=3,
)
GOODBYE = Cast(
    name="goodbye",
    before=message_due,
    actors=(
        MORTAL_WORKER,
        MORTAL_DISPATCHER,
        Actor(
            name="bia", script=operator("bia", Command.TAKE, "from bia", Command.RELEASE), when=is_answered
        ),
        WRITES_AGAIN,
        Actor(
            name="caio",
            script=operator("caio", Command.SUSPEND, Command.RESUME, is_admin=True),
            when=is_owned,
        ),
    ),
    moods=("goodbye", "answers", "silent", "fails"),
    crashes_max=1,
    preemptions_max=3,
)
EDITS = Cast(
    name="edit and revoke",
    before=message_due,
    actors=(
        Actor(name="edit", script=webhook(id="x1", kind="edit", target="m1", text="other words")),
        Actor(name="revoke", script=webhook(id="x2", kind="revoke", target="m2")),
        WRITES_AGAIN,
        WORKER,
        DISPATCHER,
        Actor(name="sweep", script=sweeper()),
    ),
    preemptions_max=3,
)
PENDING = Cast(
    name="pending takeover",
    before=reply_sealed,
    actors=(
        MORTAL_DISPATCHER,
        Actor(name="bia", script=operator("bia", Command.TAKE, "from bia", Command.TAKE_FORCED)),
        Actor(name="caio", script=operator("caio", Command.TAKE, Command.TRANSFER, is_admin=True)),
        Actor(name="status", script=status("sent"), when=is_owned),
        Actor(name="clock", script=clock(21.0)),
        Actor(name="sweep", script=sweeper(), when=is_owned),
        SECOND_DISPATCHER,
    ),
    outcomes=("accepted", "timed out but delivered"),
    crashes_max=1,
    preemptions_max=3,
)

WINDOW = Cast(
    name="window",
    before=reply_sealed,
    actors=(
        DISPATCHER,
        WRITES_AGAIN,
        Actor(name="triage", script=triager(), when=triage_due),
        SECOND_DISPATCHER,
        TAKES,
    ),
    outcomes=("accepted", "window closed"),
    preemptions_max=3,
)
LONG_BURST = Cast(
    name="long burst",
    before=operators,
    actors=(
        Actor(name="customer", script=typist("m1", "m2", "m3", "m4", "m5", "m6", pause=4.0)),
        WORKER,
        SECOND_WORKER,
        DISPATCHER,
    ),
)
AT_ONCE = Cast(
    name="two operators at once",
    before=message_due,
    actors=(
        TAKES,
        Actor(name="caio", script=operator("caio", Command.TAKE, "from caio")),
        WORKER,
        DISPATCHER,
    ),
)
REPEATS = Cast(
    name="operator repeats",
    before=human_holds,
    actors=(
        Actor(name="bia", script=operator("bia", "from bia")),
        Actor(name="bia again", script=operator("bia", "from bia")),
        DISPATCHER,
    ),
)

IN_FLIGHT = Cast(
    name="in flight",
    before=reply_sealed,
    actors=(
        DISPATCHER,
        Actor(name="bia", script=operator("bia", Command.TAKE), when=is_sending),
        Actor(name="sweep", script=sweeper(), when=is_owned),
        Actor(name="clock", script=clock(21.0), when=is_owned),
    ),
    outcomes=("accepted", "refused", "timed out but delivered"),
)

DECISIONS = Cast(
    name="decisions",
    before=reply_overtaken,
    actors=(Actor(name="triage", script=triager(), when=triage_due), DISPATCHER, WORKER, TAKES),
    decisions=("release_first", "cancel_first", "merge"),
)
MOODS = Cast(
    name="moods",
    before=message_due,
    actors=(WORKER, DISPATCHER, Actor(name="bia", script=operator("bia", Command.TAKE), when=is_answered)),
    moods=("answers", "goodbye", "silent", "fails", "parts", "writes"),
)
PARTS_OVERTAKEN = Cast(
    name="parts overtaken",
    before=reply_sealed,
    actors=(
        DISPATCHER,
        Actor(name="customer", script=customer("m2"), when=has_sent),
        Actor(name="triage", script=triager(), when=triage_due),
        WORKER,
    ),
    moods=("parts",),
    decisions=("merge", "cancel_first"),
)

CASTS: tuple[Cast, ...] = (
    DECISIONS, MOODS, PARTS_OVERTAKEN, IN_FLIGHT, WINDOW, LONG_BURST, AT_ONCE, REPEATS,
    SMALL, BURST, TAKEOVER, DUPLICATE, CHANNEL, TRIAGE, LADDER, TWO_OPERATORS, LEASE, WRITES, DEVICE, PARTS, GOODBYE,
    EDITS, PENDING, replace(BURST, name="burst enqueued", settings={"turns": {"while_running": "enqueue"}}),
    replace(BURST, name="burst triaged", settings={"turns": {"while_running": "triage"}},
            decisions=("release_first", "merge"), preemptions_max=3),
    *VOICES,
)  # fmt: skip

BY_NAME = {cast.name: cast for cast in (*CASTS, *PAIRS)}
