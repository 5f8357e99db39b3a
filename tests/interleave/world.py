"""One schedule: a cast on one conversation, played step by step as the choices say, then recovered and judged."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.inbound.perform import derive_conversation_id
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Delivery
from onevoice.settings import Settings
from onevoice.testing import CountingChance, MemoryMediaStore
from onevoice.testing.manual_clock import START
from onevoice.vocabulary import AccountId, ChannelName
from tests.interleave.choices import Choices, Pruned
from tests.interleave.gates import TRANSACTION, Facts, Seat, StepClock
from tests.interleave.memory import Memory, Moment
from tests.interleave.parts import Actor, Cast, Step
from tests.interleave.ports import GatedAgent, GatedChannel, GatedDecider, GatedTranscriber, Record, Seen
from tests.interleave.theatre import Theatre

STEP_SECONDS_MAX = 20.0
PATIENCE_SECONDS = 0.002
KEY = ConversationKey(
    AccountId("default"), derive_conversation_id(AccountId("default"), ChannelName("loja"), "ana")
)

_VOICE = """
select c.authority_state = 'HUMAN_ACTIVE' and not exists (
    select from journal j where j.conversation_id = c.id and j.data ->> 'command' = 'take_forced')
from conversation c
"""


@cache
def _settings(described: str) -> Settings:
    return Settings.model_validate(eval(described))  # noqa: S307  # Our own dict's repr, as a key of the cache.


class World:
    """Everything of one schedule. ``seen_states`` belongs to the search and prunes it."""

    def __init__(
        self,
        theatre: Theatre,
        cast: Cast,
        choices: Choices,
        *,
        seen_states: set[object] | None = None,
        marks: Counter[str] | None = None,
        crash_at: Collection[int] = (),
        steps_recovery: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.theatre = theatre
        self.cast = cast
        self.choices = choices
        self.clock = StepClock(START)
        self.record = Record()
        self.trace: list[Step] = []
        self.operators: dict[str, UUID] = {}
        self.scene: dict[str, Any] = {}
        self.faults: list[str] = []
        self.files = MemoryMediaStore()
        self.step_count = 0
        self._seen_states = seen_states
        self._marks = marks if marks is not None else Counter[str]()
        self._crash_at = crash_at
        self.steps_recovery = steps_recovery
        self._seats: list[tuple[Actor, Seat]] = []
        self._last: Seat | None = None
        self._preemptions = 0
        self._crashes = 0
        self._series = 0
        self._memory = memory
        self._moment = (
            self._memory.recall(max(0, len(choices.given) - 1)) if self._memory is not None else None
        )
        self._house: Seat | None = None
        self._digest = ""
        self._may_have_changed = True
        self._may_be_free = False

    @property
    def is_known(self) -> bool:
        """Whether the run repeats what is known, without the database."""
        return self._moment is not None

    # ------------------------------------------------------------------ what actors and ports use

    def mark(self, what: str) -> None:
        """This has happened at least once: a green run in which nothing happens is none."""
        self._marks[what] += 1

    def choose(self, seat: Seat, what: str, count: int) -> int:
        chosen = self.choices.choose(count)
        # Without this line the pruning hides whatever only one of the answers leads to.
        seat.observe((what, chosen))
        return chosen

    async def customer_gets(self, delivery: Delivery) -> None:
        is_ai = not delivery.key.startswith(("operator:", "follow_up:", "notice:"))
        self.record.seen.append(
            Seen(
                key=delivery.key,
                text=delivery.text,
                correlation_id=delivery.correlation_id,
                is_ai=is_ai,
            )
        )
        if is_ai and not self.is_known and await self.theatre.value(_VOICE):
            self.record.violations.append(
                f"I1: the AI spoke after the takeover was confirmed: {delivery.key}"
            )

    async def effect_begins(self, what: str) -> None:
        self.record.performed.append(what)
        if not self.is_known and await self.theatre.value(_VOICE):
            self.record.violations.append(f"I1: the AI wrote after the takeover was confirmed: {what}")

    def runtime(self, seat: Seat, database: Any) -> Runtime:
        self._series += 1
        channel = GatedChannel(self, seat, self.cast.outcomes)
        return Runtime(
            database=database,
            clock=self.clock,
            chance=CountingChance(series=self._series),
            wakeup=InProcessWakeup(self.clock),
            telemetry=self.theatre.telemetry,
            settings=_settings(repr(self.cast.settings)),
            channels={channel.name: channel},
            agent=GatedAgent(self, seat, self.cast.moods),
            decider=GatedDecider(self, seat, self.cast.decisions),
            worker=seat.name,
            media=self.files,
            transcriber=GatedTranscriber(self, seat, self.cast.ears),
        )

    async def house(self) -> Runtime:
        """A process that nobody stops: it sets the scene, and it cleans up after the crash."""
        if self._house is None:
            self._house = Seat("house", level=TRANSACTION, clock=self.clock, is_free=True)
            self._recall(self._house)
        return self.runtime(self._house, await self.theatre.seat(self._house))

    # ------------------------------------------------------------------ the schedule

    async def play(self) -> None:
        """Raises ``Pruned`` when the rest has been seen; faults are collected, not raised."""
        if not self.is_known:
            await self.theatre.restore(None)
        if self.cast.before is not None:
            await self.cast.before(self, await self.house())
        try:
            await self._raise_curtain()
            while await self._step():
                pass
        finally:
            await self._lower_curtain()

    async def _lower_curtain(self) -> None:
        for _, seat in self._seats:
            # A statement that waits for a lock is not called off politely: a late cancel would hit the next schedule's.
            if seat.is_blocked and not seat.is_done:
                await self.theatre.kill(seat)
        for _, seat in self._seats:
            await seat.end()
        await self.theatre.bury()

    async def _raise_curtain(self) -> None:
        for actor in self.cast.actors:
            seat = Seat(actor.name, level=self.cast.level, clock=self.clock)
            runtime = self.runtime(seat, await self.theatre.seat(seat))
            if actor.when is not None:
                seat.only_when(actor.when)
            self._recall(seat)
            seat.task = asyncio.create_task(self._act(actor, runtime, seat), name=actor.name)
            seat.task.add_done_callback(seat.note_end)
            self._seats.append((actor, seat))
            await seat.settled.wait()

    async def play_after(self, script: Callable[[Runtime], Coroutine[Any, Any, None]]) -> bool:
        """One more process once all is over, stopped at its steps as well; ``False`` when it was killed at one."""
        seat = Seat("recovery", level=self.cast.level, clock=self.clock, is_plain=True)
        runtime = self.runtime(seat, await self.theatre.seat(seat))
        seat.task = asyncio.create_task(script(runtime), name=seat.name)
        seat.task.add_done_callback(seat.note_end)
        try:
            await seat.settled.wait()
            while not seat.is_done:
                self.step_count += 1
                if self.step_count - 1 in self._crash_at:
                    await self._crash(seat)
                    return False
                await self._take_turn(seat)
        finally:
            await seat.end()
            await self.theatre.bury()
        return True

    async def _act(self, actor: Actor, runtime: Runtime, seat: Seat) -> None:
        await actor.script(self, runtime, seat)

    async def _step(self) -> bool:
        """Whether anybody could do anything."""
        if self._moment is not None and self.step_count == self._moment.step_count:
            await self._go_live(self._moment)
        await self._look_at_blocked()
        ready = await self._ready()
        if not ready:
            return await self._await_blocked()
        options = [(seat, False) for _, seat in ready]
        bound = self.cast.preemptions_max
        if bound is not None and self._preemptions >= bound and ready[0][1] is self._last:
            options = options[:1]
        if self._crashes < self.cast.crashes_max:
            options += [(seat, True) for actor, seat in ready if actor.is_mortal]
        await self._remember(len(options))
        seat, dies = options[self.choices.choose(len(options))]
        self.step_count += 1
        if dies or self.step_count - 1 in self._crash_at:
            await self._crash(seat)
            return True
        if ready[0][1] is self._last and seat is not self._last:
            self._preemptions += 1
        await self._take_turn(seat)
        return True

    async def _ready(self) -> list[tuple[Actor, Seat]]:
        waiting = [(actor, seat) for actor, seat in self._seats if seat.is_waiting and not seat.is_done]
        if any(seat.guard is not None for _, seat in waiting):
            facts = await self._facts()
            waiting = [(actor, seat) for actor, seat in waiting if _is_open(seat, facts)]
        # Who acted last comes first: choice 0 goes on without a preemption.
        return sorted(waiting, key=lambda pair: pair[1] is not self._last)

    async def _remember(self, option_count: int) -> None:
        if self.choices.is_replaying:
            return
        # In the middle of transactions there is no state that could be put back, but before the first of them.
        keeps = self._memory is not None and (self.cast.level == TRANSACTION or self.step_count == 0)
        if self._may_have_changed or keeps:
            self._digest, broken, snapshot = await self.theatre.look(self.clock.instant, keeps=keeps)
            self._note_broken(broken)
            self._may_have_changed = False
            if self._memory is not None and keeps:
                self._memory.moments.append(self._this_moment(snapshot))
        if self._seen_states is None or option_count < 2:  # No choice, no branch to prune.
            return
        last = self._last.name if self._last is not None and self.cast.preemptions_max is not None else ""
        state = (
            self._digest,
            self.clock.instant,
            self.record.describe(),
            tuple(
                (seat.label, seat.observed.digest(), seat.is_crashed, seat.is_blocked, seat.is_done)
                for _, seat in self._seats
            ),
            last,
            self._preemptions if self.cast.preemptions_max is not None else 0,
            self._crashes,
        )
        if state in self._seen_states:
            raise Pruned
        self._seen_states.add(state)

    def _all_seats(self) -> list[Seat]:
        house = [self._house] if self._house is not None else []
        return [*house, *(seat for _, seat in self._seats)]

    def _this_moment(self, snapshot: str) -> Moment:
        return Moment(
            step_count=self.step_count,
            choice_count=len(self.choices.made),
            snapshot=snapshot,
            result_counts={seat.name: len(seat.results) for seat in self._all_seats()},
        )

    def _recall(self, seat: Seat) -> None:
        if self._moment is not None and self._memory is not None:
            count = self._moment.result_counts[seat.name]
            # A seat that had asked nothing yet is live from its first statement.
            known = deque(self._memory.results[seat.name][:count])
            seat.known_results = known if count else None

    async def _go_live(self, moment: Moment) -> None:
        if len(self.choices.made) != moment.choice_count:
            raise AssertionError("the run did not come to the moment it was to go on from")
        await self.theatre.restore(moment.snapshot)
        for seat in self._all_seats():
            if seat.known_results:
                raise AssertionError(
                    f"{seat.name} did not repeat what it did before: the run is not deterministic"
                )
            seat.known_results = None
        self._moment = None

    async def _facts(self) -> Facts:
        memory = self._memory
        if memory is None or self.cast.level != TRANSACTION:
            return await self.theatre.facts(self.clock.instant)
        if self.is_known:
            return memory.facts[self.step_count]
        del memory.facts[self.step_count :]
        memory.facts += [{}] * (self.step_count - len(memory.facts))
        memory.facts.append(await self.theatre.facts(self.clock.instant))
        return memory.facts[-1]

    def remember_results(self) -> None:
        """For the next run with the same beginning."""
        if self._memory is not None:
            self._memory.results = {seat.name: seat.results for seat in self._all_seats()}

    def _note_broken(self, broken: Sequence[str]) -> None:
        for rule in broken:
            if rule not in self.faults:
                self.faults.append(rule)

    async def _take_turn(self, seat: Seat) -> None:
        self._last = seat
        label, seat.last_seen = seat.label, ""
        seat.release()
        await self._until_settled(seat)
        self._note_ended(seat)
        self.trace.append(
            Step(actor=seat.name, did=label, saw="(waits)" if seat.is_blocked else seat.last_seen)
        )
        self._note_error(seat)

    def _note_ended(self, seat: Seat) -> None:
        """Inside a transaction nothing becomes durable and no lock is let go of before its end."""
        if seat.has_ended:
            seat.has_ended, self._may_have_changed, self._may_be_free = False, True, True

    def _note_error(self, seat: Seat) -> None:
        if seat.task is None or not seat.is_done or seat.task.cancelled():
            return
        error = seat.task.exception()
        if error is not None:
            self.faults.append(f"{seat.name} failed: {type(error).__name__}: {error} {error.__cause__ or ''}")

    async def _until_settled(self, seat: Seat) -> None:
        seat.is_blocked = False
        if self.cast.level == TRANSACTION:
            async with asyncio.timeout(STEP_SECONDS_MAX):
                await seat.settled.wait()
            return
        patience = PATIENCE_SECONDS
        while patience < STEP_SECONDS_MAX:
            try:
                async with asyncio.timeout(patience):
                    await seat.settled.wait()
            except TimeoutError:
                if await self.theatre.is_blocked(seat):
                    seat.is_blocked = True
                    return
                # A busy machine: asking often would make it slower still.
                patience *= 2
            else:
                return
        raise AssertionError(f"{seat.name} neither goes on nor waits for anybody at {seat.label}")

    async def _look_at_blocked(self) -> None:
        """Who waited for a lock goes on by itself when its holder's transaction is over; it may be a holder, too."""
        while self._may_be_free:
            self._may_be_free = False
            for _, seat in self._seats:
                if seat.is_blocked and not await self.theatre.is_blocked(seat):
                    await self._until_blocked_goes_on(seat)

    async def _await_blocked(self) -> bool:
        """Nobody can be let go on: whoever waits for a lock gets it, or the server ends a deadlock."""
        blocked = [seat for _, seat in self._seats if seat.is_blocked]
        for seat in blocked:
            await self._until_blocked_goes_on(seat)
        return bool(blocked)

    async def _until_blocked_goes_on(self, seat: Seat) -> None:
        await self._until_settled(seat)
        self._note_ended(seat)
        self._note_error(seat)

    async def _crash(self, seat: Seat) -> None:
        self._crashes += 1
        self.mark("crash")
        self.trace.append(Step(actor=seat.name, did=f"CRASHES before {seat.label}", saw=""))
        seat.is_crashed = True
        self._may_be_free = True
        if self.cast.level != TRANSACTION:
            await self.theatre.kill(seat)


def _is_open(seat: Seat, facts: Facts) -> bool:
    return seat.guard is None or bool(seat.guard(facts))
