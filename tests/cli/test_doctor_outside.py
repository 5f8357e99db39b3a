"""What the doctor finds when it asks others: platforms, agents, own modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from onevoice.entrypoints.doctor import Level, as_lines
from onevoice.entrypoints.doctor.channels import check_channels, check_whatsapp, read_answer
from onevoice.entrypoints.doctor.extension import check_agent, check_triage
from onevoice.settings import Settings
from tests.cli.command import PLANTED
from tests.cli.patient import graph, settings, whatsapp


async def test_a_number_that_the_platform_knows_is_ok() -> None:
    """The token goes in a header, to the number's own address; name and quality are shown."""
    body = {
        "verified_name": "Loja\nda Ana",
        "display_phone_number": "+55 11 99999-0000",
        "quality_rating": "GREEN",
    }
    async with graph(200, body) as fake:
        found = await check_whatsapp(whatsapp(fake.url + "/v23.0"))

    assert found.level is Level.OK
    assert found.what == 'the number of "Loja da Ana" answers; its quality is green'
    (head,) = fake.heads
    assert head.startswith("GET /v23.0/100000000000001?fields=verified_name")
    assert f"Bearer {PLANTED}" in head


@pytest.mark.parametrize(
    ("status", "body", "level", "what"),
    [
        (200, {"verified_name": "A", "quality_rating": "RED"}, "warning", 'the number of "A" answers; '),
        (200, {"verified_name": "A"}, "ok", 'the number of "A" answers; its quality is unknown'),
        (
            401,
            {"error": {"code": 190, "error_subcode": 463}},
            "fault",
            "access_token is invalid or has expired (code 190, s",
        ),
        (400, {"error": {"code": 0}}, "fault", "access_token is invalid or has expired (code 0)"),
        (
            400,
            {"error": {"code": 100, "message": PLANTED}},
            "fault",
            "the platform does not know this phone_number_id",
        ),
        (404, {"error": {"code": 803}}, "fault", "the platform does not know this phone_number_id"),
        (403, {"error": {"code": 10}}, "fault", "the token lacks a permission (code 10)"),
        (403, {"error": {"code": 200}}, "fault", "the token lacks a permission (code 200)"),
        (400, {"error": {"code": 80007}}, "warning", "the platform limits the rate of calls (code 80007)"),
        (500, {"error": {"code": 2}}, "fault", "the platform refuses (code 2, HTTP 500)"),
        (200, {"error": {"code": 190}}, "fault", "access_token is invalid or has expired (code 190)"),
        (404, None, "fault", "graph_url answers 404 with something that is no Graph API's"),
        (200, None, "fault", "graph_url answers 200 with something that is no Graph API's"),
        (400, {"error": PLANTED}, "fault", "graph_url answers 400 with something that is no Graph API's"),
    ],
)
def test_each_answer_of_the_platform_has_its_sentence(
    status: int, body: dict[str, Any] | None, level: str, what: str
) -> None:
    """Codes are shown, the platform's words are not; whatever is not ok says what to do."""
    found = read_answer("channel loja", status, body)

    assert found.level == level
    assert found.what.startswith(what)
    assert PLANTED not in found.what + found.act
    assert bool(found.act) is (level != "ok")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 50_000, b"\xff\xfe"])
async def test_an_answer_that_is_no_json_object_is_a_fault(body: bytes) -> None:
    """A wrong graph_url is told from a wrong token."""
    async with graph(200, body) as fake:
        found = await check_whatsapp(whatsapp(fake.url))

    assert found.level is Level.FAULT
    assert "no Graph API's" in found.what


async def test_a_platform_that_does_not_answer_is_a_fault() -> None:
    """Nobody listens on the port."""
    async with graph(200, {}) as fake:
        url = fake.url
    found = await check_whatsapp(whatsapp(url))

    assert found.level is Level.FAULT
    assert found.what.startswith("the platform does not answer (")


async def test_the_token_is_not_sent_unencrypted() -> None:
    """Beyond loopback, http:// is a fault and nothing is called."""
    found = await check_whatsapp(whatsapp("http://192.0.2.1/v23.0"))

    assert found.what == "graph_url is not encrypted, so the token was not sent"


