"""argon2id in threads of its own: at most two at once, whatever the number of people who sign in."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from onevoice.entrypoints.operators.secret import new_password

__all__ = ["PASSWORD_CHARS_MAX", "Passwords"]

PASSWORD_CHARS_MAX = 200
# One hash takes 64 MiB and tens of milliseconds of a core; two leave the event loop and the rest their share.
_AT_ONCE_MAX = 2


class Passwords:
    """Hashes and checks. A caller who gives up does not free a thread before its hash is done."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(_AT_ONCE_MAX, thread_name_prefix="onevoice password")
        self._stand_in: str | None = None

    async def hash(self, password: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hash, password)

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Whether it is the password; takes as long when there is none, so that time tells no name."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._matches, password, hashed
        )

    def _hash(self, password: str) -> str:
        return self._hasher.hash(_encoded(password))

    def _matches(self, password: str, hashed: str | None) -> bool:
        if hashed is None:
            if self._stand_in is None:
                self._stand_in = self._hash(new_password())
            self._verify(password, self._stand_in)
            return False
        return self._verify(password, hashed)

    def _verify(self, password: str, hashed: str) -> bool:
        try:
            return self._hasher.verify(hashed, _encoded(password))
        except (VerificationError, InvalidHashError):
            return False


def _encoded(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
