"""Random secrets and what is stored of them. Each is shown once; only its digest, or its argon2id hash, is kept."""

from __future__ import annotations

import hashlib
import re
import secrets

_TOKEN_BYTES = 32
_TOKEN = re.compile(r"ov_[A-Za-z0-9_-]{43}")
# No letter or digit that is read as another: a password may be copied by hand.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS = 4
_GROUP_CHARS = 5


def new_token() -> str:
    """An API token; its form is known, so that scanners of repositories and logs can find a leaked one."""
    return f"ov_{secrets.token_urlsafe(_TOKEN_BYTES)}"


def is_token(text: str) -> bool:
    """Whether it can be one of ours: everything else is refused without asking the database."""
    return _TOKEN.fullmatch(text) is not None


def new_session_secret() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


def new_password() -> str:
    """Almost 100 bits in four groups, to be typed from a terminal."""
    groups = ["".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_CHARS)) for _ in range(_GROUPS)]
    return "-".join(groups)


def digest(secret: str) -> bytes:
    """Of equal length for every secret. These have 256 random bits: a fast hash is as good as a slow one."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
