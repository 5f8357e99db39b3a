"""A stage for one story: customer, agent, channel and clock in the test's hands, PostgreSQL for real.

``run`` plays every step that is due, as the loops of a process would, until nothing moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onevoice.adapters.wakeup.in_process import InProcessWakeup
from onevoice.flow.authority.command import Actor, AuthorityView, give_command
from onevoice.flow.authority.decide import Command
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.gate.decide import Verdict
from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.inbound.intake import Intake
from onevoice.flow.inbound.perform import Received
from onevoice.flow.media.perform import Download, claim_downloads, fetch, finish_download
from onevoice.flow.operator.perform import SealedMessage, seal_operator_message
from onevoice.flow.outbox.begin import Begun, Upload, begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.outbox.upload import finish_upload, upload
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.sweep.perform import sweep
from onevoice.flow.transcription.perform import (
    Hearing,
    claim_transcriptions,
    finish_transcription,
    hear,
)
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.decide import Turn
from onevoice.flow.turn.perform import claim
from onevoice.ports.channel import Delivery, Outcome, StatusItem
from onevoice.settings import Settings
from onevoice.store.database import Database
from onevoice.telemetry import Telemetry
from onevoice.testing import (
    CountingChance,
    ManualClock,
    MemoryMediaStore,
    RecordingChannel,
    ScriptedAgent,
    ScriptedDecider,
    ScriptedTranscriber,
)
from onevoice.vocabulary import AccountId, ConversationId, OperatorId, OutboundState, OutgoingMessage

if TYPE_CHECKING:
    from tests.conftest import Connection


# The head of a voice message as WhatsApp sends them.
VOICE = b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead\x01\x01" + bytes(50)

# Who gives the commands of the runtime itself.
AUTOMATION = Actor(operator=None, is_admin=True)


class Stage:
    """One conversation's world. ``owner`` looks at the tables as a superuser."""

    def __init__(self, database: Database, owner: Connection, settings: Mapping[str, Any]) -> None:
        self.owner = owner
        self.clock = ManualClock()
        self.channel = RecordingChannel("loja", clock=self.clock)
        self.agent = ScriptedAgent(otherwise="Certo!")
        self.decider = ScriptedDecider()
        self.files = MemoryMediaStore()
        self.transcriber = ScriptedTranscriber()
        self.runtime = Runtime(
            database=database,
            clock=self.clock,
            chance=CountingChance(),
            wakeup=InProcessWakeup(self.clock),
            telemetry=Telemetry(),
            settings=Settings.model_validate(settings),
            channels={self.channel.name: self.channel},
            agent=self.agent,
            decider=self.decider,
            worker="test",
            media=self.files,
            transcriber=self.transcriber,
        )
        self.intake = Intake(self.runtime)
        self.verdicts: list[Verdict] = []
        self.outcomes: list[OutboundState] = []
        self._message_count = 0

    async def customer(self, text: str, **fields: object) -> Received:
        """A customer's message, through the door a webhook takes."""
        self._message_count += 1
        item = {"id": f"m{self._message_count}", "from": "ana", "text": text, **fields}
        return (await self.webhook(item))[0]

    async def webhook(self, *items: Mapping[str, object]) -> list[Received]:
        return await self.intake.take(self.channel, self.channel.parse(self.channel.webhook(*items).body))

    async def claim(self) -> list[Turn]:
        return await claim(self.runtime, limit=100)

    async def answer(self, turn: Turn) -> Verdict:
        """Ask the agent and settle the turn."""
        settlement = prepare(self.runtime, turn, await ask(self.runtime, turn))
        verdict = (await settle(self.runtime, [settlement]))[0]
        self.verdicts.append(verdict)
        return verdict

    async def send(self) -> int:
        """Upload what must be with the channel first; begin, deliver and finish whatever may leave now."""
        found = await begin_sends(self.runtime, limit=100)
        uploads = [act for act in found if isinstance(act, Upload)]
        for act in uploads:
            await finish_upload(self.runtime, act, await upload(self.runtime, act))
        begun = [act for act in found if isinstance(act, Begun)]
        if begun:
            outcomes = await asyncio.gather(
                *(self.runtime.channels[attempt.channel].deliver(attempt.delivery) for attempt in begun)
            )
            finished = [
                Finished(begun=attempt, outcome=outcome)
                for attempt, outcome in zip(begun, outcomes, strict=True)
            ]
            self.outcomes += await finish_sends(self.runtime, finished)
        return len(found)

    async def triage(self) -> int:
        asked = await claim_triage(self.runtime, limit=100)
        for question in asked:
            await conclude(self.runtime, question)
        return len(asked)

    async def audio(self, content: bytes = VOICE, **fields: object) -> Received:
        """A customer's voice message, whose file the channel has."""
        name = f"file-{self._message_count + 1}"
        self.channel.files[name] = content
        media = {"kind": "audio", "id": name, "mime_type": "audio/ogg; codecs=opus"}
        return await self.customer("[voice message]", type="audio", media=media, **fields)

    async def downloads(self) -> list[Download]:
        return await claim_downloads(self.runtime, limit=100)

    async def download(self, download: Download) -> None:
        """Fetch a file and record what came of it."""
        await finish_download(self.runtime, download, await fetch(self.runtime, download))

    async def fetch_files(self) -> None:
        """Download whatever is due."""
        for download in await self.downloads():
            await self.download(download)

    async def hearings(self) -> list[Hearing]:
        return await claim_transcriptions(self.runtime, limit=100)

    async def transcribe(self, hearing: Hearing) -> None:
        """Have an audio transcribed and record what came of it."""
        await finish_transcription(self.runtime, hearing, await hear(self.runtime, hearing))

    async def files_in(self) -> int:
        """Download and transcribe whatever is due now."""
        downloads = await self.downloads()
        for download in downloads:
            await self.download(download)
        hearings = await self.hearings()
        for hearing in hearings:
            await self.transcribe(hearing)
        return len(downloads) + len(hearings)

    async def run(self) -> None:
        """Everything that is due now, to the end."""
        moved = 1
        while moved:
            await self.files_in()
            turns = await self.claim()
            for turn in turns:
                await self.answer(turn)
            moved = len(turns) + await self.triage() + await self.send()

    async def after(self, seconds: float) -> None:
        """Let time pass, then everything that is due."""
        await self.clock.advance(seconds)
        await sweep(self.runtime)
        await self.run()

    async def play(self, seconds: float, *, step: float = 0.1) -> None:
        """Let time pass in small steps, with everything that falls due on the way."""
        for _ in range(round(seconds / step)):
            await self.clock.advance(step)
            await self.run()

    async def operator(self, name: str, *, role: str = "operator") -> Actor:
        """An operator of the account, made on the spot."""
        operator = OperatorId(self.runtime.chance.new_id())
        await self.owner.execute(
            "insert into operator (account_id, id, name, role, created_at) values ('default', $1, $2, $3, $4)",
            operator,
            name,
            role,
            self.clock.now(),
        )
        return Actor(operator=operator, is_admin=role == "admin")

    async def command(self, command: Command, actor: Actor, **fields: Any) -> AuthorityView:
        return await give_command(self.runtime, await self.key(), command, actor=actor, **fields)

    async def reply(self, actor: Actor, said: str | OutgoingMessage, **fields: Any) -> SealedMessage:
        """The operator writes; each call has a key of its own unless one is given."""
        self._message_count += 1
        given = {"seen": None, "idempotency_key": f"key-{self._message_count}", **fields}
        message = OutgoingMessage(text=said) if isinstance(said, str) else said
        return await seal_operator_message(
            self.runtime, await self.key(), actor=actor, message=message, **given
        )

    async def key(self) -> ConversationKey:
        row = await self.conversation()
        return ConversationKey(AccountId(row["account_id"]), ConversationId(row["id"]))

    async def authority(self) -> tuple[str, int]:
        row = await self.conversation()
        return row["authority_state"], row["authority_version"]

    async def begin(self) -> list[Begun]:
        """Start what may leave, as a dispatcher whose calls have not come back yet."""
        return [act for act in await begin_sends(self.runtime, limit=100) if isinstance(act, Begun)]

    async def begin_uploads(self) -> list[Upload]:
        """The same for files that must be with the channel first."""
        return [act for act in await begin_sends(self.runtime, limit=100) if isinstance(act, Upload)]

    async def finish(self, begun: Begun, outcome: Outcome) -> OutboundState:
        return (await finish_sends(self.runtime, [Finished(begun=begun, outcome=outcome)]))[0]

    async def status(self, external_id: str, status: str, **fields: object) -> None:
        """What the channel says of a message, through the door a webhook takes."""
        await self.webhook({"id": external_id, "status": status, **fields})

    async def report(self, *items: StatusItem) -> None:
        """The same with everything a real channel's status may carry, such as a classified error."""
        await self.intake.take(self.channel, items)

    async def register_channel(self, *channels: RecordingChannel) -> None:
        """The rows that a process writes when it starts."""
        for channel in channels or (self.channel,):
            await self.owner.execute(
                "insert into channel (account_id, name, kind) values ($1, $2, $3)",
                channel.account,
                channel.name,
                channel.kind,
            )

    async def entries(self, kind: str) -> list[tuple[str | None, str | None]]:
        """The journal's lines of one kind, oldest first, as (state, reason)."""
        rows = await self.owner.fetch("select state, reason from journal where kind = $1 order by id", kind)
        return [(row["state"], row["reason"]) for row in rows]

    def count(self, metric: str, **labels: str) -> float:
        """A counter's value; labels left out are summed over."""
        family: Any = getattr(self.runtime.telemetry, metric)
        return sum(
            sample.value
            for collected in family.collect()
            for sample in collected.samples
            if sample.name.endswith("_total") and labels.items() <= sample.labels.items()
        )

    @property
    def all_sent(self) -> list[Delivery]:
        """What customers got to see on any channel of this stage."""
        channels = list(self.runtime.channels.values())
        return [
            sent for channel in channels if isinstance(channel, RecordingChannel) for sent in channel.sent
        ]

    async def rows(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        order = "seq" if table in ("inbound_message", "outbound_message") else "1"
        rows = await self.owner.fetch(f"select {columns} from {table} order by {order}")  # noqa: S608
        return [dict(row) for row in rows]

    async def states(self, table: str) -> list[str]:
        """The states of a table's rows, oldest first; with a reason as ``state: reason``."""
        order = "seq" if table in ("inbound_message", "outbound_message") else "started_at, id"
        rows = await self.owner.fetch(f"select * from {table} order by {order}")  # noqa: S608
        return [row["state"] if row["state"] in PLAIN else f"{row['state']}: {_reason(row)}" for row in rows]

    async def conversation(self) -> dict[str, Any]:
        return (await self.rows("conversation"))[0]

    @property
    def sent(self) -> list[str]:
        return self.channel.sent_texts


PLAIN = ("open", "claimed", "running", "due", "sending", "sent", "delivered", "read", "played")


def _reason(row: Mapping[str, Any]) -> object:
    return row["state_reason"] if "state_reason" in row else row["reason"]
