"""A path to one file that needs no token for a while, for the agent that is given it. Pure."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from urllib.parse import urlencode

from onevoice.flow.media.decide import media_path
from onevoice.vocabulary import AccountId, MediaId

LINK_SECONDS_MAX = 3600


def signed_media_path(
    account: AccountId, media: MediaId, *, secret: str, now: datetime, seconds: int = LINK_SECONDS_MAX
) -> str:
    """The same for whoever has the link, for at most an hour; ``secret`` is the agent's, ``now`` the database's."""
    expires = int((now + timedelta(seconds=min(seconds, LINK_SECONDS_MAX))).timestamp())
    query = {
        "account": account,
        "expires": str(expires),
        "signature": _sign(account, str(media), expires, secret),
    }
    return f"{media_path(media)}?{urlencode(query)}"


def is_link_good(
    account: str, media: MediaId, *, expires: int, signature: str, secret: str, now: datetime
) -> bool:
    """Whether such a link is ours and not over. Without a secret none is."""
    if not secret or not now.timestamp() < expires <= now.timestamp() + LINK_SECONDS_MAX + 60:
        return False
    expected = _sign(account, str(media), expires, secret)
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def _sign(account: str, media: str, expires: int, secret: str) -> str:
    said = f"onevoice media\n{account}\n{media}\n{expires}"
    return hmac.new(secret.encode(), said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
