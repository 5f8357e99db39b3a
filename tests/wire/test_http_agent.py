"""The HTTP agent on the wire, against an agent on 127.0.0.1."""

import asyncio
import contextlib
import gzip
import hashlib
import hmac
from collections.abc import AsyncIterator

import httpx2
import pytest

from onevoice.adapters.agents.http import ANSWER_BYTES_MAX, RETRY_AFTER_SECONDS_MAX, HttpAgent
from onevoice.errors import AgentError, ConfigurationError
from onevoice.testing import AgentAnswer, LoopbackAgent, make_turn_context
from onevoice.vocabulary import Proposal

HELLO = {"messages": [{"text": "Olá!"}]}


@pytest.fixture
async def server() -> AsyncIterator[LoopbackAgent]:
    async with LoopbackAgent(otherwise=HELLO) as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as http:
        yield http


def an_agent(
    server: LoopbackAgent,
    http: httpx2.AsyncClient,
    *,
    secret: str | None = None,
    timeout_seconds: float = 5.0,
) -> HttpAgent:
    return HttpAgent(url=server.url, secret=secret, timeout_seconds=timeout_seconds, http=http)


async def failure_of(agent: HttpAgent, *, deadline_seconds: float = 60.0) -> AgentError:
    with pytest.raises(AgentError) as failure:
        await agent.propose(make_turn_context("oi", deadline_seconds=deadline_seconds))
    assert failure.value.retry
    return failure.value


async def test_a_turn_is_one_signed_post(server: LoopbackAgent, http: httpx2.AsyncClient) -> None:
    """The raw body is signed, the turn's id is the idempotency key, and the headers say what it is."""
    context = make_turn_context("oi")
    proposal = await an_agent(server, http, secret="s3cret").propose(context)
    [request] = server.requests

    assert proposal.messages[0].text == "Olá!"
    assert (request.method, request.path) == ("POST", "/agent")
    expected = "sha256=" + hmac.new(b"s3cret", request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-onevoice-signature"] == expected
    assert request.headers["idempotency-key"] == str(context.turn_id)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("onevoice")
    assert request.content["protocol"] == 1


@pytest.mark.parametrize("secret", [None, ""])
async def test_without_a_secret_nothing_is_signed(
    server: LoopbackAgent, http: httpx2.AsyncClient, secret: str | None
) -> None:
    """No secret means no signature header, rather than one of an empty key."""
    await an_agent(server, http, secret=secret).propose(make_turn_context("oi"))

    assert "x-onevoice-signature" not in server.requests[0].headers


async def test_a_wrong_secret_is_refused_by_the_loopback_agent(http: httpx2.AsyncClient) -> None:
    """The signature check of the test server is real: only the same secret passes."""
    async with LoopbackAgent(HELLO, secret="right") as server:
        assert (await failure_of(an_agent(server, http, secret="wrong"))).reason == "agent_http_401"
        assert (await failure_of(an_agent(server, http))).reason == "agent_http_401"
        proposal = await an_agent(server, http, secret="right").propose(make_turn_context("oi"))

    assert proposal.messages[0].text == "Olá!"
    assert [request.signature_valid for request in server.requests] == [False, False, True]


async def test_an_empty_object_is_a_silence(server: LoopbackAgent, http: httpx2.AsyncClient) -> None:
    """An agent may say nothing."""
    server.script({})

    assert await an_agent(server, http).propose(make_turn_context("oi")) == Proposal()


@pytest.mark.parametrize(
    "status", [201, 204, 301, 302, 307, 400, 401, 404, 408, 422, 425, 429, 500, 502, 503]
)
async def test_anything_but_200_is_an_error_with_the_status(
    server: LoopbackAgent, http: httpx2.AsyncClient, status: int
) -> None:
    """The status is in the reason, a redirect is not followed, and nothing is tried twice here."""
    server.script(AgentAnswer(status=status, headers={"location": server.url}))
    failure = await failure_of(an_agent(server, http))

    assert failure.reason == f"agent_http_{status}"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "999999999"}, RETRY_AFTER_SECONDS_MAX),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "²"}, None),
        ({}, None),
    ],
)
async def test_the_agents_own_wait_is_honoured(
    server: LoopbackAgent, http: httpx2.AsyncClient, headers: dict[str, str], seconds: float | None
) -> None:
    """Retry-After counts in both of its forms, within a day; else the back-off is onevoice's."""
    server.script(AgentAnswer(status=429, headers=headers))

    assert (await failure_of(an_agent(server, http))).retry_after_seconds == seconds


