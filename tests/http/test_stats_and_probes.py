"""GET /stats, /metrics, /healthz and /readyz."""

from __future__ import annotations

from dataclasses import replace

import asyncpg
import pytest
from httpx2 import AsyncClient

from onevoice.entrypoints.http.api import ApiServices, create_api
from onevoice.store.database import Database
from onevoice.store.migrate import load_migrations
from onevoice.telemetry import Telemetry
from tests.builders import Rows, new_id
from tests.http.conftest import Switch, caller


async def test_stats_are_the_metrics_as_json(client: AsyncClient, telemetry: Telemetry) -> None:
    """Every metric is there by its name without prefix, with the figures of this process."""
    telemetry.ai_resumed.inc(3)
    telemetry.stale_blocked.labels(at="send").inc()

    stats = (await client.get("/api/v1/stats")).json()

    assert set(stats) == set(telemetry.as_json())
    assert stats["ai_resumed_total"] == 3
    assert stats["late_ai_send_total"] == 0
    assert {"labels": {"at": "send"}, "value": 1} in stats["stale_blocked_total"]
    assert stats["webhook_seconds"] == {"count": 0, "sum": 0}


async def test_stats_name_no_channel_of_another_account(
    client: AsyncClient, other_client: AsyncClient, own: Rows, other: Rows, telemetry: Telemetry
) -> None:
    """A series that names a channel is shown to the account whose channel it is."""
    mine, theirs = await own.channel(f"a {new_id()}"), await other.channel(f"b {new_id()}")
    for channel in (mine, theirs):
        telemetry.inbound.labels(channel=channel, outcome="accepted").inc()

    for asking, name in ((client, mine), (other_client, theirs)):
        stats = (await asking.get("/api/v1/stats")).json()
        assert [series["labels"]["channel"] for series in stats["inbound_total"]] == [name]


async def test_metrics_are_prometheus_text(stranger: AsyncClient, telemetry: Telemetry) -> None:
    """/metrics needs no token and is what the telemetry renders."""
    telemetry.ai_resumed.inc()

    answer = await stranger.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert answer.content == telemetry.render()
    assert "onevoice_ai_resumed_total 1.0" in answer.text


async def test_a_ready_process_says_so(stranger: AsyncClient) -> None:
    """Up and ready, without a token."""
    assert (await stranger.get("/healthz")).json() == {"status": "ok"}
    answer = await stranger.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "reason": None})


async def test_a_stopping_process_is_not_ready(stranger: AsyncClient, accepting: Switch) -> None:
    """From the start of a shutdown on, nobody is sent here any more; the process is still up."""
    accepting.on = False

    answer = await stranger.get("/readyz")

    assert (answer.status_code, answer.json()) == (503, {"status": "not_ready", "reason": "stopping"})
    assert (await stranger.get("/healthz")).status_code == 200


async def test_a_process_without_its_database_is_not_ready(
    stranger: AsyncClient, api_database: Database
) -> None:
    """An unreachable database makes the process not ready; it is still up."""
    await api_database.close()

    answer = await stranger.get("/readyz")

    assert (answer.status_code, answer.json()["reason"]) == (503, "database_unavailable")
    assert (await stranger.get("/healthz")).status_code == 200


class TestSchema:
    """Readiness compares the schema's migrations with the release's."""

    @pytest.mark.parametrize(
        ("names", "reason"),
        [
            (None, "schema_missing"),
            ([], "schema_behind"),
            (["{newest}"], None),
            (["{newest}", "9998_expand_something"], None),
            (["{newest}", "9998_expand_something", "9999_contract_it"], "schema_too_new"),
            (["9998_expand_something"], "schema_behind"),
        ],
    )
    async def test_readiness_follows_the_migrations(
        self, services: ApiServices, empty_database_dsn: str, names: list[str] | None, reason: str | None
    ) -> None:
        """Missing, older and incompatible newer schemas are told apart; newer expansions are fine."""
        newest = load_migrations()[-1]
        owner = await asyncpg.connect(empty_database_dsn)
        if names is not None:
            await owner.execute("create table migration (number integer primary key, name text not null)")
            await owner.execute("grant select on migration to onevoice_api")
            for name in names:
                number = newest.number if name == "{newest}" else int(name[:4])
                text = name.replace("{newest}", newest.name)
                await owner.execute("insert into migration values ($1, $2)", number, text)
        await owner.close()
        database = await Database.open(empty_database_dsn, role="onevoice_api")

        async with caller(create_api(replace(services, database=database)), None) as client:
            answer = await client.get("/readyz")
        await database.close()

        assert answer.json()["reason"] == reason
        assert answer.status_code == (200 if reason is None else 503)
