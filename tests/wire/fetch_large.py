"""A process that fetches a small file and then a large one into a store, and prints its memory's growth in bytes.

``python fetch_large.py GRAPH_URL FOLDER [BUCKET_URL]``: into the folder, or into the bucket that stands in for S3.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path

import httpx2

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.media.store import ObjectMediaStore, open_bucket, open_folder
from onevoice.ports.channel import MediaRef
from onevoice.vocabulary import AccountId, ChannelName, MediaKind


def _store(folder: str, bucket_url: str | None) -> ObjectMediaStore:
    if bucket_url is None:
        return open_folder(Path(folder))
    return open_bucket(
        "s3://arquivos",
        endpoint_url=bucket_url,
        region="sa-east-1",
        access_key_id="AKIAEXAMPLE",
        secret_access_key="secret-example",
    )


def _memory_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def main(graph_url: str, folder: str, bucket_url: str | None = None) -> None:
    store = _store(folder, bucket_url)
    async with httpx2.AsyncClient(trust_env=False) as http:
        channel = WhatsAppChannel(
            name=ChannelName("loja"),
            account=AccountId("default"),
            phone_number_id="100000000000001",
            access_token="token-example",
            app_secrets=("s",),
            verify_token="v",
            graph_url=graph_url,
            http=http,
            files=http,
            monotonic=lambda: 0.0,
        )
        peaks: list[int] = []
        for media_id in ("1", "2"):
            ref = MediaRef(kind=MediaKind.DOCUMENT, external_id=media_id)
            async with channel.download(ref) as stream:
                await store.write(f"default/{media_id}", stream.chunks)
            peaks.append(_memory_bytes())
    size_bytes = sum([len(piece) async for piece in store.read("default/2")])
    peaks.append(_memory_bytes())
    sys.stdout.write(json.dumps({"stored": size_bytes, "peaks": peaks}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
