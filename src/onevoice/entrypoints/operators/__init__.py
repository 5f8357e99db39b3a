"""Operators: who they are, their passwords, API tokens and console sessions.

Secrets are shown once and kept as hashes. The tables are read before the account of a caller is known, so that
everything here uses the flow role's database; what a caller may then see is narrowed to its account by the
API role. Nothing here depends on the JSON API: the console signs in through ``Sessions``.
"""

from onevoice.entrypoints.operators.accounts import Operator, Operators
from onevoice.entrypoints.operators.authentication import OperatorAuthenticator
from onevoice.entrypoints.operators.passwords import Passwords
from onevoice.entrypoints.operators.principal import Authenticator, Principal, Role
from onevoice.entrypoints.operators.sessions import Session, Sessions, SignedIn

__all__ = [
    "Authenticator",
    "Operator",
    "OperatorAuthenticator",
    "Operators",
    "Passwords",
    "Principal",
    "Role",
    "Session",
    "Sessions",
    "SignedIn",
]
