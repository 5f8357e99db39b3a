# ruff: noqa: E501  # A table.
"""Faults put into the running code by the tests, one at a time: a proof that cannot see them proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pytest

from onevoice.flow.authority.decide import Conflict
from onevoice.store.statements import Statements

LEVEL_TRANSACTION = "transactions"
LEVEL_STATEMENT = "statements"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One check removed. ``cast`` is where it must be seen; ``ddl`` changes the scratch database's schema instead."""

    name: str
    invariant: str
    level: str
    cast: str
    apply: Callable[[pytest.MonkeyPatch], None] = lambda _: None
    ddl: tuple[str, str] | None = None
    settings: tuple[tuple[str, Any], ...] = ()


def sql(package: str, statement: str, old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace a piece of one named statement, wherever it has been loaded."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        statements: dict[str, Any] = {}
        for module in _loaded(package):
            loaded: Statements = module.SQL
            original = loaded[statement]
            if old not in original.sql:
                raise AssertionError(f"{statement} has no {old!r} any more: the mutant changes nothing")
            statements = {item.name: item for item in loaded}
            statements[statement] = replace(original, sql=original.sql.replace(old, new))
            monkeypatch.setattr(module, "SQL", Statements(statements, source=loaded.source))

    return apply


def together(*changes: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """Several checks stand behind one another: only without all of them is the fault to be seen."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        for change in changes:
            change(monkeypatch)

    return apply


def _loaded(package: str) -> Iterator[Any]:
    import sys  # Which modules are loaded is known only now.

    found = False
    for name, module in list(sys.modules.items()):
        loaded = getattr(module, "SQL", None)
        if isinstance(loaded, Statements) and name.startswith(f"onevoice.flow.{package}."):
            found = True
            yield module
    if not found:
        raise AssertionError(f"no module of onevoice.flow.{package} has statements")


def function(path: str, replacement: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace one function where it is used: ``module:name``."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        module, name = path.split(":")
        monkeypatch.setattr(import_module(module), name, replacement)

    return apply


def _judge_without_state(facts: Any) -> Any:
    from onevoice.flow.gate import decide
    from onevoice.vocabulary import TurnState

    known = replace(facts.conversation, authority_version=facts.turn.authority_version)
    return decide.judge(replace(facts, turn=replace(facts.turn, state=TurnState.RUNNING), conversation=known))


def _begin_without_version(lane: Any) -> Any:
    from onevoice.flow.outbox import decide

    version = lane.conversation.authority_version
    return decide.decide_begin(replace(lane, head=replace(lane.head, authority_version=version)))


def _begin_without_triage(lane: Any) -> Any:
    from onevoice.flow.outbox import decide

    seen = lane.conversation.arrival_count
    return decide.decide_begin(replace(lane, head=replace(lane.head, arrivals_seen=seen)))


def _take_without_waiting(authority: Any, request: Any) -> Any:
    from onevoice.flow.authority import decide

    return decide.decide_transition(authority, replace(request, in_flight=False))


def _take_whoever_holds(authority: Any, request: Any) -> Any:
    from onevoice.flow.authority import decide

    decision = decide.decide_transition(authority, request)
    if isinstance(decision, Conflict):
        return decide.decide_transition(replace(authority, owner=None), request)
    return decision


def _never_past(_clock: object, _deadline: float) -> bool:
    return False


def _never_void(_conversation: Any, *, arrivals_asked: int) -> None:
    return None


def _unbounded(
    decision: Any, replies: Any, *, decider: str, reason: str, now: Any, max_wait_seconds: float
) -> Any:
    from onevoice.flow.triage.decide import Conclusion

    return Conclusion(
        decision=decision, decider=decider, reason=reason, turns=tuple(reply.turn for reply in replies)
    )


def _unknown_is_retried(message: Any, outcome: Any, waits: Any, *, pair_slow_count: int) -> Any:
    from onevoice.flow.outbox import decide
    from onevoice.ports.channel import NotSent, OutcomeUnknown

    if isinstance(outcome, OutcomeUnknown):
        outcome = NotSent(reason="timeout")
    return decide.decide_finish(message, outcome, waits, pair_slow_count=pair_slow_count)


def _write_without_fence(facts: Any) -> Any:
    from onevoice.flow.effect.decide import Begin as BeginWrite

    return BeginWrite()


def _expired_at_once(_runtime: Any, _row: Any, _expected: Any) -> bool:
    return True


async def _nobody_confirms(*_: Any, **__: Any) -> None:
    return None


def _no_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("outbox.finish", "outbox.expire", "receipt.perform", "effect.perform"):
        monkeypatch.setattr(import_module(f"onevoice.flow.{module}"), "confirm_takeovers", _nobody_confirms)
    swept = import_module("onevoice.flow.sweep.perform")
    steps = tuple(step for step in swept.STEPS if step is not swept.confirm_waiting)
    monkeypatch.setattr(swept, "STEPS", steps)


def _eager_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing evidence resolves what is on the wire: the trap of the reference model."""
    sql("outbox", "find_expired_sends", "not_after + make_interval(secs => $2::float8) <",
        "not_after - make_interval(secs => $2::float8) - interval '1 hour' <")(monkeypatch)  # fmt: skip
    monkeypatch.setattr(import_module("onevoice.flow.outbox.expire"), "_has_expired", _expired_at_once)


_no_row_lock = sql("conversation", "lock_conversations", "for update of c", "")


MUTANTS: tuple[Mutant, ...] = (
    Mutant(name="no row lock", invariant="all", level=LEVEL_STATEMENT, cast="turn running: settle and take",
           apply=_no_row_lock),
    Mutant(name="two workers may look at the same conversation", invariant="I4", level=LEVEL_STATEMENT,
           cast="message due: claim and claim", apply=together(
               _no_row_lock,
               sql("turn", "lock_due_conversations", "for update of c skip locked", ""))),
    Mutant(name="authority is not compared at the gate", invariant="I1", level=LEVEL_TRANSACTION, cast="takeover",
           apply=function("onevoice.flow.gate.perform:judge", _judge_without_state)),
    Mutant(name="the version is not compared before the send", invariant="I1", level=LEVEL_TRANSACTION,
           cast="takeover", apply=together(
               sql("authority", "revoke_due", "state = 'due'", "state = 'due' and false"),
               sql("authority", "restamp_unsent", "state = 'due'", "state = 'due' and author = 'operator'"),
               function("onevoice.flow.outbox.begin:decide_begin", _begin_without_version))),
    Mutant(name="AI replies are stamped anew at the takeover", invariant="I1", level=LEVEL_TRANSACTION,
           cast="takeover", apply=sql("authority", "revoke_due", "state = 'due'", "state = 'due' and author <> 'ai'")),
    Mutant(name="a takeover does not wait for what is in flight", invariant="I1", level=LEVEL_TRANSACTION,
           cast="in flight",
           apply=function("onevoice.flow.authority.perform:decide_transition", _take_without_waiting)),
    Mutant(name="writes do not count as in flight", invariant="I1", level=LEVEL_TRANSACTION, cast="write tool",
           apply=sql("authority", "read_in_flight", "e.state = 'started'", "e.state = 'started' and false")),
    Mutant(name="a write asks nobody", invariant="I1", level=LEVEL_TRANSACTION, cast="write tool",
           apply=function("onevoice.flow.effect.perform:decide_write", _write_without_fence)),
    Mutant(name="missing evidence resolves a send", invariant="I1", level=LEVEL_TRANSACTION, cast="in flight",
           apply=_eager_sweep),
    Mutant(name="the sender does not look at its deadline", invariant="I1", level=LEVEL_TRANSACTION,
           cast="in flight", apply=function("tests.interleave.ports:is_past", _never_past)),
    Mutant(name="nobody confirms a takeover", invariant="liveness", level=LEVEL_TRANSACTION, cast="in flight",
           apply=_no_confirmation),
    Mutant(name="no retry is forbidden after a takeover", invariant="I1", level=LEVEL_TRANSACTION,
           cast="in flight", apply=sql("authority", "forbid_retry", "set no_retry = true", "set no_retry = no_retry")),
    Mutant(name="an unknown outcome is tried again", invariant="I3", level=LEVEL_TRANSACTION, cast="in flight",
           apply=function("onevoice.flow.outbox.finish:decide_finish", _unknown_is_retried)),
    Mutant(name="arrivals are ignored when a send begins", invariant="triage", level=LEVEL_TRANSACTION,
           cast="triage", apply=function("onevoice.flow.outbox.begin:decide_begin", _begin_without_triage)),
    Mutant(name="a decision stands although newer messages came", invariant="triage", level=LEVEL_TRANSACTION,
           cast="hold ladder", apply=function("onevoice.flow.triage.perform:find_void_reason", _never_void)),
    Mutant(name="triage drops what has begun", invariant="I3", level=LEVEL_TRANSACTION, cast="parts overtaken",
           apply=together(
               function("onevoice.flow.triage.perform:bound", _unbounded),
               function("onevoice.flow.triage.perform:decide_without_asking", lambda *_, **__: None))),
    Mutant(name="a turn ends more than once", invariant="I4", level=LEVEL_TRANSACTION, cast="lease",
           apply=together(
               sql("turn", "end_turns", "and t.state = 'running'", ""),
               function("onevoice.flow.gate.perform:judge", _judge_without_state))),
    Mutant(name="a lease is judged without the lock of its row", invariant="I4", level=LEVEL_STATEMENT,
           cast="turn lost: abandon and renew", apply=sql("turn", "lock_turn", "for update of t", "")),
    Mutant(name="a lost lease is not read again under the lock", invariant="I4", level=LEVEL_TRANSACTION,
           cast="turn lost: abandon and renew",
           apply=sql("turn", "lock_turn", "t.lease_until,", "t.started_at - interval '1 hour' as lease_until,")),
    Mutant(name="a claim takes messages by a mark, not one by one", invariant="I2", level=LEVEL_TRANSACTION,
           cast="burst enqueued", apply=sql("gate", "answer_messages", "m.turn_id = w.turn_id and m.state = 'claimed'",
                                   "m.conversation_id = t.conversation_id and m.state in ('claimed', 'open')")),
    Mutant(name="an inbound message is stored again", invariant="I3", level=LEVEL_TRANSACTION,
           cast="duplicate webhook",
           apply=sql("inbound", "receive_messages", "on conflict (account_id, channel, external_id) do nothing", ""),
           ddl=("alter table inbound_message drop constraint inbound_message_once",
                "alter table inbound_message add constraint inbound_message_once "
                "unique (account_id, channel, external_id)")),
    Mutant(name="the timer is cleared without a look at open messages", invariant="I2", level=LEVEL_TRANSACTION,
           cast="burst", apply=sql("conversation", "refresh_conversations", "and f.first_at is not null\n        then greatest(",
                                   "and f.first_at is not null and c.turn_due_at is not null\n        then greatest(")),
    Mutant(name="a discarded turn keeps its messages", invariant="I2", level=LEVEL_TRANSACTION, cast="burst",
           apply=sql("turn", "free_messages", "m.state = 'claimed'", "m.state = 'claimed' and false")),
    Mutant(name="a revoked reply leaves its messages answered", invariant="I2", level=LEVEL_TRANSACTION,
           cast="takeover", apply=sql("authority", "reopen_unbegun", "m.state = 'answered'", "m.state = 'answered' and false")),
    Mutant(name="messages overtake each other", invariant="I5", level=LEVEL_TRANSACTION, cast="parts",
           apply=sql("outbox", "read_heads", "order by head.seq\n", "order by head.seq desc\n")),
    Mutant(name="the key changes when a message is sealed again", invariant="I3", level=LEVEL_TRANSACTION,
           cast="window", apply=sql("outbox", "reseal_message", "set state = 'due'", "set key = o.key || ':again', state = 'due'")),
    Mutant(name="an attempt is not durable before the call", invariant="I3", level=LEVEL_TRANSACTION,
           cast="channel answers", apply=sql("outbox", "start_attempts", "set state = 'sending', reason = null",
                                             "set state = 'due', reason = null")),
    Mutant(name="the wait ends without the cap", invariant="I6", level=LEVEL_TRANSACTION, cast="long burst",
           apply=sql("inbound", "receive_messages", "least(c.open_since, excluded.open_since) + make_interval",
                     "excluded.last_inbound_at + interval '1 hour' + make_interval")),
    Mutant(name="a parked reply may be released over a human", invariant="I1", level=LEVEL_TRANSACTION,
           cast="reply parked: release message and take",
           apply=function("onevoice.flow.operator.perform:may_speak", lambda *_: True)),
    Mutant(name="anybody takes from anybody", invariant="I1", level=LEVEL_TRANSACTION, cast="two operators at once",
           apply=function("onevoice.flow.authority.perform:decide_transition", _take_whoever_holds)),
    Mutant(name="a turn does not wait for words", invariant="wait", level=LEVEL_TRANSACTION, cast="voice note",
           apply=sql("conversation", "refresh_conversations", "case when f.is_awaited then f.wait_until end",
                     "null::timestamptz")),
    Mutant(name="a newer audio's deadline replaces the oldest one's", invariant="I6", level=LEVEL_TRANSACTION,
           cast="two voice notes", apply=sql("inbound", "receive_messages",
               "media_wait_until = least(c.media_wait_until, excluded.media_wait_until)",
               "media_wait_until = coalesce(excluded.media_wait_until, c.media_wait_until)")),
    Mutant(name="words do not end the wait for them", invariant="wait", level=LEVEL_TRANSACTION, cast="heard late",
           apply=sql("transcription", "complete_message", "is_awaited = false", "is_awaited = is_awaited")),
    Mutant(name="words that come late are no news", invariant="I2", level=LEVEL_TRANSACTION, cast="heard late",
           apply=sql("gate", "answer_messages", "m.amended_arrival > t.arrivals_seen", "false")),
    Mutant(name="words come before the lock of their conversation", invariant="all", level=LEVEL_STATEMENT,
           cast="unheard running: words and settle", apply=_no_row_lock),
    Mutant(name="a stored operator key is not looked up", invariant="I3", level=LEVEL_TRANSACTION,
           cast="operator repeats", apply=sql("operator", "find_by_key", "where head.account_id", "where false and head.account_id")),
)  # fmt: skip


@contextmanager
def applied(mutant: Mutant) -> Generator[None]:
    monkeypatch = pytest.MonkeyPatch()
    try:
        mutant.apply(monkeypatch)
        yield
    finally:
        monkeypatch.undo()