@pytest.mark.parametrize(
    "answer",
    [
        AgentAnswer(body=b"<html>"),
        AgentAnswer(body=b'{"messages": 3}'),
        AgentAnswer(body=b" " * ANSWER_BYTES_MAX + b"{}"),
        AgentAnswer(body=gzip.compress(b"{}"), headers={"content-encoding": "gzip"}),
    ],
    ids=["html", "wrong type", "too large", "compressed unasked"],
)
async def test_an_answer_that_cannot_be_used_is_a_bad_answer(
    server: LoopbackAgent, http: httpx2.AsyncClient, answer: AgentAnswer
) -> None:
    """No JSON, wrong types, too many bytes and compression nobody asked for end the same way."""
    server.script(answer)

    assert (await failure_of(an_agent(server, http))).reason == "agent_bad_answer"


async def test_an_answer_of_exactly_the_largest_size_is_read(
    server: LoopbackAgent, http: httpx2.AsyncClient
) -> None:
    """The bound itself is allowed."""
    server.script(AgentAnswer(body=b"{}" + b" " * (ANSWER_BYTES_MAX - 2)))

    assert await an_agent(server, http).propose(make_turn_context("oi")) == Proposal()


@pytest.mark.parametrize(("timeout_seconds", "deadline_seconds"), [(0.05, 60.0), (60.0, 0.05)])
async def test_the_shorter_of_both_limits_ends_the_call(
    server: LoopbackAgent, http: httpx2.AsyncClient, timeout_seconds: float, deadline_seconds: float
) -> None:
    """The configured time-out and the turn's deadline both bound the whole call, and the agent is told."""
    gate = server.script(HELLO, held=True)
    failure = await failure_of(
        an_agent(server, http, timeout_seconds=timeout_seconds), deadline_seconds=deadline_seconds
    )
    gate.open()

    assert failure.reason == "agent_timeout"
    assert "0.05 s" in str(failure)
    turn = server.requests[0].content["turn"]
    assert isinstance(turn, dict)
    assert turn["deadline_seconds"] == 0.05


async def test_a_turn_without_time_left_is_a_time_out(
    server: LoopbackAgent, http: httpx2.AsyncClient
) -> None:
    """A deadline in the past asks nobody and hangs nowhere."""
    assert (await failure_of(an_agent(server, http), deadline_seconds=-1)).reason == "agent_timeout"


async def test_a_connection_closed_without_an_answer_is_unreachable(
    server: LoopbackAgent, http: httpx2.AsyncClient
) -> None:
    """An agent that hangs up gave no answer."""
    server.script(AgentAnswer(hang_up=True))

    assert (await failure_of(an_agent(server, http))).reason == "agent_unreachable"


async def test_nobody_listening_is_unreachable(http: httpx2.AsyncClient) -> None:
    """A port nobody listens on is told as such."""
    async with LoopbackAgent() as gone:
        agent = an_agent(gone, http)

    assert (await failure_of(agent)).reason == "agent_unreachable"


async def test_a_cancelled_call_leaves_the_client_usable(
    server: LoopbackAgent, http: httpx2.AsyncClient
) -> None:
    """Cancelling is no time-out, and the next turn is answered."""
    gate = server.script(HELLO, held=True)
    agent = an_agent(server, http)
    call = asyncio.create_task(agent.propose(make_turn_context("oi")))
    await server.called()
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    gate.open()

    assert call.cancelled()
    assert (await agent.propose(make_turn_context("oi", turn=2))).messages[0].text == "Olá!"


async def test_secrets_of_the_url_stay_out_of_name_and_errors(http: httpx2.AsyncClient) -> None:
    """Only the origin is shown: user, password, path and query are not."""
    async with LoopbackAgent() as gone:
        url = gone.url.replace("http://", "http://user:hunter2@") + "/path-token?key=query-token"
        agent = HttpAgent(url=url, secret="s3cret", timeout_seconds=1, http=http)
    failure = await failure_of(agent)

    for shown in (agent.name, str(failure), repr(failure)):
        assert not any(secret in shown for secret in ("hunter2", "path-token", "query-token", "s3cret"))
    assert agent.name.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("url", ["", "agent", "ftp://host/x", "https://", "http://[::1", "module:answer"])
def test_an_address_that_is_no_url_is_a_configuration_error(url: str, http: httpx2.AsyncClient) -> None:
    """The fault names the key and what would be right."""
    with pytest.raises(ConfigurationError, match=r"agent\.use: .*write http"):
        HttpAgent(url=url, secret=None, timeout_seconds=1, http=http)
