"""The other doubles: what they record, what they answer, and how they fail when a script is wrong."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import onevoice.testing
from onevoice.errors import AgentError, BodyUnreadable, SignatureInvalid
from onevoice.ports.channel import (
    Accepted,
    Delivery,
    EchoItem,
    ItemKind,
    MessageItem,
    NotSent,
    OutcomeUnknown,
    StatusItem,
    UnknownItem,
    WebhookRequest,
)
from onevoice.testing import (
    CallCount,
    CountingChance,
    Gate,
    LoopbackAgent,
    ManualClock,
    OutsideConnection,
    RecordingChannel,
    ScriptedAgent,
    ScriptedDecider,
    loopback_only,
    make_turn_context,
)
from onevoice.vocabulary import (
    ChannelName,
    ConversationId,
    OutgoingMessage,
    Proposal,
    TriageDecision,
    TriageRequest,
)


def a_delivery(text: str = "Olá!", *, deadline: float = 10.0) -> Delivery:
    return Delivery(address="ana", text=text, correlation_id="c-1", deadline=deadline, key="k-1")


def a_request() -> TriageRequest:
    return TriageRequest(
        conversation_id=ConversationId(CountingChance().new_id()),
        channel=ChannelName("loja"),
        overtaken=("a",),
        reply=("b",),
        newer=("c",),
    )


def test_every_public_name_is_loaded_on_demand() -> None:
    """Each name of ``__all__`` can be had from the package, and unknown ones are attribute errors."""
    for name in onevoice.testing.__all__:
        assert getattr(onevoice.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="no 'Mock'"):
        _ = onevoice.testing.Mock


def test_importing_the_package_loads_no_double() -> None:
    """The doubles are imported when they are used, not with the package."""
    code = (
        "import sys, onevoice.testing; print([n for n in sys.modules if n.startswith('onevoice.testing.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_counting_ids_sort_and_differ_between_series() -> None:
    """Ids of one series sort in the order they were made and never meet those of another."""
    one, two = CountingChance(series=1), CountingChance(series=2)
    ids = [one.new_id() for _ in range(300)]

    assert ids == sorted(ids)
    assert {made.version for made in ids} == {7}
    assert not set(ids) & {two.new_id() for _ in range(300)}


@pytest.mark.parametrize("arguments", [{"series": -1}, {"series": 2**48}, {"jitter": 1.0}, {"jitter": 0.4}])
def test_chance_out_of_its_range_is_refused(arguments: dict[str, float]) -> None:
    """A jitter or series the port does not allow is refused when the double is made."""
    with pytest.raises(ValueError, match="is a"):
        CountingChance(**arguments)  # pyright: ignore[reportArgumentType]


async def test_a_scripted_agent_follows_its_script() -> None:
    """Entries answer in order: a text, a proposal, a function, an error; then the fallback."""
    agent = ScriptedAgent(
        "one",
        Proposal(silence_reason="nothing"),
        lambda context: f"{len(context.messages)} parts",
        AgentError("agent_http_500"),
        otherwise="again",
    )
    context = make_turn_context("a", "b")

    first, second, third = [await agent.propose(context) for _ in range(3)]
    with pytest.raises(AgentError):
        await agent.propose(context)
    fifth = await agent.propose(context)

    assert [message.text for message in first.messages + third.messages + fifth.messages] == [
        "one",
        "2 parts",
        "again",
    ]
    assert second.silence_reason == "nothing"
    assert agent.contexts == [context] * 5


async def test_an_agent_called_more_often_than_scripted_fails() -> None:
    """A surplus call is the test's failure, not an answer."""
    with pytest.raises(AssertionError, match="called 1 times, more than scripted"):
        await ScriptedAgent().propose(make_turn_context("oi"))


async def test_a_held_agent_waits_for_its_gate() -> None:
    """The test sees the call stand at the gate and decides when it goes on."""
    agent = ScriptedAgent()
    gate = agent.script("late", held=True)
    task = asyncio.create_task(agent.propose(make_turn_context("oi")))
    await agent.called()
    await gate.reached()

    assert not task.done()

    gate.open()
    assert (await task).messages[0].text == "late"


