"""A document of 100 MB does not pass through memory whole: neither on the way in nor on the way out."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import cast

import pytest

from onevoice.testing.graph_server import LoopbackGraph
from tests.contracts.bucket import LoopbackBucket

SIZE_BYTES = 100 * 2**20
GROWTH_BYTES_MAX = 40 * 2**20


async def _fetch(*arguments: str) -> dict[str, object]:
    script = Path(__file__).with_name("fetch_large.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return cast("dict[str, object]", json.loads(out))


@pytest.mark.parametrize("to_bucket", [False, True], ids=["folder", "bucket"])
async def test_a_document_of_100_mb_streams(tmp_path: Path, to_bucket: bool) -> None:
    """Measured in a process of its own: the peak of its memory grows by a few pieces, not by the file."""
    async with LoopbackGraph() as graph, LoopbackBucket() as bucket:
        for media_id, size in (("1", 2**20), ("2", SIZE_BYTES)):
            graph.media.put(media_id, size_bytes=size, mime_type="application/pdf")
        found = await _fetch(graph.url, str(tmp_path), *([bucket.url] if to_bucket else []))

    small, large, read = cast("list[int]", found["peaks"])
    assert found["stored"] == SIZE_BYTES
    assert large - small < GROWTH_BYTES_MAX
    assert read - small < GROWTH_BYTES_MAX
