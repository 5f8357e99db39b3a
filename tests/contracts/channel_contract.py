"""What every channel promises (ports/channel.py). A subclass adds the ``subject`` fixture, nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from dataclasses import replace
from enum import Enum, auto

import pytest

from onevoice.errors import BodyUnreadable, MediaUnavailable, SignatureInvalid
from onevoice.ports.channel import (
    Accepted,
    Channel,
    Delivery,
    Item,
    MediaRef,
    MessageItem,
    NotSent,
    OutcomeUnknown,
    Refused,
    UnknownItem,
    WebhookRequest,
)
from onevoice.vocabulary import MediaKind, OutgoingMessage

BODIES = [
    b"[]",
    b"{}",
    b"null",
    b"7",
    b'"x"',
    b'[{"a":[1]}]',
    b'{"entry":[{}]}',
    b'{"items":7}',
    b'{"id":[]}',
]
TEXTS = [
    "oi",
    " oi \n",
    "a" * 10_000,
    "palavra " * 2_000,
    "😀" * 5_000,
    "um.\n\ndois. " * 900,
    "\n" * 9_000 + "fim",
]


class Far(Enum):
    """How the other side of a delivery behaves."""

    ACCEPTS = auto()
    REFUSES = auto()
    TAKES_AND_BREAKS_OFF = auto()
    HANGS = auto()
    UNREACHABLE = auto()


class ChannelSubject(ABC):
    """A channel with the hands the contract needs. What it cannot do is declared, and asserted as such."""

    takes_webhooks: bool = True
    """False: its messages come by another door, and every webhook is refused."""
    part_units_max: int | None
    """Most UTF-16 code units of a part; ``None``: a reply is never split."""
    behaviours: frozenset[Far]
    """How its other side can behave."""
    address: str
    channel: Channel

    @abstractmethod
    def body(self, text: str, external_id: str) -> bytes:
        """A genuine body with one text message of a customer."""

    @abstractmethod
    def webhook(self, body: bytes) -> WebhookRequest:
        """The body as the platform would post it, signed where it signs."""

    @abstractmethod
    async def arrange(self, far: Far) -> None:
        """Make the next delivery meet this."""

    @abstractmethod
    def received(self) -> list[str] | None:
        """The texts that reached the other side; ``None`` when there is none to look at."""

    @abstractmethod
    def keep(self, content: bytes) -> MediaRef | None:
        """Let the other side hold this file of a customer; ``None``: its customers send no files."""

    @abstractmethod
    def signs(self) -> list[str]:
        """The messages whose sender was shown that somebody is at work."""

    @abstractmethod
    def now(self) -> float:
        """The channel's monotonic clock."""

    def delivery(self, text: str = "Chega na quinta.", *, seconds: float = 5.0) -> Delivery:
        return Delivery(
            address=self.address,
            text=text,
            correlation_id="message.1",
            deadline=self.now() + seconds,
            key="turn.1",
        )


def _message(items: list[Item]) -> MessageItem:
    [item] = items
    assert isinstance(item, MessageItem)
    return item


async def _reason(subject: ChannelSubject, ref: MediaRef) -> tuple[str, bool]:
    with pytest.raises(MediaUnavailable) as caught:
        async with subject.channel.download(ref):
            raise AssertionError("a file nobody has was handed over")
    return caught.value.reason, caught.value.retry


