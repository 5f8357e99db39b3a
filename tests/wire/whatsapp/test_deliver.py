"""One send call: what leaves, and what each way of ending is worth."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

import httpx2
import pytest

from onevoice.adapters.channels.whatsapp import WhatsAppChannel
from onevoice.adapters.channels.whatsapp.deliver import ANSWER_BYTES_MAX, read_answer
from onevoice.adapters.clock import SystemClock
from onevoice.ports.channel import Accepted, Delivery, NotSent, Outcome, OutcomeUnknown, Refused
from onevoice.testing.graph_server import (
    Accept,
    BreakOff,
    DropRead,
    DropUnread,
    Hang,
    LoopbackGraph,
    Refuse,
    Reply,
    Slow,
)
from onevoice.vocabulary import ErrorAction, StopAi
from tests.wire.whatsapp.wire import ROUTE, make_channel, message, one_message, one_status

ANA = "5511999990000"
LONG = 1000.0


def delivery(*, address: str = ANA, text: str = "Chega na quinta.", deadline: float = LONG) -> Delivery:
    return Delivery(address=address, text=text, correlation_id="out_1.1", deadline=deadline, key="turn.1")


def channel_to(
    graph: LoopbackGraph, http: httpx2.AsyncClient, monotonic: Callable[[], float] = lambda: 0.0
) -> WhatsAppChannel:
    return make_channel(http, graph_url=graph.url, monotonic=monotonic)


def clock_that_jumps_after(readings: int) -> Callable[[], float]:
    """A clock that stands at 0 for so many readings and is far past every deadline from then on."""
    left = iter(range(readings))
    return lambda: 0.0 if next(left, None) is not None else 1e9


async def test_an_accepted_message_has_its_id(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """The whole request, and the id and aliases of the answer."""
    graph.script(ANA, Accept(external_id="wamid.OUT.1", user_id="BR.1"))
    outcome = await channel_to(graph, http).deliver(delivery())

    assert outcome == Accepted(external_id="wamid.OUT.1", aliases=(f"phone:{ANA}", "bsuid:BR.1"))
    [request] = graph.requests
    assert request.path == f"/v23.0/{ROUTE}/messages"
    assert request.headers["authorization"] == "Bearer token-example"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": ANA,
        "type": "text",
        "text": {"body": "Chega na quinta.", "preview_url": False},
        "biz_opaque_callback_data": "out_1.1",
    }


async def test_a_scoped_id_is_a_recipient(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """Somebody who hides their number is addressed by another key."""
    outcome = await channel_to(graph, http).deliver(delivery(address="BR.1000000000000000001"))

    assert isinstance(outcome, Accepted)
    assert outcome.aliases == ("bsuid:BR.1000000000000000001",)
    assert graph.requests[0].body["recipient"] == "BR.1000000000000000001"
    assert "to" not in graph.requests[0].body


async def test_any_text_arrives_unchanged(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """Accents, emoji, quotes and line breaks."""
    text = 'Olá 😀 "aspas"\n\\barra\u2028fim'
    await channel_to(graph, http).deliver(delivery(text=text))

    assert graph.messages[0].text == text


async def test_sent_to_thirteen_digits_and_known_by_twelve_is_one_contact(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The answer's number, and the number that writes back, have the same alias (acceptance fixture 10)."""
    graph.script(None, Accept(wa_id="551199990000"))
    outcome = await channel_to(graph, http).deliver(delivery())
    writer = one_message(message(from_="551199990000")).contact

    assert isinstance(outcome, Accepted)
    assert outcome.aliases == writer.aliases == (f"phone:{ANA}",)
    assert writer.address == "551199990000"


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (Refuse(code=131047), ErrorAction.NEEDS_TEMPLATE),
        (Refuse(code=131056, http_status=429), ErrorAction.SLOW),
        (Refuse(code=2, http_status=503), ErrorAction.RETRY),
        (Refuse(code=131000, http_status=500), ErrorAction.UNKNOWN),
        (Refuse(code=999999, http_status=500), ErrorAction.UNKNOWN),
        (Refuse(code=999999), ErrorAction.PARK),
        (Refuse(code=100), ErrorAction.FIX),
        (Reply(status=502, body=b"<html>bad gateway</html>"), ErrorAction.UNKNOWN),
        (Reply(status=200, body=b'{"error":{"code":131026}}'), ErrorAction.DROP),
        (Reply(status=200, body=b'{"error":{}}'), ErrorAction.UNKNOWN),
        (Reply(status=413, body=b"too large"), ErrorAction.PARK),
        (Reply(status=307, headers={"location": f"/v23.0/{ROUTE}/messages"}), ErrorAction.PARK),
    ],
)
async def test_a_refusal_is_classified(
    graph: LoopbackGraph, http: httpx2.AsyncClient, answer: Refuse | Reply, action: ErrorAction
) -> None:
    """By its code, else by its status; sent once, and no redirect followed (acceptance fixture 11)."""
    graph.script(ANA, answer)
    outcome = await channel_to(graph, http).deliver(delivery())

    assert isinstance(outcome, Refused)
    assert outcome.error.action is action
    assert len(graph.requests) == 1


