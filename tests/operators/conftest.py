"""Operators over a real database, with a cheap hash and the clock in the test's hands."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from argon2 import PasswordHasher

from onevoice.entrypoints.operators import OperatorAuthenticator, Operators, Passwords, Sessions
from onevoice.store.database import Database
from onevoice.testing import CountingChance, ManualClock
from onevoice.vocabulary import AccountId
from tests.builders import new_id

ENVIRONMENT_TOKEN = "environment-token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Everything somebody can come in by."""

    clock: ManualClock
    operators: Operators
    sessions: Sessions
    authenticator: OperatorAuthenticator
    account: AccountId


def cheap_passwords() -> Passwords:
    """The same algorithm with a cost that a test can pay often."""
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def door(database: Database) -> Door:
    clock, passwords = ManualClock(), cheap_passwords()
    account = AccountId(f"account {new_id()}")
    chance = CountingChance(series=new_id().int & 0xFFFF_FFFF)
    operators = Operators(database, clock=clock, chance=chance, passwords=passwords)
    return Door(
        clock=clock,
        operators=operators,
        sessions=Sessions(database, clock=clock, passwords=passwords),
        authenticator=OperatorAuthenticator(
            database, operators, environment_token=ENVIRONMENT_TOKEN, account=account
        ),
        account=account,
    )