class ChannelContract:
    def test_a_genuine_webhook_is_let_in_every_time(self, subject: ChannelSubject) -> None:
        """The platform repeats itself: verifying changes nothing. Without webhooks there is no way in."""
        request = subject.webhook(subject.body("oi", "m1"))
        for _ in range(2):
            if subject.takes_webhooks:
                subject.channel.verify(request)
            else:
                with pytest.raises(SignatureInvalid):
                    subject.channel.verify(request)

    def test_a_forged_signature_is_refused(self, subject: ChannelSubject) -> None:
        """One changed character in the signature or in the body, or no signature at all."""
        request = subject.webhook(subject.body("oi", "m1"))
        forged = [
            replace(request, headers={}),
            replace(request, body=request.body + b" "),
            replace(request, body=subject.body("oi!", "m1")),
            *(
                replace(request, headers=dict(request.headers) | {name: spoiled})
                for name, value in request.headers.items()
                for spoiled in (value[:-1], value[::-1], value[:-1] + "é", "", value + ", " + value)
            ),
        ]
        for attempt in forged:
            with pytest.raises(SignatureInvalid):
                subject.channel.verify(attempt)

    def test_a_body_spelled_anew_is_refused(self, subject: ChannelSubject) -> None:
        """The signature is over the bytes, not over what they mean."""
        request = subject.webhook(subject.body("olá", "m1"))
        anew = json.dumps(json.loads(request.body), indent=1).encode()

        assert json.loads(anew) == json.loads(request.body)
        with pytest.raises(SignatureInvalid):
            subject.channel.verify(replace(request, body=anew))

    def test_a_verification_without_our_token_is_not_answered_with_200(self, subject: ChannelSubject) -> None:
        """Nobody proves our URL theirs. A channel whose platform has no such request answers 404."""
        request = WebhookRequest(method="GET", url="/", headers={}, query={}, body=b"")

        assert subject.channel.answer_verification(request).status in {403, 404}

    def test_a_message_is_read(self, subject: ChannelSubject) -> None:
        """Text, id and contact of a genuine message."""
        item = _message(list(subject.channel.parse(subject.body("quero saber o prazo", "m1"))))

        assert item.text == "quero saber o prazo"
        assert item.contact.key in item.contact.aliases
        assert item.contact.address
        assert item.raw

    def test_a_replay_parses_to_the_same_items(self, subject: ChannelSubject) -> None:
        """A redelivery is recognised by its external id; another message has another."""
        channel = subject.channel
        first = channel.parse(subject.body("oi", "m1"))

        assert channel.parse(subject.body("oi", "m1")) == first
        assert (
            _message(list(channel.parse(subject.body("oi", "m2")))).external_id
            != _message(list(first)).external_id
        )

    @pytest.mark.parametrize("body", BODIES)
    def test_an_unknown_shape_is_stored_and_never_raised(self, subject: ChannelSubject, body: bytes) -> None:
        """What is JSON is never an error, and never silently nothing."""
        items = subject.channel.parse(body)

        assert items
        assert all(isinstance(item, UnknownItem) and item.reason and item.raw for item in items)

    @pytest.mark.parametrize("body", [b"", b"{", b"no json", b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
    def test_what_is_no_json_is_unreadable(self, subject: ChannelSubject, body: bytes) -> None:
        """One error, whatever is wrong with the bytes; what our own route wrote may be kept as unknown too."""
        try:
            items = subject.channel.parse(body)
        except BodyUnreadable:
            return
        assert not subject.takes_webhooks
        assert all(isinstance(item, UnknownItem) for item in items)

    def test_a_text_can_be_stored(self, subject: ChannelSubject) -> None:
        """PostgreSQL's text takes neither NUL nor half a surrogate pair."""
        item = _message(list(subject.channel.parse(subject.body("a\x00b\ud83d!", "m1"))))

        assert item.text is not None
        assert "\x00" not in item.text
        assert item.text.encode("utf-8")

    @pytest.mark.parametrize("text", TEXTS)
    def test_parts_fit_and_lose_nothing(self, subject: ChannelSubject, text: str) -> None:
        """In order, none blank, none too long, and all of the text but white space."""
        parts = [part.text for part in subject.channel.compose(OutgoingMessage(text=text))]
        limit = subject.part_units_max

        assert all(part.strip() for part in parts)
        assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text)
        assert (
            len(parts) == 1 if limit is None else all(len(p.encode("utf-16-le")) <= 2 * limit for p in parts)
        )

    @pytest.mark.parametrize("blank", ["", " ", "\n\t "])
    def test_a_blank_text_has_no_parts(self, subject: ChannelSubject, blank: str) -> None:
        """Nothing is sent for nothing."""
        assert list(subject.channel.compose(OutgoingMessage(text=blank))) == []

    async def test_an_accepted_message_has_its_id(self, subject: ChannelSubject) -> None:
        """The id under which receipts will speak of it."""
        await subject.arrange(Far.ACCEPTS)
        outcome = await subject.channel.deliver(subject.delivery())

        assert isinstance(outcome, Accepted)
        assert outcome.external_id
        assert subject.received() in (None, ["Chega na quinta."])

    async def test_a_passed_deadline_sends_nothing(self, subject: ChannelSubject) -> None:
        """The fence of a takeover: too late is not sent."""
        await subject.arrange(Far.ACCEPTS)

        assert isinstance(await subject.channel.deliver(subject.delivery(seconds=0.0)), NotSent)
        assert not subject.received()

    @pytest.mark.parametrize(
        ("far", "expected", "received"),
        [
            (Far.REFUSES, Refused, None),
            (Far.TAKES_AND_BREAKS_OFF, OutcomeUnknown, 1),
            (Far.HANGS, OutcomeUnknown, 1),
            (Far.UNREACHABLE, NotSent, 0),
        ],
    )
    async def test_an_outcome_never_claims_too_much(
        self, subject: ChannelSubject, far: Far, expected: type[object], received: int | None
    ) -> None:
        """One try each. A channel without such an other side accepts, and says so by its behaviours."""
        if far not in subject.behaviours:
            expected, received = Accepted, 1
        else:
            await subject.arrange(far)
        outcome = await subject.channel.deliver(subject.delivery(seconds=0.3))

        assert isinstance(outcome, expected)
        texts = subject.received()
        assert received is None or texts is None or len(texts) == received

    async def test_deliveries_run_side_by_side(self, subject: ChannelSubject) -> None:
        """One instance serves all conversations at once."""
        await subject.arrange(Far.ACCEPTS)
        outcomes = await asyncio.gather(
            *(subject.channel.deliver(replace(subject.delivery(), key=f"turn.{n}")) for n in range(20))
        )

        assert len({outcome.external_id for outcome in outcomes if isinstance(outcome, Accepted)}) == 20

    async def test_a_customers_file_comes_in_pieces(self, subject: ChannelSubject) -> None:
        """Byte for byte; a channel without files says that there is none."""
        content = bytes(range(256)) * 1_000
        ref = subject.keep(content)
        if ref is None:
            ref = MediaRef(kind=MediaKind.IMAGE, external_id="1")
            assert await _reason(subject, ref) == ("no_such_file", False)
            return
        async with subject.channel.download(ref) as stream:
            pieces = [piece async for piece in stream.chunks]

        assert b"".join(pieces) == content
        assert stream.size_bytes in (None, len(content))

    async def test_a_file_nobody_has_is_unavailable_for_good(self, subject: ChannelSubject) -> None:
        """Trying again does not bring it."""
        reason, retry = await _reason(subject, MediaRef(kind=MediaKind.AUDIO, external_id="404"))

        assert re.fullmatch(r"[a-z_]{1,40}", reason)
        assert retry is False

    async def test_a_sign_of_work_is_shown_where_there_is_one(self, subject: ChannelSubject) -> None:
        """How long it stays is said; a channel without one is not harmed by the call."""
        await subject.channel.show_working("wamid.1")

        seconds = subject.channel.working_seconds
        assert seconds is None or seconds >= 5
        assert subject.signs() == ([] if seconds is None else ["wamid.1"])

    async def test_it_can_be_closed_twice(self, subject: ChannelSubject) -> None:
        """Closing is the last call and harmless when repeated."""
        await subject.channel.close()
        await subject.channel.close()
