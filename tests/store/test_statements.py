"""A queries file gives its statements by name, and a fault in it is told with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onevoice.store.statements import Statement, all_statements, load_statements, parse_statements

_TWO = """\
-- A comment about the file.

-- name: read_channel :maybe
-- Row: name. Why it exists.
select name
from channel where account_id = $1::text;

-- name: count_channels
select count(*) from channel
"""


def test_each_block_is_a_statement_as_it_was_written() -> None:
    """The SQL keeps its name line and its why-lines."""
    statements = parse_statements(_TWO, source="flow/queries.sql")
    assert [statement.name for statement in statements] == ["read_channel", "count_channels"]
    assert len(statements) == 2
    assert statements["count_channels"] == Statement(
        name="count_channels",
        sql="-- name: count_channels\nselect count(*) from channel",
        source="flow/queries.sql",
    )
    assert statements["read_channel"].sql.endswith("from channel where account_id = $1::text;")


def test_an_unknown_name_is_told_with_its_file() -> None:
    """Asking for a statement that is not there names the file and the statement."""
    with pytest.raises(KeyError, match=r"flow/queries\.sql has no statement named nothing"):
        parse_statements(_TWO, source="flow/queries.sql")["nothing"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("select 1", "q:1: SQL before the first"),
        ("-- name: a\nselect 1\n-- name: a\nselect 2", "q:3: a second statement is named a"),
        ("-- name: A-b\nselect 1", "q:1: a name line is"),
        ("-- name: a\n-- only why\n-- name: b\nselect 1", "statement a has no SQL"),
        ("-- name: a\n", "statement a has no SQL"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, fault: str) -> None:
    """A file that cannot be read as statements is refused."""
    with pytest.raises(ValueError, match=re.escape(fault)):
        parse_statements(text, source="q")


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    """A path loads exactly that file."""
    (tmp_path / "queries.sql").write_text("-- name: one\nselect 'ü'", encoding="utf-8")
    assert load_statements(tmp_path / "queries.sql")["one"].sql.endswith("'ü'")


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_package_is_a_fault(nothing: str | None) -> None:
    """`__package__` of a script is None; that must not read some other file."""
    with pytest.raises(ValueError, match="package name or a path"):
        load_statements(nothing)


def test_a_package_and_the_walk_find_the_same_statements() -> None:
    """What a step loads is what `all_statements` finds of it, with the same source."""
    found = all_statements()
    sources = {statement.source for statement in found}
    assert len(sources) > 1
    for source in sources:
        package = source.removesuffix("/queries.sql").replace("/", ".")
        loaded = list(load_statements(package))
        assert loaded == [statement for statement in found if statement.source == source]
