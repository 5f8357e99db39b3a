"""The invariants I2–I7 and I1 as questions to the rows: what they answer is what went wrong, in sentences.

Used at the end of every story, and by suites that crash, cut and interleave. Rows say what the product believes;
the channel's own record, where a test has one, says what the customer saw. Sentences name ids, never texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncpg

    Connection = asyncpg.Connection[asyncpg.Record]

STALE_REASONS: Final = ("authority_revoked", "newer_message", "lease_lost", "drain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One message as the channel's own record has it: the key it was sent with and the attempt's correlation id."""

    key: str
    correlation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Every row of ``sql`` is a violation; its column ``what`` completes the sentence."""

    name: str
    sql: str


_RULES: Final = (
    _Rule(
        name="I1: an AI send began while a human held the conversation",
        sql="""
            with stretch as (
                select j.account_id, j.conversation_id, j.state, j.at, j.id,
                    lead(j.at) over (partition by j.account_id, j.conversation_id order by j.id) as until
                from journal j where j.kind = 'authority'
            )
            select o.id || ' attempt ' || a.attempt as what
            from stretch s
            join outbound_message o on o.account_id = s.account_id and o.conversation_id = s.conversation_id
            join attempt a on a.account_id = o.account_id and a.outbound_id = o.id
            where s.state = 'HUMAN_ACTIVE' and o.author in ('ai', 'system') and a.started_at > s.at
                and (s.until is null or a.started_at < s.until)""",
    ),
    _Rule(
        name="I1: an AI message still waits to be sent while a human holds the conversation",
        sql="""
            select o.id::text as what
            from conversation c
            join outbound_message o on o.account_id = c.account_id and o.conversation_id = c.id
            where c.authority_state = 'HUMAN_ACTIVE' and o.author in ('ai', 'system') and o.state = 'due'""",
    ),
    _Rule(
        name="I1: a waiting message was sealed under another authority",
        sql="""
            select o.id || ' has version ' || o.authority_version || ' under ' || c.authority_version as what
            from conversation c
            join outbound_message o on o.account_id = c.account_id and o.conversation_id = c.id
            where o.state = 'due' and o.authority_version <> c.authority_version and not o.no_retry""",
    ),
    _Rule(
        name="I2: open messages that nothing will ever look at",
        sql="""
            select c.id::text as what
            from conversation c
            where c.authority_state = 'AI_ACTIVE' and c.turn_due_at is null and c.triage_due_at is null
                and exists (select from inbound_message m
                    where m.account_id = c.account_id and m.conversation_id = c.id and m.state = 'open')
                and not exists (select from turn t
                    where t.account_id = c.account_id and t.conversation_id = c.id and t.state = 'running')""",
    ),
    _Rule(
        name="I2: a message is claimed by a turn that does not run",
        sql="""
            select m.id || ' by ' || m.turn_id as what
            from inbound_message m
            where m.state = 'claimed' and not exists (
                select from turn t
                where t.account_id = m.account_id and t.id = m.turn_id and t.state = 'running'
                    and m.id = any(t.message_ids))""",
    ),
    _Rule(
        name="I2: the earliest open message is not the one the timer counts from",
        sql="""
            select c.id || ' counts from ' || coalesce(c.open_since::text, 'nothing') as what
            from conversation c
            cross join lateral (
                select min(m.received_at) as first_at
                from inbound_message m
                where m.account_id = c.account_id and m.conversation_id = c.id and m.state = 'open') opened
            where c.open_since is distinct from opened.first_at""",
    ),
    _Rule(
        name="I2: a message counts as answered by a turn that said nothing and was not silent on purpose",
        sql="""
            select m.id || ' by ' || t.id || ' (' || t.state || ')' as what
            from inbound_message m
            join turn t on t.account_id = m.account_id and t.id = m.turn_id
            where m.state = 'answered' and t.state <> 'silent' and not exists (
                select from outbound_message o
                where o.account_id = t.account_id and o.turn_id = t.id
                    and o.state not in ('cancelled', 'superseded')
                    and (o.state <> 'revoked' or o.attempt_count > 0))""",
    ),
    _Rule(
        name="I2: a waiting message that no dispatcher will look at",
        sql="""
            select o.id::text as what
            from conversation c
            join outbound_message o on o.account_id = c.account_id and o.conversation_id = c.id and o.state = 'due'
            where c.outbox_due_at is null
                and not (o.author = 'operator' and c.authority_state = 'HANDOFF_PENDING')
                and not exists (select from outbound_message before
                    where before.account_id = o.account_id and before.conversation_id = o.conversation_id
                        and (before.state = 'sending'
                            or (before.state = 'uncertain' and before.author = o.author and before.seq < o.seq)
                            or (before.state = 'due' and before.seq < o.seq)))""",
    ),
    _Rule(
        name="I3: a message was accepted twice without the channel having failed it in between",
        sql="""
            select o.id || ' ' || accepted.count || ' times' as what
            from outbound_message o
            cross join lateral (
                select count(*) from attempt a
                where a.account_id = o.account_id and a.outbound_id = o.id and a.outcome = 'accepted') accepted
            cross join lateral (
                select count(*) from journal j
                where j.account_id = o.account_id and j.subject_id = o.id and j.kind = 'outbound'
                    and j.state in ('due', 'parked')) again
            where accepted.count > 1 + again.count""",
    ),
    _Rule(
        name="I3: the attempts of a message and their count differ",
        sql="""
            select o.id || ' counts ' || o.attempt_count || ', has ' || tried.count as what
            from outbound_message o
            cross join lateral (
                select count(*) from attempt a where a.account_id = o.account_id and a.outbound_id = o.id) tried
            where tried.count <> o.attempt_count and o.author <> 'device'""",
    ),
    _Rule(
        name="I4: the running turn of a conversation is not the one its row names",
        sql="""
            select c.id::text as what
            from conversation c
            left join turn t on t.account_id = c.account_id and t.conversation_id = c.id and t.state = 'running'
            where c.running_turn_id is distinct from t.id""",
    ),
    _Rule(
        name="I4: a turn ended before it began",
        sql="select t.id::text as what from turn t where t.ended_at < t.started_at",
    ),
    _Rule(
        name="I5: a later message of the same author was taken by the channel before an earlier one",
        sql="""
            with taken as (
                select o.account_id, o.conversation_id, o.id, o.author, o.seq, max(a.started_at) as at
                from outbound_message o
                join attempt a on a.account_id = o.account_id and a.outbound_id = o.id and a.outcome = 'accepted'
                group by o.account_id, o.conversation_id, o.id, o.author, o.seq
            )
            select later.id || ' overtook ' || earlier.id as what
            from taken earlier
            join taken later on later.account_id = earlier.account_id
                and later.conversation_id = earlier.conversation_id and later.author = earlier.author
                and later.seq > earlier.seq and later.at < earlier.at""",
    ),
    _Rule(
        name="I6: a reply waits for triage that nobody will be asked for",
        sql="""
            select c.id::text as what
            from conversation c
            where c.authority_state = 'AI_ACTIVE' and c.triage_due_at is null and exists (
                select from outbound_message o
                where o.account_id = c.account_id and o.conversation_id = c.id and o.author = 'ai' and o.state = 'due'
                    and c.arrival_count > greatest(c.arrivals_decided, o.arrivals_seen))""",
    ),
    _Rule(
        name="I7: stale work counts as a failure",
        sql=f"""
            select t.id || ' failed: ' || t.reason as what
            from turn t where t.state = 'failed' and t.reason in {STALE_REASONS!r}""",  # noqa: S608 - Ours.
    ),
    _Rule(
        name="I7: a turn has two ends in the journal",
        sql="""
            select j.subject_id::text as what
            from journal j
            where j.kind = 'turn' and j.state in ('sealed', 'discarded', 'obsolete', 'handoff', 'silent', 'parked',
                'abandoned', 'failed')
            group by j.account_id, j.subject_id having count(*) > 1""",
    ),
)


async def find_violations(connection: Connection, *, seen: Iterable[Seen] | None = None) -> list[str]:
    """What the rows (and the channel's record, where given) contradict; empty when every invariant holds."""
    found = [f"{rule.name}: {row['what']}" for rule in _RULES for row in await connection.fetch(rule.sql)]
    return found if seen is None else found + await _compare_with_channel(connection, list(seen))


async def _compare_with_channel(connection: Connection, seen: list[Seen]) -> list[str]:
    """The channel's record is the only truth about what the customer got."""
    rows = await connection.fetch(
        """
        select o.id, o.key, o.state, o.reason, a.attempt, a.outcome
        from outbound_message o
        join attempt a on a.account_id = o.account_id and a.outbound_id = o.id"""
    )
    known = {f"{row['id']}.{row['attempt']}": row for row in rows}
    found: list[str] = []
    for message in seen:
        row = known.get(message.correlation_id)
        if row is None:
            found.append(f"I3: the customer got {message.correlation_id}, of which no attempt is durable")
        elif row["key"] != message.key:
            found.append(f"I3: {message.correlation_id} was sent with another key than it was sealed with")
    doubts = Counter(row["key"] for row in rows if row["outcome"] != "accepted")
    for key, count in Counter(message.key for message in seen).items():
        if count > 1 + doubts[key] and not _was_failed(rows, key):
            found.append(f"I3: the customer got {key} {count} times")
    return found


def _was_failed(rows: list[asyncpg.Record], key: str) -> bool:
    """Accepted more than once, because the channel said later that it had failed the first one."""
    return sum(row["key"] == key and row["outcome"] == "accepted" for row in rows) > 1
