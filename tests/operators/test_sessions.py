"""Signing in, staying in and being put out."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from onevoice.entrypoints.operators import Operator, Passwords, Role, Sessions, SignedIn
from onevoice.entrypoints.operators.secret import new_password
from onevoice.errors import SignInLimited, SignInRefused
from onevoice.log_format import KeyValueFormatter
from onevoice.store.database import Database
from onevoice.vocabulary import AccountId
from tests.builders import new_id
from tests.operators.conftest import Door, cheap_passwords

if TYPE_CHECKING:
    from tests.conftest import Connection

PASSWORD = "correct-horse-battery"
HOUR, DAY = 3600.0, 86400.0


@pytest.fixture
async def ana(door: Door) -> Operator:
    return await door.operators.add(door.account, "ana", role=Role.OPERATOR, password=PASSWORD)


async def sign_in(
    door: Door, name: str = "ana", password: str = PASSWORD, *, address: str = "192.0.2.1", **options: Any
) -> SignedIn:
    return await door.sessions.sign_in(
        name, password, address=address, account=options.pop("account", door.account), **options
    )


async def refused(door: Door, *arguments: str, **options: Any) -> None:
    with pytest.raises(SignInRefused, match="Name or password is wrong, or the operator is disabled"):
        await sign_in(door, *arguments, **options)


async def test_a_session_knows_its_operator(door: Door, ana: Operator) -> None:
    """Who signed in is who the cookie leads to, with the CSRF token that the forms carry."""
    signed_in = await sign_in(door)

    session = await door.sessions.read(signed_in.secret)

    assert session == signed_in.session
    assert session is not None
    assert (session.principal.account, session.principal.operator_id) == (door.account, ana.id)
    assert session.is_csrf_token(session.csrf_token)
    assert not any(session.is_csrf_token(shown) for shown in (None, "", "x", "é", signed_in.secret))


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ana", ""),
        ("ana", PASSWORD + " "),
        ("ana", PASSWORD.upper()),
        ("ana", "x" * 100_000),
        ("Ana", PASSWORD),
        ("nobody", PASSWORD),
        ("", ""),
        ("a\x00na", "\x00"),
        ("\udcff", "\udcff"),
        ("x" * 100_000, PASSWORD),
    ],
)
async def test_every_refusal_is_the_same(door: Door, ana: Operator, name: str, password: str) -> None:
    """A wrong password and an unknown name are told alike; no input makes it fail otherwise."""
    assert ana.has_password
    await refused(door, name, password)


async def test_without_a_password_nobody_signs_in(door: Door, ana: Operator) -> None:
    """Neither who has only tokens, nor the automation, nor who is disabled, nor the name's account neighbour."""
    await door.operators.add(door.account, "bot", role=Role.ADMIN)
    await door.operators.automation(door.account)
    await refused(door, "bot", "")
    await refused(door, "automation", "")
    await refused(door, account=AccountId(f"other {new_id()}"))
    await door.operators.disable(ana)
    await refused(door)


async def test_an_unknown_name_costs_the_same_hash(database: Database, door: Door, ana: Operator) -> None:
    """The work that time could tell of is one check in every case."""
    passwords = CountingPasswords()
    sessions = Sessions(database, clock=door.clock, passwords=passwords)
    await passwords.matches("warm", None)
    costs: list[int] = []
    for name, password in ((ana.name, PASSWORD), (ana.name, "wrong"), ("nobody", "wrong")):
        before = passwords.count
        try:
            await sessions.sign_in(name, password, address="192.0.2.1", account=door.account)
        except SignInRefused:
            assert name != ana.name or password != PASSWORD
        costs.append(passwords.count - before)

    assert costs == [1, 1, 1]


async def test_a_session_ends_when_it_is_idle(door: Door, ana: Operator) -> None:
    """Each look keeps it alive for twelve hours more."""
    secret = (await sign_in(door)).secret
    for _ in range(3):
        await door.clock.advance(12 * HOUR - 60)
        assert await door.sessions.read(secret) is not None

    await door.clock.advance(12 * HOUR + 1)

    assert ana.has_password
    assert await door.sessions.read(secret) is None


async def test_a_session_ends_for_good_after_a_week(door: Door, ana: Operator) -> None:
    """However busy it is."""
    secret = (await sign_in(door)).secret
    for _ in range(16):
        await door.clock.advance(10 * HOUR)
        assert await door.sessions.read(secret) is not None

    await door.clock.advance(8 * HOUR + 1)

    assert ana.has_password
    assert await door.sessions.read(secret) is None


async def test_looking_often_writes_rarely(door: Door, ana: Operator, owner: Connection) -> None:
    """Within a minute the time a session was seen is not written again."""
    secret = (await sign_in(door)).secret
    await door.clock.advance(59)
    await door.sessions.read(secret)
    first = await owner.fetchval("select seen_at - created_at from operator_session")
    await door.clock.advance(2)
    await door.sessions.read(secret)
    second = await owner.fetchval("select seen_at - created_at from operator_session")

    assert ana.has_password
    assert (first.total_seconds(), second.total_seconds()) == (0, 61)


async def test_signing_in_rotates_and_signing_out_ends(door: Door, ana: Operator) -> None:
    """The browser's old session ends with the new one; another browser's goes on."""
    elsewhere = await sign_in(door)
    old = await sign_in(door)
    new = await sign_in(door, replaces=old.secret)

    assert len({elsewhere.secret, old.secret, new.secret}) == 3
    assert old.session.csrf_token != new.session.csrf_token
    assert await door.sessions.read(old.secret) is None
    await door.sessions.sign_out(new.secret)
    assert await door.sessions.read(new.secret) is None
    assert await door.sessions.read(elsewhere.secret) is not None
    await door.sessions.sign_out(None)
    assert ana.has_password