async def test_the_webhook_s_address_is_shown() -> None:
    """It is what must be entered at the platform; its verify_token is not shown."""
    async with graph(200, {"verified_name": "A"}) as fake:
        found = await check_channels(
            Settings(
                channels=(whatsapp(fake.url),),
                server=settings(server={"public_url": "https://chat.example.com/x/"}).server,
            )
        )

    assert [finding.name for finding in found] == ["channel loja", "channel loja webhook"]
    assert found[1].what == "https://chat.example.com/x/webhooks/loja"
    assert PLANTED not in as_lines(found)


async def test_webchat_asks_nobody_and_no_channel_is_a_warning() -> None:
    """There is nothing to call."""
    (found,) = await check_channels(settings(channels=[{"name": "site", "kind": "webchat"}]))
    (nothing,) = await check_channels(Settings())

    assert found.level is Level.OK
    assert nothing.level is Level.WARNING


@pytest.mark.parametrize(
    ("status", "secret", "level", "what"),
    [
        (405, "s", "ok", "its URL answers"),
        (405, "", "warning", "its URL answers; requests are not signed"),
        (404, "s", "warning", "its server answers, but not under this path (404)"),
    ],
)
async def test_an_http_agent_that_answers_is_reached(status: int, secret: str, level: str, what: str) -> None:
    """Any answer will do; the request asks it to do nothing."""
    async with graph(status, b"") as fake:
        found = await check_agent(settings(agent={"use": fake.url + "/agent", "secret": SecretStr(secret)}))

    assert (found.level, found.what) == (level, what)
    assert fake.heads[0].startswith("HEAD /agent ")


async def test_an_http_agent_that_does_not_answer_is_a_fault() -> None:
    """Nobody listens on the port."""
    async with graph(200, b"") as fake:
        url = fake.url
    found = await check_agent(settings(agent={"use": url}))

    assert found.level is Level.FAULT
    assert found.what.startswith("its URL does not answer within 3 s (")


@pytest.mark.parametrize(
    ("name", "source", "use", "level", "what"),
    [
        (
            "doctor_good",
            "async def agent(c): return ''",
            "doctor_good:agent",
            "ok",
            "doctor_good:agent can be imported",
        ),
        (
            "doctor_deep",
            "class A:\n  def b(self): ...",
            "doctor_deep:A.b",
            "ok",
            "doctor_deep:A.b can be imported",
        ),
        (
            "doctor_plain",
            "agent = 3",
            "doctor_plain:agent",
            "fault",
            "doctor_plain:agent is neither a function nor an",
        ),
        ("doctor_lacks", "", "doctor_lacks:agent", "fault", "doctor_lacks has no agent, "),
        ("doctor_none", "", "doctor_none_:agent", "fault", "there is no module doctor_none_"),
        (
            "doctor_needs",
            "import not_there_at_all",
            "doctor_needs:agent",
            "fault",
            "there is no module not_there_at_all",
        ),
        (
            "doctor_raise",
            f"raise OSError('{PLANTED}')",
            "doctor_raise:a",
            "fault",
            "doctor_raise fails when it is imported (OSE",
        ),
        (
            "doctor_exit",
            "raise SystemExit(3)",
            "doctor_exit:a",
            "fault",
            "doctor_exit fails when it is imported (SystemExit)",
        ),
        (
            "doctor_syntax",
            "def (",
            "doctor_syntax:a",
            "fault",
            "doctor_syntax fails when it is imported (SyntaxError)",
        ),
    ],
)
async def test_an_own_agent_is_imported_from_beside_the_configuration(
    tmp_path: Path, name: str, source: str, use: str, level: str, what: str
) -> None:
    """The configuration's folder is first on the path; what a failing module says is not repeated."""
    (tmp_path / f"{name}.py").write_text(source)

    found = await check_agent(settings(agent={"use": use}).located_in(tmp_path))

    assert found.level == level
    assert found.what.startswith(what)
    assert PLANTED not in found.what + found.act


def test_what_an_agent_prints_stays_out_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` on stdout remains JSON."""
    (tmp_path / "doctor_prints.py").write_text("print('hello')\ndef agent(c): ...")

    found = check_triage(settings(triage={"use": "doctor_prints:agent"}).located_in(tmp_path))

    assert found.level is Level.OK
    assert capsys.readouterr().out == ""


def test_triage_longer_than_the_reply_waits_is_a_warning() -> None:
    """Its answer would always come too late."""
    late = check_triage(settings(outbox={"hold_ladder_seconds": [0.5]}))

    assert late.level is Level.WARNING
    assert late.what == "may take 2 s, but a reply waits for 0.5 s at most"
    assert check_triage(Settings()).level is Level.OK
