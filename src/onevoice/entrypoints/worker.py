"""The loops of one process: claim turns, send what is due, have overtaken replies triaged, sweep.

Each loop looks at the rows, works, and sleeps until a nudge, the next due instant or the poll. A loop that
fails says so and goes on: PostgreSQL away for a while is an interruption, not an end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from onevoice.entrypoints.media_jobs import POLL_SECONDS, RENEW_SECONDS, MediaJobs
from onevoice.entrypoints.work_signs import LOOK_SECONDS, WorkSigns
from onevoice.errors import DatabaseUnavailable, StatementInterrupted
from onevoice.flow.batch import Batcher
from onevoice.flow.gate.decide import CutShort, Verdict
from onevoice.flow.gate.perform import Settlement, prepare, settle
from onevoice.flow.notify.perform import deliver_notifications
from onevoice.flow.outbox.perform import (
    Begun,
    Finished,
    Upload,
    begin_sends,
    finish_sends,
    finish_upload,
    upload,
)
from onevoice.flow.proposal.perform import Answered, ask, load_contexts, suggest
from onevoice.flow.runtime import Runtime
from onevoice.flow.suggestion.perform import Draft, claim_drafts, keep_draft
from onevoice.flow.sweep.decide import choose_pause_seconds
from onevoice.flow.sweep.perform import reconcile, sweep
from onevoice.flow.triage.perform import Asked, claim_triage, conclude
from onevoice.flow.turn.decide import Turn
from onevoice.flow.turn.perform import abandon_drained, claim, renew
from onevoice.ports.channel import NotSent, Outcome, OutcomeUnknown
from onevoice.ports.wakeup import Work
from onevoice.vocabulary import OutboundState, Proposal, TurnContext, TurnId, WhileRunning

LOG = logging.getLogger("onevoice.worker")

TURNS_MAX = 500
SENDS_MAX = 256
TRIAGES_MAX = 64
BATCH_MAX = 100
RECONCILE_SECONDS = 30.0
NOTIFY_SECONDS = 0.5
SUGGEST_SECONDS = 0.5
UNAVAILABLE_SECONDS = 0.5
FAILED_SECONDS = 1.0
CUT_SECONDS_MAX = 2.0


@dataclass(slots=True)
class _Running:
    """A turn of this process; ``asking`` is its agent call while that runs."""

    turn: Turn
    asking: asyncio.Task[Answered] | None = None
    claimed_at: float = 0.0
    was_overtaken: bool = False


class Worker:
    """Everything a process does beside answering HTTP. ``start`` once, then ``drain`` once."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stopping = asyncio.Event()
        self._database_away = False
        self._running: dict[TurnId, _Running] = {}
        self._turn_tasks: set[asyncio.Task[None]] = set()
        self._send_tasks: set[asyncio.Task[None]] = set()
        self._triage_tasks: set[asyncio.Task[None]] = set()
        self._draft_tasks: set[asyncio.Task[None]] = set()
        self._signs = WorkSigns(runtime, spawn=self._spawn)
        self._media = MediaJobs(runtime, spawn=self._spawn, until_available=self._until_available)
        self._loops: list[asyncio.Task[None]] = []
        self._load: Batcher[Turn, TurnContext] = Batcher(
            lambda batch: load_contexts(runtime, batch), items_max=BATCH_MAX
        )
        self._settle: Batcher[Settlement, Verdict] = Batcher(
            lambda batch: settle(runtime, batch), items_max=BATCH_MAX
        )
        self._finish: Batcher[Finished, OutboundState] = Batcher(
            lambda batch: finish_sends(runtime, batch), items_max=BATCH_MAX
        )
        debounce = runtime.settings.turns.debounce_seconds
        # A timer that another process armed is due half a window later at the earliest.
        self._poll_seconds = max(0.2, min(1.0, debounce / 2 if debounce else 0.5))

    def start(self) -> None:
        lease = self._runtime.settings.turns.lease_seconds
        self._loops = [
            self._loop(self._look_for_turns, Work.TURN),
            self._loop(self._look_for_sends, Work.OUTBOX),
            self._loop(self._look_for_triage, Work.TRIAGE),
            self._loop(self._media.look, Work.MEDIA, seconds=POLL_SECONDS),
            self._loop(self._media.renew, None, seconds=RENEW_SECONDS),
            self._loop(self._renew_leases, None, seconds=lease / 3),
            self._loop(self._sweep, None, seconds=0.0),
            self._loop(self._reconcile, None, seconds=RECONCILE_SECONDS),
            self._loop(self._notify, None, seconds=NOTIFY_SECONDS),
        ]
        if any(channel.working_seconds for channel in self._runtime.channels.values()):
            self._loops.append(self._loop(self._signs.look, None, seconds=LOOK_SECONDS))
        if self._runtime.settings.agent.suggest_to_operators:
            self._loops.append(self._loop(self._suggest, None, seconds=SUGGEST_SECONDS))

    async def drain(self, seconds: float) -> None:
        """Stop claiming, finish sends, wait for turns so long, end the rest as abandoned without counting it."""
        self._stopping.set()
        for work in Work:
            self._runtime.wakeup.nudge(work)
        await _finished(self._loops[:4])
        await self._media.stop()
        await _finished(self._turn_tasks, seconds_max=max(0.0, seconds))
        left = [running.turn for running in self._running.values()]
        await _finished(self._turn_tasks, cancel=True)
        if left:
            await self._until_available(lambda: abandon_drained(self._runtime, left))
        await _finished(self._triage_tasks, cancel=True)
        await _finished(self._draft_tasks, cancel=True)
        await _finished(self._signs.tasks, cancel=True)
        # A send that has begun is never cut off: its own deadline bounds the wait.
        await _finished(self._send_tasks)
        await self._settle.drain()
        await self._finish.drain()
        await _finished(self._loops, cancel=True)

    def note_overtaken(self, turn: TurnId) -> None:
        """A newer message arrived: cut the call short if its verdict can only be a discard.

        Only an optimisation, for agents inside this process; the gate is what makes it correct.
        """
        running = self._running.get(turn)
        if running is None or running.was_overtaken:
            return
        policy = self._runtime.settings.turns.while_running
        discards = policy in (WhileRunning.DISCARD, WhileRunning.DISCARD_UNLESS_WROTE)
        # The cap is compared in the gate by the database's clock; well before it no doubt is possible.
        waited = self._runtime.clock.monotonic() - running.claimed_at + running.turn.waited_seconds
        if discards and waited < self._runtime.settings.turns.max_wait_seconds / 2:
            running.was_overtaken = self.stop_asking(turn)

    def stop_asking(self, turn: TurnId) -> bool:
        """Cut an agent call short whose answer is stale whatever it says; ``False`` when it cannot be cut."""
        running = self._running.get(turn)
        if running is None or running.asking is None or not self._runtime.agent.in_process:
            return False
        if self._runtime.begun_writes.has_begun_write(turn):
            # Cut in the middle of a write, nobody would know whether it happened.
            return False
        self._runtime.telemetry.agent_calls.labels(outcome="cancelled").inc()
        return running.asking.cancel()

    def _loop(
        self, look: Callable[[], Awaitable[bool]], work: Work | None, *, seconds: float = 0.0
    ) -> asyncio.Task[None]:
        return asyncio.create_task(self._keep_looking(look, work, seconds), name=look.__name__)

    async def _keep_looking(
        self, look: Callable[[], Awaitable[bool]], work: Work | None, seconds: float
    ) -> None:
        while not self._stopping.is_set() or work is None:
            try:
                again = await look()
            except (DatabaseUnavailable, StatementInterrupted):
                self._note_database(is_away=True)
                await self._runtime.clock.sleep(UNAVAILABLE_SECONDS)
                continue
            except Exception:
                LOG.exception("a worker failed and goes on", extra={"work": look.__name__})
                self._runtime.telemetry.worker_failures.labels(work=look.__name__).inc()
                await self._runtime.clock.sleep(FAILED_SECONDS)
                continue
            self._note_database(is_away=False)
            if again:
                continue
            if work is None:
                await self._runtime.clock.sleep(seconds)
            else:
                await self._runtime.wakeup.wait(work, seconds_max=seconds or self._poll_seconds)

    def _note_database(self, *, is_away: bool) -> None:
        """Say once that the database went away, and once that it is back."""
        if is_away != self._database_away:
            self._database_away = is_away
            LOG.warning("the database is away" if is_away else "the database is back")

    async def _look_for_turns(self) -> bool:
        free = TURNS_MAX - len(self._running)
        if free <= 0:
            await asyncio.wait(self._turn_tasks, return_when=asyncio.FIRST_COMPLETED)
            return True
        limit = min(free, BATCH_MAX)
        turns = await claim(self._runtime, limit=limit)
        for turn in turns:
            self._running[turn.id] = _Running(turn=turn, claimed_at=self._runtime.clock.monotonic())
            self._signs.begin(turn)
            self._spawn(self._turn_tasks, self._run_turn(turn))
        self._runtime.telemetry.turns_running.set(len(self._running))
        return len(turns) == limit

    async def _run_turn(self, turn: Turn) -> None:
        running = self._running[turn.id]
        try:
            running.asking = asyncio.create_task(ask(self._runtime, turn, load=self._load.submit))
            await asyncio.wait([running.asking])
            asking, running.asking = running.asking, None
            if not asking.cancelled():
                answered = asking.result()
            elif running.was_overtaken:
                answered = Answered(answer=CutShort())
            else:
                return
            settlement = prepare(self._runtime, turn, answered)
            await self._until_available(lambda: self._settle.submit(settlement))
        finally:
            if running.asking is not None:
                running.asking.cancel()
                # What it had asked of the write gate is settled before others look at the turn.
                await asyncio.wait([running.asking], timeout=CUT_SECONDS_MAX)
            del self._running[turn.id]
            self._signs.end(turn.id)
            self._runtime.telemetry.turns_running.set(len(self._running))

    async def _renew_leases(self) -> bool:
        turns = [running.turn for running in self._running.values()]
        if turns:
            alive = await renew(self._runtime, turns)
            for turn in turns:
                if turn.id not in alive:
                    self.stop_asking(turn.id)
        return False

    async def _look_for_sends(self) -> bool:
        free = SENDS_MAX - len(self._send_tasks)
        if free <= 0:
            await asyncio.wait(self._send_tasks, return_when=asyncio.FIRST_COMPLETED)
            return True
        limit = min(free, BATCH_MAX)
        begun = await begin_sends(self._runtime, limit=limit)
        for attempt in begun:
            act = self._upload(attempt) if isinstance(attempt, Upload) else self._send(attempt)
            self._spawn(self._send_tasks, act)
        return len(begun) == limit

    async def _upload(self, asked: Upload) -> None:
        outcome = await upload(self._runtime, asked)
        await self._until_available(lambda: finish_upload(self._runtime, asked, outcome))

    async def _send(self, begun: Begun) -> None:
        outcome = await self._deliver(begun)
        finished = Finished(begun=begun, outcome=outcome)
        await self._until_available(lambda: self._finish.submit(finished))

    async def _deliver(self, begun: Begun) -> Outcome:
        channel = self._runtime.channels.get(begun.channel)
        if channel is None:
            return NotSent(reason="channel_removed")
        try:
            return await channel.deliver(begun.delivery)
        except Exception as error:  # noqa: BLE001  # Whatever the adapter raised, the message may have left.
            LOG.warning(
                "a channel adapter raised",
                extra={"outbound_id": str(begun.message.id), "reason": type(error).__name__},
            )
            return OutcomeUnknown(reason="adapter_raised")

    async def _look_for_triage(self) -> bool:
        free = TRIAGES_MAX - len(self._triage_tasks)
        if free <= 0:
            await asyncio.wait(self._triage_tasks, return_when=asyncio.FIRST_COMPLETED)
            return True
        limit = min(free, BATCH_MAX)
        asked = await claim_triage(self._runtime, limit=limit)
        for question in asked:
            self._spawn(self._triage_tasks, self._triage(question))
        return len(asked) == limit

    async def _triage(self, asked: Asked) -> None:
        await self._until_available(lambda: conclude(self._runtime, asked))

    async def _sweep(self) -> bool:
        found = await sweep(self._runtime)
        lease = self._runtime.settings.turns.lease_seconds
        await self._runtime.clock.sleep(choose_pause_seconds(found, lease_seconds=lease))
        return True

    async def _reconcile(self) -> bool:
        await reconcile(self._runtime)
        return False

    async def _notify(self) -> bool:
        return await deliver_notifications(self._runtime, limit=BATCH_MAX) == BATCH_MAX

    async def _suggest(self) -> bool:
        free = TRIAGES_MAX - len(self._draft_tasks)
        drafts = await claim_drafts(self._runtime, limit=max(free, 0))
        for draft in drafts:
            self._spawn(self._draft_tasks, self._draft(draft))
        return False

    async def _draft(self, draft: Draft) -> None:
        answer = await suggest(self._runtime, draft)
        if isinstance(answer, Proposal):
            await keep_draft(self._runtime, draft, answer)

    async def _until_available(self, act: Callable[[], Awaitable[Any]]) -> None:
        """Repeat while the database is away or gave way: the result in hand is worth more than the wait."""
        while True:
            try:
                await act()
            except (DatabaseUnavailable, StatementInterrupted):
                await self._runtime.clock.sleep(UNAVAILABLE_SECONDS)
            else:
                return

    def _spawn(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=work.__name__)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(self._report)

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._runtime.telemetry.worker_failures.labels(work=task.get_name()).inc()
            LOG.error("work ended with an error", exc_info=error, extra={"work": task.get_name()})


async def _finished(
    tasks: Collection[asyncio.Task[None]], *, seconds_max: float | None = None, cancel: bool = False
) -> None:
    """Wait until these tasks have ended, at most so long."""
    if cancel:
        for task in tasks:
            task.cancel()
    if tasks:
        await asyncio.wait(set(tasks), timeout=seconds_max)
