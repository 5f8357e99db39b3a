"""Webchat as a channel, its visitors' secret, and its limits."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onevoice.adapters.channels.webchat import WebchatChannel
from onevoice.entrypoints.http.limits import Slots, TokenBuckets
from onevoice.entrypoints.http.webchat import load_visitor_secret
from onevoice.errors import BodyUnreadable, ConfigurationError, SignatureInvalid
from onevoice.ports.channel import (
    Accepted,
    Channel,
    Delivery,
    ItemKind,
    MessageItem,
    NotSent,
    StatusItem,
    UnknownItem,
    WebhookRequest,
)
from onevoice.testing.manual_clock import ManualClock
from onevoice.vocabulary import AccountId, ChannelName, OutgoingMessage


@pytest.fixture
def channel() -> Channel:
    return WebchatChannel(name=ChannelName("loja"), account=AccountId("default"), clock=ManualClock())


def delivery(*, deadline: float = 1.0, key: str = "turn 1/1") -> Delivery:
    return Delivery(address="v1", text="Olá", correlation_id="c", deadline=deadline, key=key)


async def test_a_delivery_is_accepted_at_once(channel: Channel) -> None:
    """Its external id is fixed by visitor and key, so that a repeated attempt names the same message."""
    first = await channel.deliver(delivery())
    again = await channel.deliver(delivery())

    assert first == again == Accepted(external_id="webchat:v1:turn 1/1", aliases=("visitor:v1",))


async def test_a_late_delivery_is_not_sent(channel: Channel) -> None:
    """After its deadline nothing becomes visible any more."""
    assert await channel.deliver(delivery(deadline=0.0)) == NotSent(reason="deadline_passed")


def test_no_webhook_is_believed(channel: Channel) -> None:
    """The webhook URL of a webchat brings nothing in: only the page's route knows a visitor."""
    request = WebhookRequest(method="POST", url="/webhooks/loja", headers={}, query={}, body=b"{}")

    with pytest.raises(SignatureInvalid, match="/chat/loja"):
        channel.verify(request)
    assert channel.answer_verification(request).status == 404


def test_a_message_is_parsed(channel: Channel) -> None:
    """Visitor and client id make the external id; a NUL, which the database refuses, is dropped."""
    body = rb'{"visitor": "v1", "id": "m1", "text": " a\u0000b ", "name": " "}'
    (item,) = channel.parse(body)

    assert isinstance(item, MessageItem)
    assert (item.external_id, item.text, item.kind, item.raw) == ("v1:m1", "ab", ItemKind.ARRIVAL, body)
    assert (item.contact.address, item.contact.key, item.contact.name) == ("v1", "visitor:v1", None)


def test_receipts_are_parsed(channel: Channel) -> None:
    """One item per message, for the visitor that sent the receipt."""
    items = channel.parse(
        b'{"visitor": "v1", "receipts": ["webchat:v1:a", "webchat:v1:b"], "status": "read"}'
    )

    assert [(i.external_id, i.status, i.recipient_aliases) for i in items if isinstance(i, StatusItem)] == [
        ("webchat:v1:a", "read", ("visitor:v1",)),
        ("webchat:v1:b", "read", ("visitor:v1",)),
    ]


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"visitor": "v1"}', b'{"visitor": 1, "id": "m", "text": "t"}']
)
def test_an_unknown_shape_is_kept(channel: Channel, body: bytes) -> None:
    """What is JSON of another shape is stored as unknown, never an error."""
    assert channel.parse(body) == (UnknownItem(reason="webchat_shape_unknown", raw=body),)


@pytest.mark.parametrize("body", [b"", b"{", b'{"visitor": "\xff"}', b'{"x":' * 20_000])
def test_what_is_no_json_is_unreadable(channel: Channel, body: bytes) -> None:
    """No JSON, or nested without end."""
    with pytest.raises(BodyUnreadable):
        channel.parse(body)


@pytest.mark.parametrize(
    ("text", "parts"), [("  Olá  ", ("Olá",)), ("x" * 50_000, ("x" * 50_000,)), (" \n ", ())]
)
def test_a_reply_is_one_part(channel: Channel, text: str, parts: tuple[str, ...]) -> None:
    """The page carries any length; a blank text has no part."""
    assert tuple(part.text for part in channel.compose(OutgoingMessage(text=text))) == parts


def test_the_secret_is_made_once(tmp_path: Path) -> None:
    """Processes that start at once share one secret, which only the owner may read."""
    folder = tmp_path / "data"
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(load_visitor_secret, [folder] * 16))

    assert len(secrets) == 1
    assert len(secrets.pop()) == 32
    assert [path.name for path in folder.iterdir()] == ["webchat_secret"]
    assert stat.S_IMODE((folder / "webchat_secret").stat().st_mode) == 0o600


def test_a_damaged_secret_is_told(tmp_path: Path) -> None:
    """A file that was cut short is no key."""
    (tmp_path / "webchat_secret").write_bytes(b"short")

    with pytest.raises(ConfigurationError, match="delete it"):
        load_visitor_secret(tmp_path)


async def test_a_bucket_fills_up_again() -> None:
    """A burst at once, then at the rate; the wait that is told is the wait that is needed."""
    clock = ManualClock()
    buckets = TokenBuckets(clock, per_minute=30, burst=2)

    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 2.0]
    assert buckets.take("b") == 0.0
    await clock.advance(1.5)
    assert buckets.take("a") == pytest.approx(0.5)
    await clock.advance(0.5)
    assert [buckets.take("a"), buckets.take("a")] == [0.0, 2.0]
    await clock.advance(3_600)
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 2.0]


def test_buckets_are_bounded() -> None:
    """Beyond the limit the key that was unused for longest is forgotten."""
    buckets = TokenBuckets(ManualClock(), per_minute=1, burst=1, keys_max=2)
    for key in ("a", "b", "a", "c"):
        buckets.take(key)

    assert buckets.take("a") > 0
    assert buckets.take("b") == 0.0


def test_slots_are_given_back() -> None:
    """A key holds at most its slots, and a freed one can be taken again."""
    slots = Slots(per_key=2)

    assert [slots.take("a") for _ in range(3)] == [True, True, False]
    assert slots.take("b")
    slots.free("a")
    assert [slots.take("a"), slots.take("a")] == [True, False]
