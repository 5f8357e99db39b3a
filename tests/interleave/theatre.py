"""The house: one database for many schedules, a connection of its own per seat, and an observer nobody gates."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Self

import asyncpg

from onevoice.telemetry import Telemetry
from tests.interleave.gates import GatedDatabase, Seat
from tests.interleave.snapshot import ALL_ROWS, FACTS, HASH_AND_RULES, MONITOR, NEXT_DUE
from tests.invariants import find_violations

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

TABLES = (
    "media_upload", "media", "attempt", "effect", "suggestion", "follow_up", "note", "notification", "device_echo",
    "orphan_status", "unknown_event", "outbound_message", "turn", "inbound_message", "contact_alias", "journal",
    "conversation", "channel", "operator",
)  # fmt: skip
_SEQUENCES = ("inbound_message_seq_seq", "outbound_message_seq_seq", "journal_id_seq")
_DELETE = "; ".join(f"delete from {table}" for table in TABLES)  # noqa: S608  # Names of our own.
_RESTORE = "".join(
    f"""
    if snapshot -> '{table}' <> 'null' then
        insert into {table} overriding system value
        select * from jsonb_populate_recordset(null::{table}, snapshot -> '{table}');
    end if;"""  # noqa: S608
    for table in reversed(TABLES)
)
_MAKE_RESTORE = f"""
create or replace function restore_snapshot(snapshot jsonb) returns void language plpgsql as $body$
begin
    {_DELETE};
    {_RESTORE}
    perform setval(name::regclass, (value ->> 0)::bigint, (value ->> 1)::boolean)
    from jsonb_each(snapshot -> 'sequences') as sequence (name, value);
end $body$
"""
_NOTHING = json.dumps({"sequences": {name: [1, False] for name in _SEQUENCES}})
_SNAPSHOT = "select jsonb_build_object({})::text".format(
    ", ".join(
        [
            *(f"'{table}', (select jsonb_agg(to_jsonb(t)) from {table} t)" for table in TABLES),  # noqa: S608
            "'sequences', jsonb_build_object({})".format(
                ", ".join(
                    f"'{name}', (select jsonb_build_array(last_value, is_called) from {name})"  # noqa: S608
                    for name in _SEQUENCES
                )
            ),
        ]
    )
)
_LOOK_AND_KEEP = HASH_AND_RULES.rstrip() + f", ({_SNAPSHOT}) as snapshot\n"
_VACUUM_EVERY = 25
LOOKS_MAX = 20_000


class Theatre:
    """Rows are deleted after each schedule, so that ids and order numbers repeat exactly."""

    def __init__(self, dsn: str, observer: Connection, witness: Connection) -> None:
        self.dsn = dsn
        self.telemetry = Telemetry()
        self._observer = observer
        # Asked by actors in the middle of their steps, while the observer looks at locks.
        self._witness = witness
        self._databases: dict[str, GatedDatabase] = {}
        self._restored_count = 0

    @classmethod
    async def open(cls, dsn: str) -> Self:
        # As a replica it fires no triggers: a snapshot is put back in any order.
        observer = await asyncpg.connect(
            dsn, server_settings={"jit": "off", "session_replication_role": "replica"}
        )
        await observer.execute(_MAKE_RESTORE)
        await observer.execute(MONITOR)
        name = await observer.fetchval("select current_database()")
        await observer.execute(f'alter database "{name}" set synchronous_commit = off')
        # Thousands of runs of the same statements over a handful of rows: planning would cost more than running them.
        await observer.execute(f'alter database "{name}" set plan_cache_mode = force_generic_plan')
        await observer.execute(f"alter database \"{name}\" set deadlock_timeout = '200ms'")
        return cls(dsn, observer, await asyncpg.connect(dsn))

    async def close(self) -> None:
        for database in self._databases.values():
            await database.close()
        await self._observer.close()
        await self._witness.close()

    async def seat(self, seat: Seat) -> GatedDatabase:
        database = self._databases.get(seat.name)
        if database is None:
            database = await GatedDatabase.open(self.dsn, connections_max=1)
            self._databases[seat.name] = database
        database.seat = seat
        return database

    async def restore(self, snapshot: str | None) -> None:
        """The database as it was at that moment; without one empty, as if nothing had ever been."""
        for database in self._databases.values():
            await database.settle()
        await self._observer.execute("select restore_snapshot($1::text::jsonb)", snapshot or _NOTHING)
        self._restored_count += 1
        if self._restored_count % _VACUUM_EVERY == 0:
            for table in TABLES:
                await self._observer.execute(f"vacuum {table}")

    async def execute(self, sql: str, *args: object) -> None:
        await self._witness.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        return await self._witness.fetchval(sql, *args)

    async def look(self, now: object, *, keeps: bool = False) -> tuple[str, list[str], str]:
        """The durable state's digest, the rules it breaks, and, to be put back later, all of it."""
        row = await self._observer.fetchrow(_LOOK_AND_KEEP if keeps else HASH_AND_RULES, now)
        if row is None:
            raise AssertionError("the digest has no row")
        return row["digest"], row["broken"] or [], row["snapshot"] if keeps else ""

    async def facts(self, now: object, *, by_actor: bool = False) -> dict[str, Any]:
        row = await (self._witness if by_actor else self._observer).fetchrow(FACTS, now)
        return dict(row) if row is not None else {}

    async def rows(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any] | None] = json.loads(await self._observer.fetchval(ALL_ROWS))
        return {table: rows or [] for table, rows in found.items()}

    async def violations(self) -> list[str]:
        """What the rules shared with the other suites find."""
        return await find_violations(self._witness)

    async def next_due(self, now: object) -> Any:
        return await self._witness.fetchval(NEXT_DUE, now)

    async def is_blocked(self, seat: Seat) -> bool:
        """Whether the seat's statement waits for another transaction's lock."""
        pid = self._databases[seat.name].backend_pid()
        if pid is None:
            return False
        return bool(await self._observer.fetchval("select cardinality(pg_blocking_pids($1)) > 0", pid))

    async def kill(self, seat: Seat) -> None:
        """The process is gone: the server rolls back what it had open, and knows so before anybody goes on."""
        database = self._databases.pop(seat.name)
        pid = database.backend_pid()
        if pid is not None:
            await self._end_backend(pid)
        self._dead.append(database)

    async def _end_backend(self, pid: int) -> None:
        # The server's own wait looks every tenth of a second only, which would be most of a schedule.
        await self._observer.fetchval("select pg_terminate_backend($1)", pid)
        for _ in range(LOOKS_MAX):
            if not await self._observer.fetchval("select exists (select from pg_stat_get_activity($1))", pid):
                return
        raise AssertionError(f"the server process {pid} does not end")

    @property
    def _dead(self) -> list[GatedDatabase]:
        # Kept, so that what a crashed actor holds is not collected during the schedule.
        found: list[GatedDatabase] = self.__dict__.setdefault("_dead_databases", [])
        return found

    async def bury(self) -> None:
        """After the schedule: what is left of killed processes."""
        while self._dead:
            database = self._dead.pop()
            await database.settle()
            await asyncio.shield(database.close())
