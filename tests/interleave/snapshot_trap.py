"""The trap of READ COMMITTED that the flow's locking rule avoids, as a specimen for the explorer.

A seal that locks the conversation and reads its open messages in one statement waits for a message that is being
received, and then decides from the snapshot it had before: the message is counted, and not read.
"""

from __future__ import annotations

from onevoice.flow.runtime import Runtime
from onevoice.store.statements import parse_statements
from tests.interleave.casts import message_due
from tests.interleave.gates import STATEMENT, Seat
from tests.interleave.world import KEY, Actor, Cast, World

SQL = parse_statements(
    """
-- name: store_message
insert into inbound_message (account_id, id, conversation_id, channel, external_id, type, text, state, received_at, raw)
values ('default', $1::uuid, $2::uuid, 'loja', 'm9', 'text', 'late', 'open', $3::timestamptz, '');

-- name: count_arrival
update conversation set arrival_count = arrival_count + 1, turn_due_at = $2::timestamptz
where id = $1::uuid;

-- name: lock_and_read
select c.arrival_count,
    (select count(*) from inbound_message m where m.conversation_id = c.id and m.state = 'open') as open_count
from conversation c where c.id = $1::uuid for update of c;

-- name: lock
select c.arrival_count from conversation c where c.id = $1::uuid for update of c;

-- name: read
select count(*) as open_count from inbound_message m where m.conversation_id = $1::uuid and m.state = 'open';
""",
    source="snapshot_trap",
)


async def _receives(world: World, runtime: Runtime, seat: Seat) -> None:
    async with runtime.database.transaction("receive") as transaction:
        now = runtime.clock.now()
        await transaction.execute(SQL["count_arrival"], KEY.id, now)
        await transaction.execute(SQL["store_message"], runtime.chance.new_id(), KEY.id, now)
    world.record.accepted_webhooks.append("m9")


async def _decides_at_once(world: World, runtime: Runtime, seat: Seat) -> None:
    async with runtime.database.transaction("seal") as transaction:
        row = (await transaction.fetch(SQL["lock_and_read"], KEY.id))[0]
    _compare(world, row["arrival_count"], row["open_count"])


async def _decides_in_two(world: World, runtime: Runtime, seat: Seat) -> None:
    async with runtime.database.transaction("seal") as transaction:
        arrivals = (await transaction.fetch(SQL["lock"], KEY.id))[0]["arrival_count"]
        opened = (await transaction.fetch(SQL["read"], KEY.id))[0]["open_count"]
    _compare(world, arrivals, opened)


def _compare(world: World, arrivals: int, opened: int) -> None:
    if arrivals != opened:
        world.record.violations.append(
            f"the trap: {arrivals} arrivals are counted, {opened} messages were read"
        )


def _cast(name: str, decides: object) -> Cast:
    return Cast(
        name=name,
        before=message_due,
        level=STATEMENT,
        preemptions_max=3,
        actors=(Actor(name="door", script=_receives), Actor(name="worker", script=decides)),  # type: ignore[arg-type]
    )


TRAP = _cast("snapshot trap", _decides_at_once)
TRAP_MENDED = _cast("snapshot trap, mended", _decides_in_two)
