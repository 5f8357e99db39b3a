"""Operators, their tokens and their passwords."""

from __future__ import annotations

import asyncio
import re

import pytest

from onevoice.entrypoints.operators import Operator, OperatorAuthenticator, Role
from onevoice.entrypoints.operators.secret import is_token, new_password, new_token
from onevoice.errors import OperatorExists, OperatorNameUnusable, OperatorUnknown
from onevoice.store.database import Database
from onevoice.vocabulary import AccountId
from tests.builders import new_id
from tests.operators.conftest import ENVIRONMENT_TOKEN, Door


async def added(door: Door, name: str = "ana", role: Role = Role.OPERATOR) -> Operator:
    return await door.operators.add(door.account, name, role=role)


async def test_a_token_leads_to_its_operator(door: Door) -> None:
    """Account, name and role come from the operator's row."""
    ana = await added(door, role=Role.ADMIN)

    principal = await door.authenticator.authenticate(await door.operators.give_token(ana))

    assert principal is not None
    assert (principal.account, principal.operator_id) == (door.account, ana.id)
    assert (principal.name, principal.role, principal.is_admin) == ("ana", Role.ADMIN, True)


async def test_tokens_have_a_form_and_are_never_the_same() -> None:
    """`ov_` and 43 characters: scanners can find a leaked one, and what has another form is no token."""
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(re.fullmatch(r"ov_[A-Za-z0-9_-]{43}", token) and is_token(token) for token in tokens)
    assert not any(
        is_token(text) for text in ("", "ov_", "ov_" + "a" * 42, "ov_" + "a" * 44, "xx_" + "a" * 43)
    )


@pytest.mark.parametrize(
    "token", ["", "ov_", "ov_" + "a" * 43, "ov_" + "a" * 43 + "\n", "x" * 10_000, "\udcff"]
)
async def test_another_text_is_no_token(door: Door, token: str) -> None:
    """Nothing but a token that was given out is accepted, whatever its form."""
    await door.operators.give_token(await added(door))

    assert await door.authenticator.authenticate(token) is None


async def test_a_disabled_operator_is_refused_at_once_and_comes_back_with_a_new_token(door: Door) -> None:
    """Their tokens are revoked and stay so."""
    ana = await added(door)
    old = await door.operators.give_token(ana)
    assert await door.authenticator.authenticate(old) is not None

    await door.operators.disable(ana)
    assert await door.authenticator.authenticate(old) is None
    await door.operators.enable(ana)
    assert await door.authenticator.authenticate(old) is None
    assert await door.authenticator.authenticate(await door.operators.give_token(ana)) is not None


async def test_a_token_is_replaced_without_a_gap_or_at_once(door: Door) -> None:
    """Earlier tokens work on, unless they are revoked with the new one."""
    ana, rui = await added(door), await added(door, "rui")
    first, of_rui = await door.operators.give_token(ana), await door.operators.give_token(rui)
    second = await door.operators.give_token(ana)
    both = [await door.authenticator.authenticate(token) for token in (first, second)]
    third = await door.operators.give_token(ana, revokes_others=True)

    assert None not in both
    known = [await door.authenticator.authenticate(token) for token in (first, second, third, of_rui)]
    assert [principal is not None for principal in known] == [False, False, True, True]


async def test_a_name_is_once_per_account(door: Door) -> None:
    """The same name in another account is somebody else."""
    other = AccountId(f"other {new_id()}")
    ana = await added(door)

    with pytest.raises(OperatorExists, match="has an operator ana already"):
        await added(door)
    theirs = await door.operators.add(other, "ana", role=Role.OPERATOR)
    principal = await door.authenticator.authenticate(await door.operators.give_token(theirs))

    assert principal is not None
    assert (principal.account, principal.operator_id) == (other, theirs.id)
    assert theirs.id != ana.id


async def test_of_ten_that_add_a_name_at_once_one_does(door: Door) -> None:
    """The others are told that it exists."""
    results = await asyncio.gather(*(added(door) for _ in range(10)), return_exceptions=True)

    assert sum(isinstance(result, OperatorExists) for result in results) == 9
    assert sum(isinstance(result, Operator) for result in results) == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ana",
        "ana ",
        "a\nb",
        "a\x00b",
        "a" * 101,
        "automation",
        "0190a4c2-7f3e-7b11-8a52-0d9f6a1c2e44",
        "\u200bana",
    ],
)
async def test_an_unusable_name_is_refused(door: Door, name: str) -> None:
    """Neither empty, nor invisible, nor like an id, nor the automation's."""
    with pytest.raises(OperatorNameUnusable):
        await added(door, name)


async def test_a_name_is_the_same_however_it_is_written(door: Door) -> None:
    """Composed and decomposed accents are one name."""
    composed, decomposed = "jos\u00e9", "jose\u0301"
    operator = await added(door, decomposed)

    assert operator.name == composed
    assert (await door.operators.find(door.account, decomposed)).id == operator.id


async def test_who_is_unknown_is_told_with_the_next_act(door: Door) -> None:
    """The sentence names the account, the name and the command that lists."""
    with pytest.raises(OperatorUnknown, match="has no operator nobody; `onevoice operator list`"):
        await door.operators.find(door.account, "nobody")


async def test_the_environments_token_is_an_operator_of_its_own(door: Door) -> None:
    """An admin named automation, made once at the first call, however many call at once."""
    principals = await asyncio.gather(
        *(door.authenticator.authenticate(ENVIRONMENT_TOKEN) for _ in range(10))
    )

    assert None not in principals
    assert len(set(principals)) == 1
    [principal] = set(principals)
    assert principal is not None
    assert (principal.account, principal.name, principal.role) == (door.account, "automation", Role.ADMIN)
    [listed] = await door.operators.list(door.account)
    assert listed.operator.id == principal.operator_id
    for token in ("environment-toke", "environment-token ", "ENVIRONMENT-TOKEN"):
        assert await door.authenticator.authenticate(token) is None


async def test_a_disabled_automation_is_refused(door: Door) -> None:
    """The environment's token can be shut out without a restart."""
    await door.authenticator.authenticate(ENVIRONMENT_TOKEN)
    await door.operators.disable(await door.operators.find(door.account, "automation"))

    assert await door.authenticator.authenticate(ENVIRONMENT_TOKEN) is None


@pytest.mark.parametrize("unset", [None, ""])
async def test_without_an_environment_token_nobody_has_one(
    door: Door, database: Database, unset: str | None
) -> None:
    """An empty variable is no password for an empty token."""
    authenticator = OperatorAuthenticator(database, door.operators, environment_token=unset)

    assert await authenticator.authenticate("") is None


async def test_the_list_says_how_they_come_in(door: Door) -> None:
    """By name, with password or tokens; secrets are not part of it."""
    await door.operators.add(door.account, "rui", role=Role.ADMIN, password=new_password())
    ana = await added(door)
    await door.operators.give_token(ana)

    listed = await door.operators.list(door.account)

    assert [(each.operator.name, each.operator.has_password, each.token_count) for each in listed] == [
        ("ana", False, 1),
        ("rui", True, 0),
    ]
    assert await door.operators.list(AccountId("nobody's")) == []
    assert {each.operator.id for each in listed} <= {
        each.operator.id for each in await door.operators.list(None)
    }