async def test_a_refused_address_does_not_hold_another(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The pair rate is one conversation's (acceptance fixture 12, the adapter's half)."""
    graph.script(ANA, Refuse(code=131056, http_status=429))
    channel = channel_to(graph, http)
    outcomes = await asyncio.gather(
        channel.deliver(delivery()), channel.deliver(delivery(address="5511988880000"))
    )

    assert [type(outcome) for outcome in outcomes] == [Refused, Accepted]


async def test_a_dead_token_stops_the_number(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """Code 190 concerns every conversation."""
    graph.script(None, Refuse(code=190, http_status=401))
    outcome = await channel_to(graph, http).deliver(delivery())

    assert isinstance(outcome, Refused)
    assert (outcome.error.action, outcome.error.stop_ai) == (ErrorAction.PARK, StopAi.CHANNEL)


@pytest.mark.parametrize("answer", [DropRead(), DropRead(accepted=False), DropUnread(), BreakOff()])
async def test_a_connection_that_breaks_after_the_first_byte_is_of_unknown_outcome(
    graph: LoopbackGraph, http: httpx2.AsyncClient, answer: DropRead | DropUnread | BreakOff
) -> None:
    """Whether it was taken cannot be told from here, and it is not sent again."""
    graph.script(None, answer)
    outcome = await channel_to(graph, http).deliver(delivery())

    assert isinstance(outcome, OutcomeUnknown)
    assert len(graph.requests) == (0 if isinstance(answer, DropUnread) else 1)


@pytest.mark.parametrize(
    "answer",
    [
        Reply(status=200),
        Reply(status=200, body=b"no json"),
        Reply(status=200, body=b"[" * 300_000),
        Reply(status=200, body=b"[]"),
        Reply(status=200, body=b'{"messages":[]}'),
        Reply(status=200, body=b'{"messages":[{"id":""}]}'),
        Reply(status=200, body=json.dumps({"messages": [{"id": "x" * 600}]}).encode()),
        Reply(status=200, body=b'{"messages":[{"id":"wamid.1"}]}' + b" " * ANSWER_BYTES_MAX),
        Reply(status=200, body=b"\x1f\x8b", headers={"content-encoding": "gzip"}),
    ],
    ids=range(9),
)
async def test_an_answer_without_a_message_id_is_of_unknown_outcome(
    graph: LoopbackGraph, http: httpx2.AsyncClient, answer: Reply
) -> None:
    """A success that does not name the message proves nothing that could be followed."""
    graph.script(None, answer)

    assert isinstance(await channel_to(graph, http).deliver(delivery()), OutcomeUnknown)


async def test_a_call_ends_at_its_deadline_and_its_status_tells_later(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The message left, no answer came; the status carries our correlation id (acceptance fixture 13)."""
    hang = Hang()
    graph.script(ANA, hang)
    outcome = await channel_to(graph, http).deliver(delivery(deadline=0.2))

    assert outcome == OutcomeUnknown(reason="TimeoutError")
    [taken] = graph.messages
    status = one_status(
        {"id": taken.external_id, "status": "sent", "biz_opaque_callback_data": taken.correlation_id}
    )
    assert (status.external_id, status.correlation_id) == (taken.external_id, "out_1.1")
    hang.gate.open()