async def test_waiting_for_a_call_that_never_comes_fails_with_a_sentence() -> None:
    """A named signal that never comes is a failure that says what was expected."""
    with pytest.raises(AssertionError, match="the agent was called 0 times within 0 s, expected 1"):
        await CallCount("the agent").reach(1, seconds_max=0)
    with pytest.raises(AssertionError, match="no call reached the gate"):
        await Gate().reached(seconds_max=0)


async def test_a_scripted_decider_follows_its_script() -> None:
    """Decisions come in order, then the fallback; an error is raised."""
    decider = ScriptedDecider(TriageDecision.MERGE, RuntimeError("down"))

    assert await decider.decide(a_request()) is TriageDecision.MERGE
    with pytest.raises(RuntimeError, match="down"):
        await decider.decide(a_request())
    assert await decider.decide(a_request()) is TriageDecision.RELEASE_FIRST
    assert len(decider.requests) == 3


async def test_a_decider_can_be_held() -> None:
    """A held decision comes when its gate opens."""
    decider = ScriptedDecider()
    gate = decider.script(TriageDecision.CANCEL_FIRST, held=True)
    task = asyncio.create_task(decider.decide(a_request()))
    await decider.called()

    assert not task.done()

    gate.open()
    assert await task is TriageDecision.CANCEL_FIRST


async def test_a_channel_accepts_and_records() -> None:
    """Without a script each delivery is accepted under an id of its own."""
    channel = RecordingChannel()
    outcomes = [await channel.deliver(a_delivery(text)) for text in ("um", "dois")]

    assert outcomes == [Accepted(external_id="sent-1"), Accepted(external_id="sent-2")]
    assert channel.sent_texts == ["um", "dois"]


async def test_a_channel_may_deliver_and_lose_the_answer() -> None:
    """An unknown outcome is not seen by the customer unless the script says so."""
    channel = RecordingChannel()
    channel.script(OutcomeUnknown(reason="timeout"))
    channel.script(OutcomeUnknown(reason="timeout"), seen=True)
    await channel.deliver(a_delivery("lost"))
    await channel.deliver(a_delivery("arrived"))

    assert channel.sent_texts == ["arrived"]
    assert [delivery.text for delivery in channel.deliveries] == ["lost", "arrived"]


async def test_a_channel_call_hangs_until_it_is_released() -> None:
    """A held delivery stands at its gate; what it is then answered with is the script's."""
    channel = RecordingChannel()
    gate = channel.script(held=True)
    task = asyncio.create_task(channel.deliver(a_delivery()))
    await channel.called()
    await gate.reached()

    assert not task.done()

    gate.open()
    assert await task == Accepted(external_id="sent-1")


async def test_a_channel_sends_nothing_after_the_deadline() -> None:
    """A delivery whose deadline has passed leaves nothing at the customer's."""
    clock = ManualClock()
    channel = RecordingChannel(clock=clock)
    await clock.advance(10)

    assert await channel.deliver(a_delivery(deadline=10.0)) == NotSent(reason="deadline_passed")
    assert channel.sent == []


def test_a_forged_webhook_is_refused() -> None:
    """A body that another secret signed, or nobody, does not pass."""
    channel, other = RecordingChannel(secret="one"), RecordingChannel(secret="two")
    forged = other.webhook({"id": "m1"})
    unsigned = WebhookRequest(method="POST", url=forged.url, headers={}, query={}, body=forged.body)

    other.verify(forged)
    for request in (forged, unsigned):
        with pytest.raises(SignatureInvalid):
            channel.verify(request)


