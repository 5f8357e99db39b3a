"""Several servers on one PostgreSQL, customers who write, operators who take over, and a hand that breaks things.

Only processes started here are stopped, each by its own id. Customers behave as the platform does: what was not
answered with 2xx is delivered again, under the same id.
"""

from __future__ import annotations

import asyncio
import contextlib
import random  # noqa: TID251  # Seeded, repeatable.
import signal
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import httpx2

from onevoice.testing import GraphRequest, LoopbackGraph
from onevoice.testing.graph_server import Accept, BreakOff, DropRead, Refuse, Slow
from tests import progress
from tests.invariants import Seen, find_violations
from tests.process.door import Door
from tests.process.server import API_TOKEN, Server, configure, eventually, now_seconds, pause
from tests.process.test_database_away import PrivateServer

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

SECTIONS = {
    "turns": {"debounce_seconds": 0.3, "max_wait_seconds": 3.0, "lease_seconds": 1.5},
    "outbox": {"part_interval_seconds": 0.0, "send_timeout_seconds": 2.0, "uncertain_wait_seconds": 1.0},
    "agent": {"use": "builtin:echo"},
}
QUIET_SECONDS_MAX = 90.0
# Longer than a lease, shorter than a send's deadline and its quarantine together: what a takeover rests on holds.
CLOCK_JUMP_SECONDS = 1.9
TAKEN_SHARE = 0.3
TOLD_SHARE = 0.7

# Statements ask for the time without naming a schema, so that a schema named before the server's own may answer.
_OWN_CLOCK = """
create schema skew;
create table skew.shift (seconds float8 not null);
insert into skew.shift values (0);
create function skew.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + make_interval(secs => seconds) from skew.shift';
grant usage on schema skew to public;
grant select on skew.shift to public;
"""

# The rows are judged by the order in which things happened. A clock that jumps back dates a later send before an
# earlier one, so the instants the judges compare are written by a clock that does not jump; nothing decides on them.
_TRUE_TIMES = """
create function skew.date_beginning() returns trigger language plpgsql as $$ begin
    new.started_at := pg_catalog.clock_timestamp();
    return new;
end $$;
create function skew.date_end() returns trigger language plpgsql as $$ begin
    new.ended_at := pg_catalog.clock_timestamp();
    return new;
end $$;
create function skew.date_entry() returns trigger language plpgsql as $$ begin
    new.at := pg_catalog.clock_timestamp();
    return new;
end $$;
create trigger true_time before insert on attempt for each row execute function skew.date_beginning();
create trigger true_time before insert on turn for each row execute function skew.date_beginning();
create trigger true_end before update on turn for each row
    when (new.ended_at is not null and old.ended_at is null) execute function skew.date_end();
create trigger true_time before insert on journal for each row execute function skew.date_entry();
"""

# Every send of which nobody knew for a while whether it had been taken, and what became of it.
_AMBIGUOUS = """
select o.id, o.state, o.reason, a.attempt, a.outcome
from outbound_message o
join attempt a on a.account_id = o.account_id and a.outbound_id = o.id
where a.outcome is null or a.outcome in ('unknown', 'expired') or exists (
    select from journal j
    where j.account_id = o.account_id and j.subject_id = o.id and j.kind = 'outbound' and j.state = 'uncertain')
"""

_LEFT = """
select (select count(*) from inbound_message m
        join conversation c on c.account_id = m.account_id and c.id = m.conversation_id
        where m.state = 'claimed' or (m.state = 'open' and c.authority_state = 'AI_ACTIVE'))
    + (select count(*) from outbound_message where state in ('due', 'sending', 'uncertain'))
    + (select count(*) from turn where state = 'running')
    + (select count(*) from conversation where authority_state = 'HANDOFF_PENDING' and authority_owner is not null)
"""


@dataclass(slots=True)
class Tally:
    """What was done and what was promised."""

    faults: Counter[str] = field(default_factory=Counter[str])
    promised: dict[str, str] = field(default_factory=dict[str, str])
    takeovers: dict[str, float] = field(default_factory=dict[str, float])
    refused: int = 0


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What the channel's record and the rows say afterwards."""

    messages: int
    lost: list[str]
    duplicates: list[str]
    ai_after_takeover: list[str]
    violations: list[str]
    ambiguous: int
    unresolved: list[str]


