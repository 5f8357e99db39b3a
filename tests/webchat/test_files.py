"""Files on the chat page's own address: for the visitor they were sent to."""

from __future__ import annotations

from httpx2 import AsyncClient

from tests.builders import new_id
from tests.webchat_site import Site


async def test_a_file_is_shown_to_its_visitor_alone(site: Site, client: AsyncClient, visitor: str) -> None:
    """By the message that carries it, once it was sent; another visitor finds nothing."""
    conversation = await site.conversation(visitor)
    media = await site.keep_file(b"a picture", "image/png")
    payload = {"type": "image", "media": str(media), "filename": "mapa.png", "caption": "o mapa"}
    sent = await site.say(conversation, "o mapa", payload=payload)
    due = await site.say(conversation, "o mapa", state="due", payload=payload)
    strangers = await site.conversation("f" * 32)
    theirs = await site.say(strangers, "[image]", payload=payload)
    shown = await client.get(f"/chat/loja/media/{sent}")
    part = await client.get(f"/chat/loja/media/{sent}", headers={"range": "bytes=2-"})
    hidden = [await client.get(f"/chat/loja/media/{name}") for name in (due, theirs, media, new_id(), "x")]
    client.cookies.clear()
    stranger = await client.get(f"/chat/loja/media/{sent}")

    assert (shown.content, shown.headers["content-type"]) == (b"a picture", "image/png")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert (
        shown.headers["content-security-policy"] == "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    )
    assert (part.status_code, part.content) == (206, b"picture")
    assert [answer.status_code for answer in hidden] == [404] * 5
    assert stranger.status_code == 401


async def test_a_store_that_is_away_says_so(site: Site, client: AsyncClient, visitor: str) -> None:
    """And a file it has lost is not found."""
    conversation = await site.conversation(visitor)
    media = await site.keep_file(b"a picture", "image/png")
    sent = await site.say(conversation, "[image]", payload={"type": "image", "media": str(media)})
    site.media.is_away = True
    away = await client.get(f"/chat/loja/media/{sent}")
    site.media.is_away = False
    site.media.files.clear()
    lost = await client.get(f"/chat/loja/media/{sent}")

    assert (away.status_code, lost.status_code) == (503, 404)
