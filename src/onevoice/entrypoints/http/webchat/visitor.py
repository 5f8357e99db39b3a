"""Who the visitor is: a random id that only this server can have signed, kept in the browser's cookie."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from onevoice.entrypoints.secret_file import read_or_make
from onevoice.errors import ConfigurationError
from onevoice.vocabulary import ChannelName

__all__ = ["VisitorCookies", "load_visitor_secret"]

_SECRET_BYTES = 32
_COOKIE_SECONDS = 400 * 24 * 3600
_VISITOR = re.compile(r"[0-9a-f]{32}")


def load_visitor_secret(data_dir: Path) -> bytes:
    """The key that signs visitors' cookies, made once and kept in ``data_dir``."""
    path = data_dir / "webchat_secret"
    secret = read_or_make(path, lambda: secrets.token_bytes(_SECRET_BYTES))
    if len(secret) < _SECRET_BYTES:
        fault = f"{path.name} in data_dir is damaged; delete it, every webchat visitor then becomes new"
        raise ConfigurationError([fault])
    return secret


class VisitorCookies:
    """Reads and writes one channel's cookie."""

    def __init__(self, secret: bytes, channel: ChannelName, *, is_https: bool, is_embeddable: bool) -> None:
        self._secret = secret
        self._channel = channel
        self._is_https = is_https
        self._is_embeddable = is_embeddable
        self.name = f"{'__Host-' if is_https else ''}onevoice_visitor_{channel}"

    def read(self, value: str | None) -> str | None:
        """The visitor, if this server signed the value for this channel."""
        visitor, _, signature = (value or "").partition(".")
        if not _VISITOR.fullmatch(visitor) or not signature.isascii():
            return None
        return visitor if hmac.compare_digest(signature, self._sign(visitor)) else None

    def new_visitor(self) -> str:
        return secrets.token_hex(16)

    def header(self, visitor: str) -> str:
        """The Set-Cookie value. Partitioned: in a frame it is kept for the surrounding site only."""
        if not self._is_https:
            rules = "SameSite=Lax"
        elif self._is_embeddable:
            rules = "Secure; SameSite=None; Partitioned"
        else:
            rules = "Secure; SameSite=Lax"
        value = f"{visitor}.{self._sign(visitor)}"
        return f"{self.name}={value}; Path=/; Max-Age={_COOKIE_SECONDS}; HttpOnly; {rules}"

    def _sign(self, visitor: str) -> str:
        text = f"webchat visitor 1:{self._channel}:{visitor}"
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()
