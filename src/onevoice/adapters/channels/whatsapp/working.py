"""The sign that somebody is at work: the customer's message is marked as read, and an answer is being written.

One call for both: the API has no typing without reading, and no end of typing before our reply or 25 s.
"""

from __future__ import annotations

from typing import Final

import httpx2

from onevoice.adapters.channels.whatsapp.shape import Object, encode_json

WORKING_SECONDS: Final = 25.0
_CALL_SECONDS_MAX: Final = 5.0


async def show_working(
    message_external_id: str, *, http: httpx2.AsyncClient, url: str, access_token: str
) -> None:
    """Show it once; raises ``httpx2.HTTPError`` when the call fails or is refused."""
    response = await http.post(
        url,
        content=encode_json(working_body(message_external_id)),
        headers={"authorization": f"Bearer {access_token}", "content-type": "application/json"},
        timeout=_CALL_SECONDS_MAX,
        follow_redirects=False,
    )
    response.raise_for_status()


def working_body(message_external_id: str) -> Object:
    """The body of the call; the message must be the customer's."""
    return {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": message_external_id,
        "typing_indicator": {"type": "text"},
    }
