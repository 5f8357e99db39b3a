"""Play one schedule again and print who did what: ``python -m tests.interleave.replay 'takeover' 0,2,1 3 1``.

The name of the cast, the choices, the bound of preemptions (``-``: none) and how many may be killed.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from onevoice.store.embedded import EmbeddedServer
from tests.interleave.choices import Choices
from tests.interleave.repertoire import BY_NAME
from tests.interleave.search import Found, run_once
from tests.interleave.theatre import Theatre
from tests.interleave.world import Cast
from tests.postgres import TestServer


async def _play(dsn: str, cast: Cast, given: list[int]) -> str:
    theatre = await Theatre.open(await TestServer(dsn=dsn).create_migrated("replay"))
    found = Found()
    world = await run_once(theatre, cast, Choices(given=given), found=found, prunes=False)
    await theatre.close()
    if found.failures:
        return str(found.failures[0])
    steps = [f"  {step.actor:12} {step.did:40} {step.saw[:150]}" for step in world.trace]
    return "\n".join([*steps, "nothing is broken"])


def main() -> None:
    name, numbers, preemptions, crashes = (*sys.argv[1:], "-", "0")[:4]
    cast = replace(
        BY_NAME[name],
        preemptions_max=None if preemptions == "-" else int(preemptions),
        crashes_max=int(crashes),
    )
    given = [] if numbers == "-" else [int(number) for number in numbers.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="onevoice-replay-"))
    server = EmbeddedServer.start(folder / "embedded")
    try:
        sys.stdout.write(asyncio.run(_play(server.dsn, cast, given)) + "\n")
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
