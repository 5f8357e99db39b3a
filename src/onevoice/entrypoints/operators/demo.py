"""The demo's operator: there from the first start, with the same password at each."""

from __future__ import annotations

import asyncio
from pathlib import Path

from onevoice.entrypoints.operators.accounts import Operators
from onevoice.entrypoints.operators.principal import DEFAULT_ACCOUNT, Role
from onevoice.entrypoints.operators.secret import new_password
from onevoice.entrypoints.secret_file import read_or_make
from onevoice.errors import ConfigurationError, OperatorExists, OperatorUnknown

__all__ = ["DEMO_NAME", "prepare_demo_operator"]

DEMO_NAME = "demo"
_FILE_NAME = "demo_password"
_PASSWORD_CHARS_MIN = 20


async def prepare_demo_operator(operators: Operators, data_dir: Path) -> str:
    """The password of the operator `demo`, an admin, who is added when missing.

    It is kept in a file that only this user can read, beside the database whose rows the same user can read and
    write: it opens nothing that is not open to its reader already, and a browser may remember it. A new one at each
    start would lock out whoever runs the demo twice.
    """
    password = await asyncio.to_thread(_read_password, data_dir)
    try:
        operator = await operators.find(DEFAULT_ACCOUNT, DEMO_NAME)
    except OperatorUnknown:
        try:
            await operators.add(DEFAULT_ACCOUNT, DEMO_NAME, role=Role.ADMIN, password=password)
        except OperatorExists:
            # Another demo on the same data_dir was quicker; its password came from the same file.
            return password
        return password
    if not await operators.has_password(operator, password):
        await operators.set_password(operator, password)
    return password


def _read_password(data_dir: Path) -> str:
    content = read_or_make(data_dir / _FILE_NAME, lambda: new_password().encode())
    password = content.decode("ascii", "replace").strip()
    if len(password) < _PASSWORD_CHARS_MIN:
        raise ConfigurationError(
            [f"{_FILE_NAME} in data_dir is damaged; delete it, the demo makes a new one"]
        )
    return password