def test_a_webhook_is_parsed_into_items() -> None:
    """Messages, amendments, statuses and echoes are told apart; what is not known is kept as unknown."""
    channel = RecordingChannel()
    request = channel.webhook(
        {"id": "m1", "from": "ana", "name": "Ana", "text": "oi", "at": "2026-11-30T12:00:00Z"},
        {"id": "m2", "from": "ana", "kind": "revoke", "target": "m1"},
        {"id": "sent-1", "status": "delivered"},
        {"id": "e1", "from": "ana", "echo": True, "text": "do celular"},
        {"id": "m3", "kind": "somersault"},
        {"text": "without an id"},
    )
    message, revoke, status, echo, unknown, nameless = channel.parse(request.body)

    assert isinstance(message, MessageItem)
    assert (message.contact.key, message.contact.name, message.text) == ("ana", "Ana", "oi")
    assert message.sent_at is not None
    assert isinstance(revoke, MessageItem)
    assert (revoke.kind, revoke.target_external_id) == (ItemKind.REVOKE, "m1")
    assert isinstance(status, StatusItem)
    assert isinstance(echo, EchoItem)
    assert isinstance(unknown, UnknownItem)
    assert isinstance(nameless, UnknownItem)


def test_a_webhook_of_another_shape_is_unknown_and_no_json_is_unreadable() -> None:
    """JSON of any shape parses; bytes that are no JSON do not."""
    channel = RecordingChannel()

    for body in (b"[]", b"{}", b'"x"', b'{"items": 3}', b'{"items": [3]}'):
        assert [type(item) for item in channel.parse(body)] == [UnknownItem]
    with pytest.raises(BodyUnreadable):
        channel.parse(b"{")


def test_a_long_text_is_split_without_loss() -> None:
    """The parts joined are the text, and none is longer than the channel carries."""
    composed = RecordingChannel(part_chars_max=3).compose(OutgoingMessage(text="abcdefgh"))
    parts = [part.text for part in composed]

    assert parts == ["abc", "def", "gh"]


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("192.0.2.1", 80)),
        (socket.AF_INET, ("example.org", 80)),
        (socket.AF_INET6, ("2001:db8::1", 80, 0, 0)),
        (socket.AF_INET6, ("::ffff:192.0.2.1", 80, 0, 0)),
    ],
)
def test_an_outside_connection_is_refused(family: socket.AddressFamily, address: tuple[object, ...]) -> None:
    """Addresses and names beyond this machine are refused before a packet leaves, by both ways to connect."""
    with loopback_only(), socket.socket(family) as outside:
        with pytest.raises(OutsideConnection, match="is outside"):
            outside.connect(address)
        with pytest.raises(OutsideConnection, match="is outside"):
            outside.connect_ex(address)


def test_this_machine_can_be_reached_in_every_way(tmp_path: Path) -> None:
    """Unix sockets and the error-code way to connect to loopback pass the guard untouched."""
    with loopback_only(), socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as local:
        listener.bind(str(tmp_path / "s"))
        listener.listen(1)
        local.connect(str(tmp_path / "s"))
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen(1)

            assert client.connect_ex(server.getsockname()) == 0


async def test_the_loopback_agent_has_no_address_before_it_listens() -> None:
    """Asking too early is a mistake that says what to do."""
    with pytest.raises(RuntimeError, match="async context manager"):
        _ = LoopbackAgent().url


async def test_a_caller_that_leaves_in_mid_request_is_no_request() -> None:
    """Half a head is not recorded, and closing the server leaves no task behind."""
    async with LoopbackAgent() as agent:
        port = int(agent.url.split(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /agent HTTP/1.1\r\n")
        writer.write_eof()

        assert await reader.read() == b""

        writer.close()
        await writer.wait_closed()
        assert agent.requests == []


async def test_loopback_stays_open_under_the_guard() -> None:
    """A server on 127.0.0.1 can be reached, by number and by name; the guard ends with its block."""
    untouched = socket.socket.connect
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with loopback_only():
        for host in ("127.0.0.1", "localhost"):
            _, writer = await asyncio.open_connection(host, port, family=socket.AF_INET)
            writer.close()
            await writer.wait_closed()
        with pytest.raises(OutsideConnection):
            await asyncio.open_connection("192.0.2.1", port)
    server.close()
    await server.wait_closed()

    assert socket.socket.connect is untouched