async def test_a_slow_answer_within_the_deadline_counts(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The client's own limits do not cut a call short."""
    graph.script(ANA, Slow(seconds=0.05))
    hasty = httpx2.AsyncClient(trust_env=False, timeout=0.01)
    async with hasty:
        assert isinstance(await channel_to(graph, hasty).deliver(delivery()), Accepted)


async def test_an_unreachable_api_is_not_sent(http: httpx2.AsyncClient) -> None:
    """No connection, no message."""
    graph = LoopbackGraph()
    await graph.start()
    channel = channel_to(graph, http)
    await graph.stop()

    assert await channel.deliver(delivery()) == NotSent(reason="ConnectError")


async def test_a_connection_that_is_not_up_by_the_deadline_is_not_sent(http: httpx2.AsyncClient) -> None:
    """The handshake never ends: what left is not the message."""

    hung_up = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        hung_up.set()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        channel = make_channel(http, graph_url=f"https://127.0.0.1:{port}")
        outcome = await channel.deliver(delivery(deadline=0.4))
        await hung_up.wait()

    assert outcome == NotSent(reason="ConnectTimeout")


async def test_a_passed_deadline_opens_no_connection(http: httpx2.AsyncClient) -> None:
    """Nothing listens there, and nobody finds out."""
    outcome = await make_channel(http).deliver(delivery(deadline=0.0))

    assert outcome == NotSent(reason="deadline_passed_before_connecting")


async def test_the_deadline_is_checked_after_connecting_and_before_the_first_byte(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """A deadline that passes while the connection comes up stops the message, and harms no later one."""
    late = channel_to(graph, http, clock_that_jumps_after(3))

    assert await late.deliver(delivery()) == NotSent(reason="deadline_passed")
    assert graph.requests == []
    assert isinstance(await channel_to(graph, http).deliver(delivery()), Accepted)
    assert len(graph.requests) == 1


async def test_the_deadline_is_checked_on_a_connection_used_again(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """A connection that is already up is no way around the fence."""
    assert isinstance(await channel_to(graph, http).deliver(delivery()), Accepted)
    late = channel_to(graph, http, clock_that_jumps_after(3))

    assert await late.deliver(delivery()) == NotSent(reason="deadline_passed")
    assert len(graph.requests) == 1


async def test_a_cancelled_call_ends_as_cancelled(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """Cancelling is no outcome; the caller knows that the message may have left."""
    hang = Hang()
    graph.script(ANA, hang)
    call = asyncio.ensure_future(channel_to(graph, http).deliver(delivery()))
    await hang.gate.reached()
    call.cancel()
    await asyncio.wait([call])

    assert call.cancelled()
    assert len(graph.messages) == 1


async def test_a_closed_client_is_not_sent(graph: LoopbackGraph) -> None:
    """A process that drains has sent nothing."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        channel = channel_to(graph, http)

    assert isinstance(await channel.deliver(delivery()), NotSent)


async def test_no_secret_and_no_word_is_logged(
    graph: LoopbackGraph, http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the token nor the text nor the number, even at the finest level."""
    graph.script(None, Accept(), Refuse(code=190, http_status=401), DropRead())
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            await channel_to(graph, http).deliver(delivery())

    assert not [word for word in ("token-example", "quinta", ANA) if word in caplog.text]


async def test_a_token_that_is_no_header_shows_in_no_reason(
    graph: LoopbackGraph, http: httpx2.AsyncClient
) -> None:
    """The reason is the kind of fault alone."""
    channel = WhatsAppChannel(
        name=channel_to(graph, http).name,
        account=channel_to(graph, http).account,
        phone_number_id=ROUTE,
        access_token="secret\r\nx: y",
        app_secrets=("s",),
        verify_token="v",
        graph_url=graph.url,
        http=http,
        files=http,
        monotonic=lambda: 0.0,
    )
    outcome = await channel.deliver(delivery())

    assert isinstance(outcome, NotSent | OutcomeUnknown)
    assert "secret" not in outcome.reason
    assert graph.requests == []


async def test_the_real_clock_gives_the_same_outcomes(graph: LoopbackGraph, http: httpx2.AsyncClient) -> None:
    """Production hands in the process's own clock."""
    clock = SystemClock()
    channel = channel_to(graph, http, clock.monotonic)
    outcome: Outcome = await channel.deliver(delivery(deadline=clock.monotonic() + 5))

    assert isinstance(outcome, Accepted)


def test_an_answer_teaches_only_what_it_says() -> None:
    """Contacts may be missing, and of any shape."""
    shapes: list[object] = [None, [], [7], [{}], {}, [{"wa_id": None}]]
    for contacts in shapes:
        answer = json.dumps({"messages": [{"id": "wamid.1"}], "contacts": contacts}).encode()
        assert read_answer(200, answer) == Accepted(external_id="wamid.1")
