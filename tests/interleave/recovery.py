"""After the last act: a process that nobody stops looks again and again until nothing changes."""

from __future__ import annotations

from onevoice.flow.gate.perform import prepare, settle
from onevoice.flow.inbound.amend import amend_pending
from onevoice.flow.media.perform import claim_downloads, fetch, finish_download
from onevoice.flow.outbox.begin import Upload, begin_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.outbox.upload import finish_upload, upload
from onevoice.flow.proposal.perform import ask
from onevoice.flow.runtime import Runtime
from onevoice.flow.sweep.perform import sweep
from onevoice.flow.transcription.perform import claim_transcriptions, finish_transcription, hear
from onevoice.flow.triage.perform import claim_triage, conclude
from onevoice.flow.turn.perform import claim
from tests.interleave.world import World

LOOKS_MAX = 60


async def recover(world: World) -> bool:
    """Sweep, claim, triage and send with time moving on; ``False`` when there is no end to it."""
    if not world.steps_recovery:
        return await _until_nothing_is_due(world, await world.house())
    ends: list[bool] = []

    async def script(runtime: Runtime) -> None:
        ends.append(await _until_nothing_is_due(world, runtime))

    while not await world.play_after(script):
        ends.clear()
    return ends == [True]


async def _until_nothing_is_due(world: World, runtime: Runtime) -> bool:
    for _ in range(LOOKS_MAX):
        due = await world.theatre.next_due(world.clock.instant)
        if due is None:
            return True
        world.clock.instant = max(world.clock.instant, due)
        await _look(world, runtime)
    return False


async def _look(world: World, runtime: Runtime) -> None:
    before = await world.theatre.facts(world.clock.instant, by_actor=True)
    if before["turn"]:
        for turn in await claim(runtime, limit=10):
            await settle(runtime, [prepare(runtime, turn, await ask(runtime, turn))])
    elif before["triage"]:
        for asked in await claim_triage(runtime, limit=10):
            await conclude(runtime, asked)
    elif before["outbox"]:
        await send_all(runtime)
    elif before["files"] or before["words"]:
        await bring_files(runtime)
        await bring_words(runtime)
    else:
        await sweep(runtime)
        await amend_pending(runtime, limit=10)


async def bring_files(runtime: Runtime) -> None:
    for download in await claim_downloads(runtime, limit=10):
        await finish_download(runtime, download, await fetch(runtime, download))


async def bring_words(runtime: Runtime) -> None:
    for hearing in await claim_transcriptions(runtime, limit=10):
        await finish_transcription(runtime, hearing, await hear(runtime, hearing))


async def send_all(runtime: Runtime) -> None:
    for begun in await begin_sends(runtime, limit=10):
        if isinstance(begun, Upload):
            await finish_upload(runtime, begun, await upload(runtime, begun))
            continue
        outcome = await runtime.channels[begun.channel].deliver(begun.delivery)
        await finish_sends(runtime, [Finished(begun=begun, outcome=outcome)])
