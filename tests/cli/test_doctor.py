"""What the doctor finds, and what it says to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from onevoice.entrypoints.doctor import Finding, Level, as_json, as_table, examine
from onevoice.entrypoints.doctor.database import (
    check_clock,
    check_database,
    check_migrations,
    check_roles,
    check_tables,
)
from onevoice.entrypoints.doctor.machine import check_data_dir, check_disk, check_public_url
from onevoice.settings import Settings
from onevoice.store.migrate import load_migrations
from tests.cli.command import PLANTED
from tests.cli.patient import settings, whatsapp
from tests.postgres import TestServer

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class _Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(
    ("mode", "level"),
    [
        (0o700, "ok"),
        (0o710, "ok"),
        (0o750, "warning"),
        (0o701, "warning"),
        (0o704, "warning"),
        (0o777, "warning"),
    ],
)
def test_a_data_dir_open_to_others_is_a_warning(tmp_path: Path, mode: int, level: str) -> None:
    """It holds every conversation."""
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)

    found = check_data_dir(settings(database={"data_dir": folder}))

    assert found.level == level
    assert (f"chmod 700 {folder}" in found.act) is (level == "warning")


def test_a_data_dir_that_cannot_be_is_a_fault(tmp_path: Path) -> None:
    """A file in its place, or in the place of its parent."""
    file = tmp_path / "file"
    file.write_text("")

    in_place = check_data_dir(settings(database={"data_dir": file}))
    below = check_data_dir(settings(database={"data_dir": file / "data"}))
    absent = check_data_dir(settings(database={"data_dir": tmp_path / "a" / "b"}))

    assert (in_place.level, below.level, absent.level) == ("fault", "fault", "ok")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("free", "level"), [(100 * 1024**2, "fault"), (500 * 1024**2, "warning"), (2 * 1024**3, "ok")]
)
def test_a_full_disk_is_told_before_it_is_full(
    monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    """Little room warns, no room is a fault."""

    def disk_usage(path: Path) -> _Usage:
        return _Usage(free=free)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)

    assert check_disk(Settings()).level == level


@pytest.mark.parametrize(
    ("url", "has_whatsapp", "level"),
    [
        ("", False, "ok"),
        ("", True, "warning"),
        ("https://chat.example.com", True, "ok"),
        ("http://127.0.0.1:8080", True, "ok"),
        ("http://[::1]:8080", True, "ok"),
        ("http://localhost:8080", True, "ok"),
        ("http://chat.example.com", True, "fault"),
        ("http://10.0.0.1", False, "fault"),
    ],
)
def test_the_public_address_must_be_encrypted(url: str, has_whatsapp: bool, level: str) -> None:
    """Platforms call https only; loopback is for trying out."""
    channels = (whatsapp("https://graph.example"),) if has_whatsapp else ()

    found = check_public_url(Settings(channels=channels, server=settings(server={"public_url": url}).server))

    assert found.level == level


def test_migrations_are_compared_with_those_of_this_release() -> None:
    """Missing and changed ones are faults, newer ones a warning."""
    applied = {migration.number: migration.checksum for migration in load_migrations()}
    last = max(applied)

    assert check_migrations(applied).level is Level.OK
    assert check_migrations(applied | {last + 1: "newer"}).level is Level.WARNING
    assert check_migrations({**applied, last: "other"}).level is Level.FAULT
    missing = check_migrations({})
    assert missing.level is Level.FAULT
    assert missing.act == "run: onevoice migrate"


@pytest.mark.parametrize(
    ("roles", "level"),
    [
        ([("onevoice_flow", False, False), ("onevoice_api", False, False)], "ok"),
        ([("onevoice_flow", False, False)], "fault"),
        ([("onevoice_flow", True, False), ("onevoice_api", False, False)], "fault"),
        ([("onevoice_flow", False, False), ("onevoice_api", False, True)], "fault"),
    ],
)
def test_roles_must_be_there_and_weak(roles: Sequence[tuple[str, bool, bool]], level: str) -> None:
    """A superuser or owner would pass by row-level security."""
    rows = [{"name": name, "is_strong": strong, "owns_tables": owns} for name, strong, owns in roles]

    assert check_roles(rows).level == level


def test_an_unprotected_table_is_a_fault() -> None:
    """It is named."""
    assert check_tables([]).level is Level.OK
    found = check_tables(["message"])
    assert found.level is Level.FAULT
    assert found.what.startswith("message ")


@pytest.mark.parametrize(
    ("seconds", "level"), [(0.0, "ok"), (2.9, "ok"), (-2.0, "ok"), (3.1, "warning"), (-2.1, "warning")]
)
def test_clocks_that_differ_are_a_warning(seconds: float, level: str) -> None:
    """The time the question took is not counted as a difference."""
    found = check_clock(NOON + timedelta(seconds=seconds), before=NOON, after=NOON + timedelta(seconds=1))

    assert found.level == level


async def test_a_database_is_looked_at(server: TestServer, process_name: str) -> None:
    """Without a schema it says so; with it all is well; a table that lost its fence is found."""
    name = f"onevoice_doctor_{process_name}"
    dsn = await server.create(name)
    try:
        bare = {finding.name: finding for finding in await check_database(dsn)}
        await server.create_migrated(name)
        good = await check_database(dsn)
        await TestServer(dsn=dsn).execute("alter table conversation no force row level security")
        bad = {finding.name: finding for finding in await check_database(dsn)}
    finally:
        await server.drop(name)

    assert bare["database"].level is Level.OK
    assert (bare["migrations"].level, bare["migrations"].act) == (Level.FAULT, "run: onevoice migrate")
    assert {finding.name: finding.level for finding in good} == dict.fromkeys(
        ["database", "clock", "migrations", "roles", "accounts"], Level.OK
    )
    assert bad["accounts"].level is Level.FAULT
    assert bad["accounts"].what.startswith("conversation ")


async def test_an_unreachable_database_does_not_hide_the_other_findings() -> None:
    """Its password and user are not shown."""
    url = f"postgresql://someone:{PLANTED}@127.0.0.1:1/shop"

    found = await examine(settings(database={"url": url}))

    (database,) = [finding for finding in found if finding.name == "database"]
    assert database.level is Level.FAULT
    assert "127.0.0.1:1/shop" in database.what
    assert {"configuration", "data_dir", "agent", "channels"} <= {finding.name for finding in found}
    assert PLANTED not in as_json(found)
    assert "someone" not in as_json(found)


def test_a_terminal_gets_a_table_and_nothing_in_it_is_markup() -> None:
    """Names and words from outside are shown as they are."""
    findings = [Finding(name="channel [red]x", level=Level.FAULT, what="[bold]what[/bold]", act="act")]
    console = Console(file=StringIO(), width=120)

    console.print(as_table(findings))

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "channel [red]x" in shown
    assert "[bold]what[/bold]" in shown
