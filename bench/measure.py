"""One function per measurement: each leaves the database empty and returns its figures."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from bench.load import Load, Timings, quantile, webhook
from bench.machine import API_TOKEN, Machine, pgbench


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much to do. ``tiny`` is for the smoke test: it proves that the bench works and measures nothing."""

    lag_contacts: int
    debouncing: int
    armed: int
    webhooks: int
    webhook_rate: float
    path_bursts: int
    path_rate: float
    takeovers: int
    idle_conversations: int
    pgbench_seconds: int


FULL = Size(
    lag_contacts=300,
    debouncing=1000,
    armed=100_000,
    webhooks=20_000,
    webhook_rate=2000.0,
    path_bursts=3000,
    path_rate=1000.0,
    takeovers=200,
    idle_conversations=100_000,
    pgbench_seconds=5,
)
QUICK = Size(
    lag_contacts=100,
    debouncing=1000,
    armed=5000,
    webhooks=6000,
    webhook_rate=1000.0,
    path_bursts=750,
    path_rate=600.0,
    takeovers=60,
    idle_conversations=100_000,
    pgbench_seconds=2,
)
TINY = Size(
    lag_contacts=3,
    debouncing=5,
    armed=10,
    webhooks=20,
    webhook_rate=100.0,
    path_bursts=5,
    path_rate=50.0,
    takeovers=2,
    idle_conversations=100,
    pgbench_seconds=1,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A line of the table. ``kept`` is whether the target is met, none when there is no target."""

    name: str
    value: str
    target: str = ""
    kept: bool | None = None


def milliseconds(name: str, seconds: float, target: float | None = None) -> Figure:
    shown = f"{seconds * 1000:.1f} ms"
    if target is None:
        return Figure(name=name, value=shown)
    return Figure(name=name, value=shown, target=f"≤ {target:g} ms", kept=seconds * 1000 <= target)


def contact(number: int) -> str:
    return f"5511{900_000_000 + number}"


def post(url: str, requests: Sequence[bytes], *, per_second: float = 0.0, connections: int = 32) -> Timings:
    """Post these webhooks: at a rate, or as fast as it goes."""

    async def run() -> Timings:
        load = Load(url)
        try:
            if per_second:
                return await load.open_loop(requests, per_second=per_second)
            return await load.closed_loop(requests, connections=connections)
        finally:
            await load.close()

    return asyncio.run(run())


_DUE = """
select turn_id::text as turn, extract(epoch from max(received_at))::float8 as last
from inbound_message where turn_id is not null group by turn_id
"""


def lags(machine: Machine, *, debounce: float) -> list[float]:
    """Seconds from due to the agent's call, per turn."""
    last = {row["turn"]: row["last"] for row in machine.fetch(_DUE)}
    return [moment - last[turn] - debounce for turn, moment, _ in machine.calls() if turn in last]


def idle_lag(machine: Machine, size: Size) -> list[Figure]:
    """One conversation after the other on an idle machine."""
    debounce = 0.3
    url = machine.start_serve(debounce_seconds=debounce)
    post(url, [webhook(contact(number)) for number in range(size.lag_contacts)], per_second=20)
    machine.wait_until_quiet()
    found = lags(machine, debounce=debounce)
    machine.clear()
    return [
        milliseconds(f"due → agent called, idle, p50 of {len(found)}", quantile(found, 0.5), 20),
        milliseconds("due → agent called, idle, p99", quantile(found, 0.99), 100),
    ]


def busy_lag(machine: Machine, size: Size) -> list[Figure]:
    """All of them are debouncing when the first falls due."""
    rate = 400.0
    debounce = size.debouncing / rate
    url = machine.start_serve(debounce_seconds=debounce)
    timings = post(url, [webhook(contact(n)) for n in range(size.debouncing)], per_second=rate)
    machine.wait_until_quiet()
    found = lags(machine, debounce=debounce)
    machine.clear()
    name = f"{size.debouncing} debouncing, due at {rate:g}/s"
    return [
        milliseconds(f"due → agent called, {name}, p50", quantile(found, 0.5)),
        milliseconds("the same, p99", quantile(found, 0.99), 250),
        milliseconds("webhook beside it, p99", timings.quantile(0.99)),
    ]


_ARM = """
insert into conversation (account_id, id, channel, contact_address, authority_since, arrival_count, open_since,
    turn_due_at, last_activity_at)
select 'default', gen_random_uuid(), 'loja', 'armed' || n, now(), 1, now(), now() + interval '1 hour', now()
from generate_series(1, $1::integer) n
"""


def armed_lag(machine: Machine, size: Size) -> list[Figure]:
    """Many timers are armed for later while a few fall due."""
    debounce = 0.3
    machine.fetch(_ARM, size.armed)
    machine.fetch("analyze conversation")
    url = machine.start_serve(debounce_seconds=debounce)
    post(url, [webhook(contact(n)) for n in range(size.lag_contacts)], per_second=50)
    machine.wait_until_quiet()
    found = lags(machine, debounce=debounce)
    machine.clear()
    return [milliseconds(f"due → agent called, {size.armed:,} timers armed, p99", quantile(found, 0.99), 25)]


_PGBENCH_TABLES = """
drop table if exists bench_message, bench_conversation;
create table bench_message (id bigserial primary key, external_id text unique, conversation_id integer, raw bytea);
create table bench_conversation (id integer primary key, arrival_count bigint, turn_due_at timestamptz);
"""
_PGBENCH_STATEMENT = """\\set contact random(1, 100000)
with fresh as (
    insert into bench_message (external_id, conversation_id, raw)
    values (gen_random_uuid()::text, :contact, decode(repeat('ab', 400), 'hex'))
    on conflict do nothing returning conversation_id
)
insert into bench_conversation as c (id, arrival_count, turn_due_at)
select conversation_id, 1, now() + interval '5 s' from fresh
on conflict (id) do update set arrival_count = c.arrival_count + 1, turn_due_at = excluded.turn_due_at;
"""


def pgbench_rate(machine: Machine, size: Size) -> float:
    """What one statement per message reaches on this machine in this minute; the best of 1, 8 and 32 clients."""
    for statement in _PGBENCH_TABLES.split(";"):
        if statement.strip():
            machine.fetch(statement)
    script = machine.folder / "pgbench.sql"
    script.write_text(_PGBENCH_STATEMENT, encoding="utf-8")
    rates: list[float] = []
    for clients in (1, 8, 32):
        printed = pgbench(
            [
                *("-n", "-M", "prepared", "-f", str(script), "-c", str(clients), "-j", "1"),
                *("-T", str(size.pgbench_seconds), machine.dsn),
            ]
        )
        found = re.search(r"tps = ([0-9.]+)", printed)
        assert found is not None, printed
        rates.append(float(found[1]))
    machine.fetch("drop table bench_message, bench_conversation")
    return max(rates)


def webhooks(machine: Machine, size: Size) -> list[Figure]:
    """Signature, parse, commit and answer, beside pgbench's one statement; nothing falls due meanwhile."""
    rate = pgbench_rate(machine, size)
    url = machine.start_serve(debounce_seconds=60.0)
    requests = [webhook(contact(number % 5000)) for number in range(size.webhooks)]
    fast = max((post(url, part) for part in _thirds(requests)), key=_per_second)
    steady = post(
        url,
        [webhook(contact(number % 5000)) for number in range(int(size.webhook_rate * 4))],
        per_second=size.webhook_rate,
    )
    machine.stop_serve()
    machine.clear()
    ratio = _per_second(fast) / rate
    return [
        Figure(name="pgbench, one statement per message, best of 1/8/32 clients", value=f"{rate:,.0f}/s"),
        Figure(name="webhooks, 32 connections", value=f"{_per_second(fast):,.0f}/s"),
        Figure(name="webhooks over pgbench", value=f"{ratio:.2f}", target="≥ 0.40", kept=ratio >= 0.40),
        milliseconds(f"webhook at {size.webhook_rate:g}/s, p50", steady.quantile(0.5)),
        milliseconds("webhook, p99", steady.quantile(0.99), 10),
        _none("webhooks not answered with 200", fast.refused_count + steady.refused_count),
    ]


def whole_path(machine: Machine, size: Size) -> list[Figure]:
    """Bursts of four through an instant agent and an instant channel; everything must come out once."""
    debounce = 1.0
    url = machine.start_serve(debounce_seconds=debounce)
    taken_before, different_before = machine.sent()
    parts = [
        webhook(contact(n), text) for n in range(size.path_bursts) for text in ("oi", "eu", "quero", "ir")
    ]
    started = time.perf_counter()
    timings = post(url, parts, per_second=size.path_rate)
    quiet = machine.wait_until_quiet(seconds_max=120)
    took = time.perf_counter() - started
    taken, different = machine.sent()
    calls = machine.calls()
    [answered] = machine.fetch("select count(*) as count from inbound_message where state = 'answered'")
    taken, different = taken - taken_before, different - different_before
    machine.clear()
    lost = len(parts) - answered["count"]
    per_burst = len(calls) / size.path_bursts
    return [
        Figure(
            name=f"whole path, {len(parts)} messages offered at {size.path_rate:g}/s",
            value=f"{len(parts) / max(0.001, took - debounce):,.0f}/s",
        ),
        milliseconds("webhook under it, p99", timings.quantile(0.99), 15),
        _none("messages lost", lost if quiet else max(lost, 1)),
        _none("answers sent twice", taken - different),
        Figure(
            name="agent calls per burst of four",
            value=f"{per_burst:.3f}",
            target="1",
            kept=abs(per_burst - 1) < 0.01,
        ),
        Figure(name="answers per burst of four", value=f"{taken / size.path_bursts:.3f}"),
    ]


def takeovers(machine: Machine, size: Size) -> list[Figure]:
    """An operator takes conversations in which nothing is in flight, while others are answered."""
    url = machine.start_serve(debounce_seconds=0.5)
    post(url, [webhook(contact(number)) for number in range(size.takeovers)], per_second=200)
    machine.wait_until_quiet()
    ids = [row["id"] for row in machine.fetch("select id from conversation")]
    first_status = _take(url, ids[0])[0]
    if first_status == 404:
        machine.clear()
        return [Figure(name="takeover → confirmed", value="skipped: the API has no such route")]
    requests = [webhook(contact(10_000 + number)) for number in range(size.takeovers * 5)]
    background = threading.Thread(target=post, args=(url, requests), kwargs={"per_second": 200.0})
    background.start()
    taken = [_take(url, conversation) for conversation in ids[1:]]
    background.join()
    machine.wait_until_quiet()
    machine.clear()
    wrong = sum(status != 200 or not confirmed for status, confirmed, _ in taken)
    seconds = [elapsed for _, _, elapsed in taken]
    return [
        milliseconds("takeover → confirmed, beside 200 messages/s, p50", quantile(seconds, 0.5)),
        milliseconds("takeover → confirmed, p99", quantile(seconds, 0.99), 20),
        _none("takeovers not confirmed at once", wrong),
    ]


def _take(url: str, conversation: object) -> tuple[int, bool, float]:
    request = urllib.request.Request(  # noqa: S310 - Our own server.
        f"{url}/api/v1/conversations/{conversation}/take",
        data=b"{}",
        headers={"authorization": f"Bearer {API_TOKEN}", "content-type": "application/json"},
    )
    started = time.perf_counter()
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            content = json.load(answer)
            return (
                answer.status,
                content["authority"]["state"] == "HUMAN_ACTIVE",
                time.perf_counter() - started,
            )
    except urllib.error.HTTPError as error:
        with error:
            return error.code, False, time.perf_counter() - started


_IDLE = """
insert into conversation (account_id, id, channel, contact_address, authority_since, last_activity_at)
select 'default', gen_random_uuid(), 'loja', 'idle' || n, now(), now() from generate_series(1, $1::integer) n
"""


def memory(machine: Machine, size: Size) -> list[Figure]:
    """What conversations cost `serve` when nothing happens in them."""
    url = machine.start_serve(debounce_seconds=0.3)
    post(url, [webhook(contact(number)) for number in range(size.lag_contacts)], per_second=100)
    machine.wait_until_quiet()
    before = machine.memory_megabytes()
    machine.fetch(_IDLE, size.idle_conversations)
    # Several looks of the sweep and one reconciliation pass over the rows.
    threading.Event().wait(3.0 if size is not TINY else 0.1)
    post(url, [webhook(contact(number)) for number in range(size.lag_contacts)], per_second=100)
    machine.wait_until_quiet()
    after = machine.memory_megabytes()
    machine.clear()
    more = after - before
    return [
        Figure(name="memory of serve, idle", value=f"{before:.0f} MB", target="≤ 150 MB", kept=before <= 150),
        Figure(
            name=f"more with {size.idle_conversations:,} idle conversations",
            value=f"{more:.1f} MB",
            target="≤ 5 MB",
            kept=more <= 5,
        ),
    ]


def _none(name: str, count: int) -> Figure:
    return Figure(name=name, value=str(count), target="0", kept=count == 0)


def _per_second(timings: Timings) -> float:
    return len(timings.seconds) / timings.took_seconds


def _thirds(requests: Sequence[bytes]) -> list[Sequence[bytes]]:
    """The first third warms the server up and counts only if it was the fastest."""
    size = max(1, len(requests) // 3)
    return [requests[start : start + size] for start in range(0, size * 3, size)]


MEASUREMENTS = {
    "idle-lag": idle_lag,
    "busy-lag": busy_lag,
    "armed-lag": armed_lag,
    "webhooks": webhooks,
    "path": whole_path,
    "takeover": takeovers,
    "memory": memory,
}