class Battle:
    def __init__(self, folder: Path, postgres: PrivateServer, graph: LoopbackGraph, *, seed: int) -> None:
        self.tally = Tally()
        self._folder = folder
        self._postgres = postgres
        self._graph = graph
        self._luck = random.Random(seed)  # noqa: S311  # Repeatable, not secret.
        self._servers: list[Server] = []
        self._doors: list[Door] = []
        self._launched = 0
        self._ids = count(1)
        self._is_calm = asyncio.Event()

    async def start(self, *, servers: int) -> None:
        configure(
            self._folder,
            graph_url=self._graph.url,
            sections={**SECTIONS, "database": {"url": self._postgres.dsn}},
        )
        for place in range(servers):
            await self._serve(place)
        connection = await asyncpg.connect(self._postgres.dsn)
        try:
            await connection.execute(_OWN_CLOCK)
            await connection.execute(_TRUE_TIMES)
            database = await connection.fetchval("select current_database()")
            await connection.execute(
                f'alter database "{database}" set search_path = skew, pg_catalog, public'
            )
        finally:
            await connection.close()
        await self.cut_backends(counts=False)

    async def _serve(self, place: int) -> None:
        self._launched += 1
        server = Server.launch(self._folder / "onevoice.toml", number=self._launched)
        if place == len(self._servers):
            self._servers.append(server)
        self._servers[place] = server
        door = Door(await server.wait_until_ready())
        if place == len(self._doors):
            self._doors.append(door)
        else:
            await self._doors[place].__aexit__(None, None, None)
            self._doors[place] = door

    # ------------------------------------------------------------------ customers and operators

    async def write(self, contact: str, number: int) -> None:
        """One message, delivered until it is answered with 2xx."""
        text = f"<{contact}:{number}>"
        item = self._doors[0].message(text, contact=contact)
        while True:
            door = self._luck.choice(self._doors)
            with contextlib.suppress(httpx2.HTTPError, RuntimeError, TimeoutError):
                async with asyncio.timeout(4.0):
                    if await door.deliver(item) == 200:
                        self.tally.promised[text] = contact
                        progress.tick("messages")
                        return
            self.tally.refused += 1
            await pause(0.1)

    async def take(self, contact: str) -> None:
        """An operator takes; from the confirmed answer on the customer must hear no AI."""
        for _ in range(40):
            door = self._luck.choice(self._doors)
            with contextlib.suppress(httpx2.HTTPError, RuntimeError, AssertionError, TimeoutError):
                async with asyncio.timeout(4.0):
                    found = await door.conversations(contact)
                    if found:
                        answer = await door._http.post(  # pyright: ignore[reportPrivateUsage]  # The door has no commands of its own.
                            f"/api/v1/conversations/{found[0]['id']}/take",
                            headers={"authorization": f"Bearer {API_TOKEN}"},
                        )
                        if answer.status_code == 200 and "HUMAN_ACTIVE" in answer.text:
                            self.tally.takeovers[contact] = asyncio.get_running_loop().time()
                            return
            await pause(0.1)

    async def customers(self, contacts: list[str], *, messages: int) -> None:
        """All write at once, at least so many messages each, and go on until the faults have ended."""

        async def one(contact: str) -> None:
            takes_after = self._luck.randrange(messages) if self._luck.random() < TAKEN_SHARE else None
            number = 0
            while number < messages or not self._is_calm.is_set():
                await self.write(contact, next(self._ids))
                if number == takes_after:
                    await self.take(contact)
                number += 1
                await pause(self._luck.uniform(0.05, 4.0))

        self._is_calm.clear()
        async with asyncio.TaskGroup() as group:
            for contact in contacts:
                group.create_task(one(contact))

    def calm_down(self) -> None:
        """No more faults: customers end what they have to say."""
        self._is_calm.set()

    def misbehave(self, answers: int) -> None:
        """The next answers of the channel: some refused, slow, cut off in the middle, or lost."""
        kinds = (
            Accept(), Accept(), Refuse(code=131026), Refuse(code=131000, http_status=500), Slow(seconds=0.5),
            DropRead(accepted=True), DropRead(accepted=False), BreakOff(),
        )  # fmt: skip
        self._graph.script(None, *(self._luck.choice(kinds) for _ in range(answers)))

    async def platform(self) -> None:
        """The channel's own word, late, about most of what it took: how an unknown outcome becomes a known one."""
        told = 0
        while True:
            for message in self._graph.messages[told:]:
                told += 1
                progress.tick("messages")
                if self._luck.random() < TOLD_SHARE:
                    await self._report(message)
            await pause(0.2)

    async def _report(self, message: GraphRequest) -> None:
        item = {
            "id": message.external_id,
            "status": "delivered",
            "timestamp": str(now_seconds()),
            "recipient_id": message.address,
            "biz_opaque_callback_data": message.correlation_id,
        }
        for _ in range(40):
            door = self._luck.choice(self._doors)
            with contextlib.suppress(httpx2.HTTPError, RuntimeError, TimeoutError):
                async with asyncio.timeout(4.0):
                    if await door.deliver(statuses=[item]) == 200:
                        return
            await pause(0.1)

    # ------------------------------------------------------------------ faults

    def _count(self, fault: str) -> None:
        self.tally.faults[fault] += 1
        progress.tick("faults")

    async def kill(self) -> None:
        """SIGKILL to one server, and a new one in its place."""
        place = self._luck.randrange(len(self._servers))
        await self._servers[place].killed()
        self._count("SIGKILL")
        await self._serve(place)

    async def kill_all(self) -> None:
        for server in self._servers:
            server.kill()
            self._count("SIGKILL")
        for server in self._servers:
            await server.ended()
        await asyncio.gather(*(self._serve(place) for place in range(len(self._servers))))

    async def freeze(self) -> None:
        """Alive but slow: longer than its lease, sometimes longer than its deadline."""
        process = self._luck.choice(self._servers).process
        process.send_signal(signal.SIGSTOP)
        await pause(self._luck.uniform(0.5, 3.5))
        process.send_signal(signal.SIGCONT)
        self._count("SIGSTOP")

    async def cut_backends(self, *, counts: bool = True) -> None:
        connection = await asyncpg.connect(self._postgres.dsn)
        try:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'onevoice'"
            )
        finally:
            await connection.close()
        if counts:
            self._count("backends killed")

    async def jump(self) -> None:
        """The database's clock goes forth or back at once, by more than a lease, and the servers live on with it."""
        connection = await asyncpg.connect(self._postgres.dsn)
        try:
            shift = self._luck.choice((CLOCK_JUMP_SECONDS, -CLOCK_JUMP_SECONDS))
            await connection.execute("update skew.shift set seconds = seconds + $1", shift)
        finally:
            await connection.close()
        self._count("clock jump")
        await pause(CLOCK_JUMP_SECONDS)

    async def restart_postgres(self) -> None:
        await asyncio.to_thread(self._postgres.break_off)
        await pause(self._luck.uniform(0.0, 1.0))
        await asyncio.to_thread(self._postgres.bring_back)
        self._count("PostgreSQL restart")

    # ------------------------------------------------------------------ afterwards

    async def until_quiet(self) -> None:
        async def look() -> bool:
            connection = await asyncpg.connect(self._postgres.dsn)
            try:
                return not await connection.fetchval(_LEFT)
            finally:
                await connection.close()

        await eventually(look, "everything is answered or ended", seconds_max=QUIET_SECONDS_MAX)

    async def judge(self) -> Outcome:
        connection = await asyncpg.connect(self._postgres.dsn)
        try:
            # The judges ask for a message's entries, which the product never does: without it they take hours.
            await connection.execute("create index on journal (account_id, subject_id)")
            await connection.execute("analyze")
            return await self._judge(connection)
        finally:
            await connection.close()

    async def _judge(self, connection: Connection) -> Outcome:
        rows = await connection.fetch(
            """
            select m.text, m.state, m.turn_id, c.authority_state,
                (select array_agg(o.state || ':' || coalesce(o.reason, '')) from outbound_message o
                 where o.account_id = m.account_id and o.turn_id = m.turn_id) as replies
            from inbound_message m
            join conversation c on c.account_id = m.account_id and c.id = m.conversation_id"""
        )
        stored = Counter(row["text"] for row in rows)
        seen = Counter(line for message in self._graph.messages for line in message.text.split("\n"))
        lost = [f"{text} is stored {stored[text]} times" for text in self.tally.promised if stored[text] != 1]
        for row in rows:
            is_told = seen[row["text"]] > 0
            is_doubtful = any(not reply.startswith(("sent", "delivered")) for reply in row["replies"] or ())
            if row["state"] == "answered" and not is_told and not is_doubtful:
                lost.append(f"{row['text']} counts as answered, the customer has nothing")
            if row["state"] == "open" and row["authority_state"] == "AI_ACTIVE":
                lost.append(f"{row['text']} stays open")
        late = [
            f"{message.text} to {message.address}"
            for message in self._graph.messages
            if message.at > self.tally.takeovers.get(message.address, float("inf"))
        ]
        keys = await self._keys(connection)
        ambiguous = await connection.fetch(_AMBIGUOUS)
        return Outcome(
            messages=len(self.tally.promised) + len(self._graph.messages),
            lost=lost,
            duplicates=[text for text, count in seen.items() if count > 1],
            ai_after_takeover=late,
            violations=await find_violations(connection, seen=keys),
            ambiguous=len(ambiguous),
            unresolved=[
                f"{row['id']}.{row['attempt']}: {row['state']}" for row in ambiguous if not _is_resolved(row)
            ],
        )

    async def _keys(self, connection: Connection) -> list[Seen]:
        known: dict[str, Any] = {
            str(row["id"]): row["key"]
            for row in await connection.fetch("select id, key from outbound_message")
        }
        found: list[Seen] = []
        for message in self._graph.messages:
            correlation = message.correlation_id or ""
            key = known.get(correlation.partition(".")[0], "unknown")
            found.append(Seen(key=key, correlation_id=correlation))
        return found

    async def put_down(self) -> None:
        for door in self._doors:
            await door.__aexit__(None, None, None)
        for server in self._servers:
            if server.process.poll() is None:
                server.process.kill()
            server.process.wait()


def _is_resolved(row: asyncpg.Record) -> bool:
    """By the channel's own word, or given up with its reason for somebody to see; never silently."""
    if row["outcome"] is None:
        return False
    return row["state"] in ("sent", "delivered", "read") or bool(row["reason"])
