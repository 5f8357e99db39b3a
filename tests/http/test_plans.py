"""Every list of the API walks an index, however many conversations there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import asyncpg
import pytest

from onevoice.entrypoints.http.api.cursors import ConversationsCursor, OutboundCursor, TimelineCursor
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.store.database import Database
from onevoice.testing.manual_clock import START
from tests.builders import new_id

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

CONVERSATIONS = 20_000
ROWS_READ_MAX = 2_000
FIRST = UUID(int=1)
_PAGE = ConversationsCursor()
_WALK = TimelineCursor()

CASES: dict[str, tuple[str, tuple[object, ...]]] = {
    "recent": ("page_of_conversations", (_PAGE.at, _PAGE.id, None, None, 51)),
    "recent, deep": ("page_of_conversations", (START, _PAGE.id, None, None, 51)),
    "with the AI": ("page_of_conversations", (_PAGE.at, _PAGE.id, "AI_ACTIVE", None, 51)),
    "in a state": ("page_of_conversations_in_state", (_PAGE.at, _PAGE.id, "HUMAN_ACTIVE", None, None, 51)),
    "of an owner": ("page_of_conversations_of_owner", (_PAGE.at, _PAGE.id, new_id(), None, 51)),
    "of a contact": (
        "page_of_conversations_of_contact",
        (_PAGE.at, _PAGE.id, ["tel:77", "none"], None, None, None, 51),
    ),
    "details": ("read_conversations", ([FIRST],)),
    "timeline": (
        "read_timeline",
        (
            FIRST,
            _WALK.inbound,
            _WALK.outbound,
            _WALK.turn_at,
            _WALK.turn_id,
            _WALK.journal,
            _WALK.effect_at,
            _WALK.effect_id,
            None,
            101,
        ),
    ),
    "outbound": ("page_of_outbound", ("parked", OutboundCursor().seq, 51)),
    "exists": ("conversation_exists", (FIRST,)),
}

_FILL = """
insert into conversation (account_id, id, channel, contact_address, authority_since, last_activity_at,
                          authority_state)
select 'plans', lpad(to_hex(n), 32, '0')::uuid, 'loja', n::text, $1::timestamptz,
       $1::timestamptz + (n - 5000) * interval '1 second',
       case when n % 100 = 0 then 'HUMAN_ACTIVE' else 'AI_ACTIVE' end
from generate_series(1, $2::int) n;
insert into contact_alias (account_id, channel, alias, conversation_id)
select account_id, channel, 'tel:' || contact_address, id from conversation where account_id = 'plans';
insert into inbound_message (account_id, id, conversation_id, channel, external_id, type, state, state_reason,
                             received_at, raw)
select account_id, id, id, channel, 'wamid.' || id, 'text', 'answered', 'done', last_activity_at, ''
from conversation where account_id = 'plans';
insert into inbound_message (account_id, id, conversation_id, channel, external_id, type, state, state_reason,
                             received_at, raw)
select 'plans', lpad(to_hex(n + 100000), 32, '0')::uuid, lpad('1', 32, '0')::uuid, 'loja', 'long.' || n, 'audio',
       'answered', 'done', $1::timestamptz + n * interval '1 second', ''
from generate_series(1, $2::int / 20) n;
insert into media (account_id, id, channel, inbound_id, kind, state, mime_type, size_bytes, created_at)
select account_id, id, channel, id, 'audio', 'stored', 'audio/ogg', 1, received_at
from inbound_message where account_id = 'plans';
insert into outbound_message (account_id, id, conversation_id, channel, author, key, text, state, reason,
                              authority_version, sealed_at, due_at)
select account_id, id, id, channel, 'system', 'k', '',
       case when contact_address::int % 50 = 0 then 'parked' else 'sent' end, 'because', 1, last_activity_at,
       last_activity_at
from conversation where account_id = 'plans';
insert into journal (account_id, at, kind, conversation_id)
select account_id, last_activity_at, kind, id
from conversation, unnest(array['inbound', 'turn', 'outbound', 'authority']) kind where account_id = 'plans';
"""


@pytest.fixture
async def filled(database: Database, owner: Connection) -> Connection:
    for statement in _FILL.split(";\n"):
        if statement.strip():
            arguments = [START, CONVERSATIONS] if "$2" in statement else []
            await owner.execute(statement, *arguments)
    await owner.execute("analyze")
    # As the API sees it: the row-level policies are part of every plan.
    await owner.execute("set role onevoice_api")
    await owner.execute("set onevoice.account_id = 'plans'")
    return owner


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


async def test_no_list_reads_more_than_its_page(filled: Connection) -> None:
    """With generic plans too, no statement scans a table or reads rows in proportion to the account."""
    await filled.execute("set plan_cache_mode = force_generic_plan")
    slow: list[str] = []
    for case in CASES:
        for node in nodes(await _plan_of(filled, case)):
            read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            if read > ROWS_READ_MAX:
                slow.append(
                    f"{case}: {node['Node Type']} of {node.get('Relation Name')} reads {read:.0f} rows"
                )

    assert slow == []


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
async def test_the_files_of_a_page_are_found_one_by_one(filled: Connection, mode: str) -> None:
    """In a conversation of a thousand messages with a file each, a page looks up its own by their key alone."""
    await filled.execute(f"set plan_cache_mode = {mode}")

    scans = [
        (node.get("Index Name"), node["Actual Loops"])
        for node in nodes(await _plan_of(filled, "timeline"))
        if node.get("Relation Name") == "media"
    ]

    assert ("media_inbound_once", 101) in scans
    assert all(loops <= 101 for _, loops in scans)


async def _plan_of(filled: Connection, case: str) -> dict[str, Any]:
    """How the statement of a case ran."""
    name, arguments = CASES[case]
    await filled.execute(f"prepare it as {SQL[name].sql}")
    values = ", ".join(_literal(value) for value in ("plans", *arguments))
    [row] = await filled.fetch(f"explain (analyze, format json) execute it ({values})")
    await filled.execute("deallocate it")
    return json.loads(row[0])[0]["Plan"]


def _literal(value: object) -> str:
    """A value of the cases above as SQL; none of them holds a quote."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "'{" + ",".join(str(each) for each in value) + "}'"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return f"'{value}'"
