"""The front desk at work on one turn: each intent gets its lines, writes included."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time

from onevoice.adapters.agents.demo.answers import Question, Speaker
from onevoice.adapters.agents.demo.book import SUNDAY, Book, Tool, Unavailable
from onevoice.adapters.agents.demo.intents import Intent, Understanding
from onevoice.adapters.agents.demo.talk import Offer, Talk
from onevoice.vocabulary import EffectState, TurnContext, UntoldEffect

# What is worth no line of its own when something else is answered.
_COURTESIES = frozenset({Intent.GREET, Intent.THANKS, Intent.BYE})
_FILES = frozenset({"image", "video", "document"})
_ABOUT_A_VISIT = frozenset({Question.WHICH_DAY, Question.WHICH_TIME, Question.WHICH_TIME_TO_MOVE})


@dataclass(slots=True, kw_only=True)
class Desk:
    """One turn. ``answer`` is called once; afterwards ``wrote`` says whether a write tool ran."""

    context: TurnContext
    now: datetime
    asked: Understanding
    talk: Talk
    speaker: Speaker
    book: Book
    contact: str
    write: Callable[[TurnContext, str, dict[str, object]], Awaitable[dict[str, object]]]
    wrote: bool = False
    _lines: list[str] = field(default_factory=list[str])

    async def answer(self) -> list[str]:
        """The lines of the one answer, in the order in which things were asked."""
        self._lines += [line for effect in self.context.effects if (line := self._untold(effect)) is not None]
        for intent in self._intents():
            await self._answer_intent(intent)
        self._lines += self._about_files()
        if self.asked.unknown or not self._lines:
            self._answer_unknown()
        return list(dict.fromkeys(self._lines))

    def _about_files(self) -> list[str]:
        """What the desk can do nothing with: an audio that nobody heard, any other file."""
        unread = [message.type for message in self.context.messages if not message.transcription]
        lines = [self.speaker.say("not_heard")] if "audio" in unread else []
        return lines + ([self.speaker.say("not_seen")] if _FILES & set(unread) else [])

    def _intents(self) -> list[Intent]:
        """What is answered: courtesies only when nothing else was said, a greeting always first."""
        asked = list(self.asked.intents)
        serious = [intent for intent in asked if intent not in _COURTESIES]
        if not serious:
            return asked
        return ([Intent.GREET] if Intent.GREET in asked else []) + serious

    async def _answer_intent(self, intent: Intent) -> None:
        informing = self._information(intent)
        if informing is not None:
            self._lines.append(informing)
            return
        acting: dict[Intent, Callable[[], Awaitable[None]]] = {
            Intent.BOOK: self._book_or_move,
            Intent.MOVE: self._book_or_move,
            Intent.CANCEL: self._cancel,
            Intent.YES: self._accept,
        }
        if intent in acting:
            await acting[intent]()

    def _information(self, intent: Intent) -> str | None:
        match intent:
            case Intent.GREET:
                alone = not set(self.asked.intents) - _COURTESIES
                return self.speaker.say(
                    "welcome" if alone else "greet", name=self.speaker.name(self.context.contact_name)
                )
            case (
                Intent.HELP
                | Intent.HOURS
                | Intent.ADDRESS
                | Intent.PRICE
                | Intent.THANKS
                | Intent.BYE
                | Intent.RECEIVED
            ):
                return self.speaker.say(intent.value)
            case Intent.PAYMENT:
                return self.speaker.payments(self.asked.payments)
            case Intent.KEEP:
                return self.speaker.say("kept")
            case Intent.LOOK_UP:
                return self._look_up()
            case Intent.ORDER:
                items = tuple(dict.fromkeys((*self.talk.open_items, *self.asked.items)))
                return self._asking("order", Question.CONFIRM_ORDER, items=self.speaker.items(items))
            case Intent.CANCEL_ORDER:
                return self._asking("cancel_order", Question.CONFIRM_CANCEL_ORDER)
            case Intent.NO:
                return self.speaker.say("declined" if self.talk.question else "more")
            case _:
                return None

    def _asking(self, key: str, question: Question, **values: str) -> str:
        return f"{self.speaker.say(key, **values)} {self.speaker.ask(question)}"

    def _look_up(self) -> str:
        booked = self.book.appointment_of(self.contact, now=self.now)
        if booked is None:
            return self.speaker.say("no_appointment")
        return self.speaker.say("appointment", day=self.speaker.day(booked.day), time=f"{booked.at:%H:%M}")

    async def _accept(self) -> None:
        """A plain yes: what it means depends on what was asked."""
        match self.talk.question:
            case Question.CONFIRM_ORDER if self.talk.open_items:
                items = list[object](self.talk.open_items)
                await self._do(Tool.PLACE_ORDER, {"items": items})
                self._lines.append(
                    self.speaker.say("ordered", items=self.speaker.items(self.talk.open_items))
                )
            case Question.CONFIRM_CANCEL_ORDER:
                await self._do(Tool.CANCEL_ORDER, {})
                self._lines.append(self.speaker.say("order_cancelled"))
            case Question.WHICH_DAY | Question.WHICH_TIME | Question.WHICH_TIME_TO_MOVE:
                await self._book_or_move()
            case _:
                self._lines.append(self.speaker.say("more"))

    async def _cancel(self) -> None:
        booked = self.book.appointment_of(self.contact, now=self.now)
        if booked is None and self.book.order_of(self.contact):
            self._lines.append(self._asking("cancel_order", Question.CONFIRM_CANCEL_ORDER))
        elif booked is None:
            self._lines.append(self.speaker.say("no_appointment"))
        else:
            await self._do(Tool.CANCEL, {})
            self._lines.append(self._told("cancelled", booked.day, booked.at))

    async def _book_or_move(self) -> None:
        moving = self._is_moving()
        days = self._wanted_days()
        chosen = self._chosen_time()
        if Intent.MOVE in self.asked.intents and not moving:
            self._lines.append(self.speaker.say("no_appointment"))
        if not days:
            self._ask_day()
            return
        if chosen is not None and len(days) == 1:
            await self._take(days[0], chosen, moving=moving)
            return
        for day in days[:2]:
            self._offer(day)
        self._ask_time(moving=moving)

    def _is_moving(self) -> bool:
        """A booked customer who names another day means that appointment, unless they ask for a new one."""
        if self.book.appointment_of(self.contact, now=self.now) is None:
            return False
        return (
            Intent.MOVE in self.asked.intents
            or self.asked.booking_implied
            or self.talk.question is Question.WHICH_TIME_TO_MOVE
        )

    def _wanted_days(self) -> tuple[date, ...]:
        if self.asked.days:
            return self.asked.days
        offer = self._meant_offer()
        if offer is not None:
            return (offer.day,)
        if self.asked.period is not None and self.asked.time is None:
            return (self.book.next_open_day(self.now.date(), now=self.now, period=self.asked.period),)
        return ()

    def _meant_offer(self) -> Offer | None:
        """The offer a customer answers who names no day: the one with that time, else the last one."""
        if self.talk.question not in _ABOUT_A_VISIT or not self.talk.offers:
            return None
        at = self._chosen_time()
        return next((offer for offer in self.talk.offers if at in offer.times), self.talk.offers[-1])

    def _chosen_time(self) -> time | None:
        """The time the customer named or pointed at among those offered; a yes takes the only one."""
        if self.asked.time is not None or self.asked.days:
            return self.asked.time
        offered = [at for offer in self.talk.offers for at in offer.times]
        if self.asked.choice is not None and self.asked.choice < len(offered):
            return offered[self.asked.choice] if offered else None
        return offered[0] if len(offered) == 1 and Intent.YES in self.asked.intents else None

    async def _take(self, day: date, at: time, *, moving: bool) -> None:
        booked = self.book.appointment_of(self.contact, now=self.now)
        if booked is not None and (booked.day, booked.at) == (day, at):
            self._lines.append(self._told("booked", day, at))
            return
        if at in self.book.free_times(day, now=self.now):
            tool, told = (Tool.MOVE, "moved") if moving else (Tool.BOOK, "booked")
            try:
                await self._do(tool, {"day": day.isoformat(), "time": f"{at:%H:%M}"})
            except Unavailable:
                self._lines.append(
                    self.speaker.say("not_free", day=self.speaker.day(day), time=f"{at:%H:%M}")
                )
            else:
                self._lines.append(self._told(told, day, at))
                return
        else:
            self._lines.append(self.speaker.say("not_free", day=self.speaker.day(day), time=f"{at:%H:%M}"))
        self._offer(day)
        self._ask_time(moving=moving)

    def _offer(self, day: date) -> None:
        """That day's free times, or why there are none and the next day's."""
        period = self.asked.period
        times = self.book.free_times(day, now=self.now, period=period)
        if not times and period is not None:
            times = self.book.free_times(day, now=self.now)
            if times:
                self._say_about(day, "period_full", period=self.speaker.period(period))
        if not times:
            self._say_about(day, "closed" if day.weekday() == SUNDAY else "full")
            day = self.book.next_open_day(day, now=self.now, period=period)
            times = self.book.free_times(day, now=self.now, period=period) or self.book.free_times(
                day, now=self.now
            )
        self._say_about(day, "offer", times=self.speaker.times(times))

    def _say_about(self, day: date, key: str, **values: str) -> None:
        self._lines.append(self.speaker.say(key, day=self.speaker.day(day), **values))

    def _ask_day(self) -> None:
        day = self.book.next_open_day(self.now.date(), now=self.now)
        self._lines.append(self._asking("ask_day", Question.WHICH_DAY, day=self.speaker.day(day)))

    def _ask_time(self, *, moving: bool) -> None:
        self._lines.append(self.speaker.ask(Question.WHICH_TIME_TO_MOVE if moving else Question.WHICH_TIME))

    def _answer_unknown(self) -> None:
        words = " / ".join(self.asked.unknown)
        if words:
            self._lines.append(self.speaker.say("not_understood", words=self.speaker.cite(words)))
        again = self.talk.question is Question.REPHRASE
        self._lines.append(self.speaker.say("offer_human") if again else self.speaker.ask(Question.REPHRASE))

    def _told(self, key: str, day: date, at: time) -> str:
        where = self.speaker.day(day) if key == "appointment" else self.speaker.date(day)
        return self.speaker.say(key, day=where, time=f"{at:%H:%M}")

    def _untold(self, effect: UntoldEffect) -> str | None:
        """What an earlier attempt did for the customer and could not say."""
        said = (
            {Tool.BOOK: "booked", Tool.MOVE: "moved"}.get(Tool(effect.tool))
            if effect.tool in tuple(Tool)
            else None
        )
        if said is None or effect.state is not EffectState.DONE:
            return None
        day, at = effect.args.get("day"), effect.args.get("time")
        return self._told(said, date.fromisoformat(str(day)), time.fromisoformat(str(at)))

    async def _do(self, tool: Tool, args: dict[str, object]) -> None:
        """The one place where writes leave the agent."""
        await self.write(self.context, tool.value, args)
        self.wrote = True
