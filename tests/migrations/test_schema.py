"""What must hold for every table and every statement, also for those that are added later."""

from __future__ import annotations

import json
import re

import asyncpg
import pytest

from onevoice.store.migrate import ROLES, migrate
from onevoice.store.statements import Statement, all_statements

_POLICIES = {
    "onevoice_flow": ("true", "true"),
    "onevoice_api": ("(account_id = current_setting('onevoice.account_id'::text))",) * 2,
}


async def read(dsn: str, sql: str, *args: object) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row.values()) for row in await connection.fetch(sql, *args)]
    finally:
        await connection.close()


async def unprotected(dsn: str) -> list[str]:
    """Tables with an account_id whose rows are not guarded as they must be."""
    rows = await read(
        dsn,
        """
        select c.relname::text, c.relrowsecurity and c.relforcerowsecurity,
               (select jsonb_agg(jsonb_build_array(
                    polroles::regrole[]::text, pg_get_expr(polqual, polrelid),
                    pg_get_expr(polwithcheck, polrelid), polcmd = '*' and polpermissive) order by polroles)::text
                from pg_policy where polrelid = c.oid)
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped
        where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
        """,
    )
    assert len(rows) > 5
    expected = sorted([f"{{{role}}}", *rules, True] for role, rules in _POLICIES.items())
    return [
        str(name)
        for name, forced, policies in rows
        if not forced or policies is None or sorted(json.loads(str(policies))) != expected
    ]


async def test_every_table_with_accounts_is_protected(anywhere: str) -> None:
    """Row-level security is on and forced, with the policy of each role and no other."""
    await migrate(anywhere)
    assert await unprotected(anywhere) == []


@pytest.mark.parametrize(
    "fault",
    [
        "create table forgotten (account_id text)",
        "alter table journal no force row level security",
        "drop policy journal_api on journal",
        "alter policy journal_api on journal using (true)",
        "create policy wide on journal using (true)",
    ],
)
async def test_the_check_finds_what_is_missing(fault: str, own_database_dsn: str) -> None:
    """Each way to forget the protection is seen."""
    connection = await asyncpg.connect(own_database_dsn)
    await connection.execute(fault)
    await connection.close()
    assert len(await unprotected(own_database_dsn)) == 1


async def test_the_roles_have_no_power(anywhere: str) -> None:
    """Neither role owns anything, logs in, bypasses policies, creates roles or databases, or is in another role."""
    await migrate(anywhere)
    rows = await read(
        anywhere,
        """
        select rolname::text, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or rolcanlogin,
               (select count(*) from pg_shdepend where refobjid = r.oid and deptype = 'o'),
               (select count(*) from pg_auth_members where member = r.oid),
               has_schema_privilege(rolname, 'public', 'create'),
               has_table_privilege(rolname, 'migration', 'insert, update, delete, truncate')
        from pg_roles r where rolname = any ($1::text[]) order by rolname
        """,
        list(ROLES),
    )
    assert rows == [(role, False, 0, 0, False, False) for role in sorted(ROLES)]


async def test_the_account_leads_every_key(anywhere: str) -> None:
    """Keys between tenants' tables begin with the account, so that no key crosses tenants."""
    await migrate(anywhere)
    rows = await read(
        anywhere,
        """
        select conname::text from pg_constraint c
        where contype in ('p', 'f') and connamespace = 'public'::regnamespace
          and exists (select from pg_attribute where attrelid = conrelid and attname = 'account_id')
          and (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) <> 'account_id'
          and conname <> all ($1::text[])
        """,
        # Digests of secrets, by which the account is found in the first place.
        ["operator_session_pkey", "operator_token_pkey"],
    )
    assert rows == []


async def test_every_constraint_has_a_name_of_its_table(anywhere: str) -> None:
    """Errors are told by the constraint's name, so each starts with its table's; times are timestamptz."""
    await migrate(anywhere)
    unnamed = """
        select conname::text from pg_constraint where connamespace = 'public'::regnamespace
        and contype in ('c', 'u', 'p', 'f', 'x') and not starts_with(conname, conrelid::regclass::text)
    """
    assert await read(anywhere, unnamed) == []
    naive = """
        select attrelid::regclass::text, attname::text from pg_attribute
        where atttypid in ('timestamp'::regtype, 'time'::regtype)
          and attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
    """
    assert await read(anywhere, naive) == []


async def test_every_statement_fits_the_schema(anywhere: str) -> None:
    """Each named statement can be prepared and planned with null parameters, under the role that runs it."""
    await migrate(anywhere)
    statements = all_statements()
    assert len(statements) > 10
    connection = await asyncpg.connect(anywhere)
    faults: list[str] = []
    try:
        await connection.execute("set plan_cache_mode = force_generic_plan; set role onevoice_flow")
        for statement in statements:
            try:
                await _plan(connection, statement)
            except asyncpg.PostgresError as error:
                faults.append(f"{statement.source} {statement.name}: {error.message}")
                await connection.execute("rollback")
    finally:
        await connection.close()
    assert faults == []


async def _plan(connection: asyncpg.Connection[asyncpg.Record], statement: Statement) -> None:
    sql = statement.sql.rstrip().rstrip(";")
    parameters = {int(number) for number in re.findall(r"\$(\d+)", re.sub(r"--.*", "", sql))}
    assert parameters == set(range(1, len(parameters) + 1)), f"{statement.name} skips a parameter"
    nulls = f"({', '.join(['null'] * len(parameters))})" if parameters else ""
    await connection.execute("begin")
    await connection.execute(f"prepare planned as {sql}")
    await connection.execute(f"explain execute planned{nulls}")
    await connection.execute("rollback")
    await connection.execute("deallocate planned")


async def test_a_statement_with_a_wrong_column_is_found(own_database_dsn: str) -> None:
    """The check above is no formality."""
    connection = await asyncpg.connect(own_database_dsn)
    wrong = Statement(
        name="wrong", sql="select no_such_column from channel where name = $1::text", source="test"
    )
    try:
        with pytest.raises(asyncpg.UndefinedColumnError):
            await _plan(connection, wrong)
    finally:
        await connection.close()