async def test_a_new_password_and_disabling_end_every_session(door: Door, ana: Operator) -> None:
    """Whoever had the old password is out at once, and the old password too."""
    first, second = await sign_in(door), await sign_in(door)
    await door.operators.set_password(ana, "another-password")

    assert await door.sessions.read(first.secret) is None
    assert await door.sessions.read(second.secret) is None
    await refused(door)
    third = await sign_in(door, password="another-password")
    await door.operators.disable(ana)
    assert await door.sessions.read(third.secret) is None


@pytest.mark.parametrize("secret", [None, "", "x", "x" * 10_000, "\x00", "\udcff"])
async def test_another_text_is_no_session(door: Door, ana: Operator, secret: str | None) -> None:
    """A cookie may hold anything."""
    await sign_in(door)

    assert ana.has_password
    assert await door.sessions.read(secret) is None


async def test_guessing_one_name_is_slowed_from_everywhere(door: Door, ana: Operator) -> None:
    """After ten attempts a name waits, also with the right password; another name does not."""
    await door.operators.add(door.account, "rui", role=Role.OPERATOR, password=PASSWORD)
    for number in range(10):
        await refused(door, "ana", "wrong", address=f"192.0.2.{number}")

    with pytest.raises(SignInLimited) as limited:
        await sign_in(door, address="198.51.100.1")

    assert 0 < limited.value.retry_after_seconds <= 10
    await sign_in(door, "rui")
    await door.clock.advance(limited.value.retry_after_seconds)
    assert (await sign_in(door, address="198.51.100.1")).session.principal.operator_id == ana.id


async def test_guessing_from_one_address_is_slowed_for_every_name(door: Door, ana: Operator) -> None:
    """After thirty attempts an address waits; another address does not."""
    for number in range(30):
        await refused(door, f"name {number}", "wrong")

    with pytest.raises(SignInLimited):
        await sign_in(door)
    assert (await sign_in(door, address="198.51.100.1")).session.principal.operator_id == ana.id


async def test_old_sessions_are_swept(door: Door, ana: Operator, owner: Connection) -> None:
    """A sign-in removes what is past its absolute end."""
    await sign_in(door)
    await door.clock.advance(8 * DAY)
    await sign_in(door)

    assert ana.has_password
    assert await owner.fetchval("select count(*) from operator_session") == 1


async def test_no_secret_is_in_a_table_or_a_log_line(
    door: Door, owner: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """Passwords, tokens and session secrets are kept as hashes only, and no line names one."""
    caplog.set_level("DEBUG")
    password = new_password()
    operator = await door.operators.add(door.account, "eva", role=Role.ADMIN, password=password)
    token = await door.operators.give_token(operator)
    await door.authenticator.authenticate(token)
    signed_in = await sign_in(door, "eva", password)
    await door.sessions.read(signed_in.secret)
    await refused(door, "eva", "guessed-wrong-password")
    await refused(door, "guessed-wrong-name", password)
    secrets = [password, token, signed_in.secret, "guessed-wrong-password", "guessed-wrong-name"]

    tables = await owner.fetch("select quote_ident(relname) as name from pg_class where relkind = 'r' "
                               "and relnamespace = 'public'::regnamespace")  # fmt: skip
    kept = ""
    for table in tables:
        rows = await owner.fetch(f"select t::text as row from {table['name']} t")  # noqa: S608 - Of the catalog.
        kept += "\n".join(row["row"] for row in rows)
    lines = [KeyValueFormatter().format(record) + str(record.__dict__) for record in caplog.records]

    assert "eva" in kept
    assert "$argon2id$" in kept
    for secret in secrets:
        assert secret not in kept
        assert secret.encode().hex() not in kept
        assert not [line for line in lines if secret in line]


class CountingPasswords(Passwords):
    """Counts the hashes that are computed."""

    def __init__(self) -> None:
        super().__init__(cheap_passwords()._hasher)  # pyright: ignore[reportPrivateUsage]
        self.count = 0

    def _verify(self, password: str, hashed: str) -> bool:
        self.count += 1
        return super()._verify(password, hashed)


class WaitingPasswords(Passwords):
    """Every check waits at a gate and counts who waits with it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.at_once = 0
        self.at_once_max = 0
        self._lock = threading.Lock()

    def _matches(self, password: str, hashed: str | None) -> bool:
        with self._lock:
            self.at_once += 1
            self.at_once_max = max(self.at_once_max, self.at_once)
        self.entered.release()
        self.gate.wait(30)
        with self._lock:
            self.at_once -= 1
        return False


async def test_two_hashes_run_at_once_and_no_more(door: Door) -> None:
    """The third waits for a thread, also after a caller of the first two has given up."""
    passwords = WaitingPasswords()
    checks = [asyncio.create_task(passwords.matches(str(number), None)) for number in range(6)]
    for _ in range(2):
        await asyncio.to_thread(passwords.entered.acquire)
    checks[0].cancel()
    started_third = await asyncio.to_thread(passwords.entered.acquire, timeout=0.05)
    passwords.gate.set()
    await asyncio.gather(*checks, return_exceptions=True)

    assert door.account
    assert not started_third
    assert passwords.at_once_max == 2


async def test_a_damaged_hash_opens_nothing() -> None:
    """A row that no longer holds a hash is a wrong password, not a fault."""
    passwords = cheap_passwords()

    assert not await passwords.matches("x", "no hash")
    assert await passwords.matches("x", await passwords.hash("x"))
    assert (await passwords.hash("x")).startswith("$argon2id$")
