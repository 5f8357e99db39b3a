"""Voice notes: who brings their files and words, the scenes in which they are waited for, and the casts of both."""

from __future__ import annotations

from collections.abc import AsyncIterator

from onevoice.errors import MediaUnavailable
from onevoice.flow.attachment.perform import keep_file
from onevoice.flow.authority.decide import Command
from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.media.decide import Measured
from onevoice.flow.media.perform import claim_downloads, fetch, finish_download
from onevoice.flow.operator.perform import seal_operator_message
from onevoice.flow.outbox.begin import begin_sends
from onevoice.flow.outbox.upload import finish_upload
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.transcription.perform import (
    Heard,
    claim_transcriptions,
    finish_transcription,
    hear,
)
from onevoice.flow.turn.perform import claim
from onevoice.ports.transcriber import Transcript
from onevoice.vocabulary import OutgoingMedia, OutgoingMessage
from tests.interleave.casts import (
    Script,
    clock,
    commander,
    customer,
    dispatcher,
    human_holds,
    operator,
    operators,
    outbox_due,
    post,
    turn_due,
    webhook,
    worker,
)
from tests.interleave.gates import Facts, Seat
from tests.interleave.pairs import TAKE, Scene, begins, claims, settles
from tests.interleave.recovery import bring_files, bring_words
from tests.interleave.world import KEY, Actor, Cast, World

DEADLINE_SECONDS = 30.0


def files_due(facts: Facts) -> bool:
    return bool(facts["files"])


def words_due(facts: Facts) -> bool:
    return bool(facts["words"])


def voice(*external_ids: str) -> Script:
    """The customer speaks into the phone."""

    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for external_id in external_ids:
            await speak(world, runtime, external_id)

    return script


async def speak(world: World, runtime: Runtime, external_id: str) -> None:
    media = {"kind": "audio", "id": f"file of {external_id}"}
    await post(
        world,
        runtime,
        {"id": external_id, "from": "ana", "type": "audio", "text": f"voice {external_id}", "media": media},
    )


def fetcher(looks: int = 1) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            seat.only_when(files_due)
            for download in await claim_downloads(runtime, limit=10):
                await finish_download(runtime, download, await fetch(runtime, download))

    return script


def listener(looks: int = 1) -> Script:
    async def script(world: World, runtime: Runtime, seat: Seat) -> None:
        for _ in range(looks):
            seat.only_when(words_due)
            for hearing in await claim_transcriptions(runtime, limit=10):
                await finish_transcription(runtime, hearing, await hear(runtime, hearing))

    return script


# ---------------------------------------------------------------------- scenes


async def voice_coming(world: World, runtime: Runtime) -> None:
    """A text and a voice note; its file is being fetched, and the window has passed."""
    await operators(world, runtime)
    await post(world, runtime, {"id": "m1", "from": "ana", "text": "text of m1"})
    await speak(world, runtime, "m2")
    world.scene["downloads"] = await claim_downloads(runtime, limit=1)
    world.clock.advance(5.0)


async def voice_here(world: World, runtime: Runtime) -> None:
    """The file is here, and a transcriber listens."""
    await voice_coming(world, runtime)
    for download in world.scene["downloads"]:
        await finish_download(runtime, download, await fetch(runtime, download))
    world.scene["hearings"] = await claim_transcriptions(runtime, limit=1)


async def unheard_running(world: World, runtime: Runtime) -> None:
    """The deadline has passed: a turn works without the words, which are still being listened for."""
    await voice_here(world, runtime)
    world.clock.advance(DEADLINE_SECONDS - 5.0)
    world.scene["turns"] = await claim(runtime, limit=1)
    world.scene["answers"] = [await ask(runtime, turn) for turn in world.scene["turns"]]


async def unheard_sealed(world: World, runtime: Runtime) -> None:
    """The reply that was made without the words waits to leave."""
    await unheard_running(world, runtime)
    for turn, answer in zip(world.scene["turns"], world.scene["answers"], strict=True):
        await settle(runtime, [prepare(runtime, turn, answer)])


async def upload_lent(world: World, runtime: Runtime) -> None:
    """An operator's document stands at the head of the lane, and its file is being handed to the channel."""
    await human_holds(world, runtime)
    file = await keep_file(runtime, KEY.account, _document(), filename="nota.pdf")
    await seal_operator_message(
        runtime,
        KEY,
        actor=commander(world, "bia"),
        message=OutgoingMessage(media=OutgoingMedia(id=file.id)),
        seen=None,
        idempotency_key="bia-file",
    )
    world.scene["uploads"] = await begin_sends(runtime, limit=1)


async def _document() -> AsyncIterator[bytes]:
    yield b"%PDF-1.7 nota"


async def uploads(world: World, runtime: Runtime, seat: Seat) -> None:
    for asked in world.scene["uploads"]:
        await finish_upload(runtime, asked, "upload-1")


async def upload_fails(world: World, runtime: Runtime, seat: Seat) -> None:
    for asked in world.scene["uploads"]:
        await finish_upload(runtime, asked, MediaUnavailable("refused", retry=False))


async def file_comes(world: World, runtime: Runtime, seat: Seat) -> None:
    for download in world.scene["downloads"]:
        measured = Measured(mime_type="audio/ogg", size_bytes=90, sha256=b"")
        await finish_download(runtime, download, measured)


async def words_come(world: World, runtime: Runtime, seat: Seat) -> None:
    for hearing in world.scene["hearings"]:
        heard = Heard(outcome=Transcript(text="words of the m2"))
        await finish_transcription(runtime, hearing, heard)


async def fetches(world: World, runtime: Runtime, seat: Seat) -> None:
    await bring_files(runtime)


async def listens(world: World, runtime: Runtime, seat: Seat) -> None:
    await bring_words(runtime)


REVOKE: Script = webhook(id="x2", kind="revoke", target="m2")

SCENES: dict[str, tuple[Scene, dict[str, Script]]] = {
    "voice coming": (voice_coming, {
        "file": file_comes, "speak": voice("m3"), "claim": claims, "take": TAKE}),
    "voice here": (voice_here, {
        "words": words_come, "receive": customer("m3"), "claim": claims, "take": TAKE, "revoke": REVOKE}),
    "unheard running": (unheard_running, {
        "words": words_come, "settle": settles, "receive": customer("m3"), "take": TAKE}),
    "upload lent": (upload_lent, {
        "upload": uploads, "fail": upload_fails, "release": operator("bia", Command.RELEASE),
        "force": operator("caio", Command.TAKE_FORCED, is_admin=True)}),
    "unheard sealed": (unheard_sealed, {
        "words": words_come, "begin": begins, "take": TAKE}),
}  # fmt: skip

# ---------------------------------------------------------------------- casts

FETCHER = Actor(name="fetcher", script=fetcher(), when=files_due, is_mortal=True)
LISTENER = Actor(name="listener", script=listener(), when=words_due, is_mortal=True)
WORKER = Actor(name="worker", script=worker(2), when=turn_due)
DISPATCHER = Actor(name="dispatcher", script=dispatcher(2), when=outbox_due)

VOICE = Cast(
    name="voice note",
    before=operators,
    actors=(
        Actor(name="customer", script=customer("m1")),
        Actor(name="speaker", script=voice("m2")),
        FETCHER,
        LISTENER,
        Actor(name="clock", script=clock(5.0, 25.0)),
        WORKER,
        DISPATCHER,
    ),
    ears=("words", "nobody speaks", "is down", "refuses"),
    crashes_max=1,
    preemptions_max=3,
)
HEARD_LATE = Cast(
    name="heard late",
    before=voice_here,
    actors=(
        Actor(name="listener", script=words_come),
        Actor(name="clock", script=clock(DEADLINE_SECONDS - 5.0)),
        WORKER,
        DISPATCHER,
        Actor(name="bia", script=operator("bia", Command.TAKE)),
    ),
    preemptions_max=3,
)
TWO_VOICES = Cast(
    name="two voice notes",
    before=voice_here,
    actors=(
        Actor(name="speaker", script=voice("m3")),
        Actor(name="listener", script=words_come),
        Actor(name="fetcher", script=fetches, when=files_due),
        Actor(name="second listener", script=listens, when=words_due),
        Actor(name="clock", script=clock(10.0, 15.0)),
        WORKER,
        DISPATCHER,
    ),
    preemptions_max=3,
)
VOICES: tuple[Cast, ...] = (VOICE, HEARD_LATE, TWO_VOICES)

STORIES: tuple[Cast, ...] = (
    Cast(
        name="voice note",
        before=operators,
        actors=(
            Actor(name="customer", script=customer("m1")),
            Actor(name="speaker", script=voice("m2")),
            Actor(name="fetcher", script=fetcher(), when=files_due),
            Actor(name="listener", script=listener(), when=words_due),
            Actor(name="clock", script=clock(5.0)),
            WORKER,
            DISPATCHER,
        ),
    ),
    Cast(name="heard late", before=unheard_running, actors=(
        Actor(name="settle", script=settles), Actor(name="listener", script=words_come),
        Actor(name="clock", script=clock(5.0)), WORKER, DISPATCHER)),
    Cast(name="transcriber down", before=voice_coming, ears=("is down",), actors=(
        Actor(name="fetcher", script=file_comes), Actor(name="listener", script=listener(), when=words_due),
        Actor(name="clock", script=clock(25.0)), WORKER, DISPATCHER)),
)  # fmt: skip
