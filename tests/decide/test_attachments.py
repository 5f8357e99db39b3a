"""Files before their message, templates behind a closed window, and simpler forms of what a channel lacks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from onevoice.errors import MediaUnavailable, MessageUnsendable
from onevoice.flow.attachment.decide import (
    Prepared,
    check_content,
    choose_kind,
    compose_leniently,
    simplify,
)
from onevoice.flow.attachment.link import LINK_SECONDS_MAX, is_link_good, signed_media_path
from onevoice.flow.outbox.decide import (
    RETRY_SECONDS_MAX,
    UPLOAD_SECONDS_MIN,
    UPLOAD_TRIES_MAX,
    After,
    Begin,
    Drop,
    Hold,
    Lend,
    Waits,
    decide_begin,
    decide_upload_failed,
    upload_seconds,
)
from onevoice.testing import RecordingChannel
from onevoice.vocabulary import (
    AccountId,
    AfterUncertain,
    Button,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    Menu,
    MenuRow,
    MenuSection,
    OutboundState,
    OutgoingMedia,
    OutgoingMessage,
    Reaction,
    Template,
)
from tests.decide.facts import at, conversation, lane, message

ID = MediaId(UUID(int=7))
PICTURE = {"type": "image", "media": str(ID)}
FILE = Media(id=ID, kind=MediaKind.IMAGE, state=MediaState.STORED, mime_type="image/png", size_bytes=2**20)
WANTED: dict[str, Any] = {"file": FILE, "upload_days": 29.0}
WAITS = Waits(uncertain_wait_seconds=90.0, after_uncertain=AfterUncertain.PARK, jitter=0.5)


def a_lane(facts: dict[str, Any], **head: Any) -> Begin | Hold | Drop | Lend:
    return decide_begin(lane(conversation(), message(payload=PICTURE, **head), **facts))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (WANTED, Lend(seconds=UPLOAD_SECONDS_MIN + 4)),
        ({"upload_days": None, "file": FILE}, Begin(pair_spent=0.0)),
        ({**WANTED, "uploaded_as": "91", "uploaded_at": at(0)}, Begin(pair_spent=0.0)),
        (
            {**WANTED, "uploaded_as": "91", "uploaded_at": at(0) - timedelta(days=28, hours=23)},
            Begin(pair_spent=0.0),
        ),
        (
            {**WANTED, "uploaded_as": "91", "uploaded_at": at(0) - timedelta(days=29)},
            Lend(seconds=UPLOAD_SECONDS_MIN + 4),
        ),
        # A row that is gone is found out by the upload, which then ends the message.
        ({**WANTED, "file": None}, Lend(seconds=UPLOAD_SECONDS_MIN)),
        # Whatever holds a message back holds its file back too.
        ({**WANTED, "channel_slow_until": at(4)}, Hold(until=at(4), reason="channel_slow")),
    ],
)
def test_a_file_goes_first_where_the_channel_wants_it(
    facts: dict[str, Any], expected: Begin | Hold | Lend
) -> None:
    """Unless it has it already, and for long enough."""
    assert a_lane(facts) == expected


def test_an_upload_that_runs_keeps_its_lane() -> None:
    """Its lease is the due time."""
    assert a_lane(WANTED, due_at=at(20)) == Hold(until=at(20), reason="not_due")


def test_a_larger_file_may_take_longer() -> None:
    """100 MiB on a slow line, and still an end."""
    assert upload_seconds(None) == UPLOAD_SECONDS_MIN
    assert upload_seconds(100 * 2**20) == UPLOAD_SECONDS_MIN + 400


@pytest.mark.parametrize("type_", ["template", "image", None])
def test_only_a_template_passes_a_closed_window(type_: str | None) -> None:
    """At the instant it closes."""
    payload = {"type": type_} if type_ else {}
    found = decide_begin(lane(conversation(window_expires_at=at(0)), message(payload=payload)))

    parked = Drop(state=OutboundState.PARKED, reason="needs_template")
    assert found == (Begin(pair_spent=0.0) if type_ == "template" else parked)


@pytest.mark.parametrize(
    ("tries", "error", "expected"),
    [
        (
            1,
            MediaUnavailable("channel_131053", retry=False),
            After(state=OutboundState.FAILED, reason="media_refused", error_code="channel_131053"),
        ),
        (
            1,
            MediaUnavailable("away"),
            After(state=OutboundState.DUE, reason="upload_failed", due_in_seconds=1.0, error_code="away"),
        ),
        (
            3,
            MediaUnavailable("away"),
            After(state=OutboundState.DUE, reason="upload_failed", due_in_seconds=4.0, error_code="away"),
        ),
        (
            1,
            MediaUnavailable("busy", retry_after_seconds=120.0),
            After(state=OutboundState.DUE, reason="upload_failed", due_in_seconds=120.0, error_code="busy"),
        ),
        (
            UPLOAD_TRIES_MAX,
            MediaUnavailable("away"),
            After(state=OutboundState.PARKED, reason="retries_exhausted", error_code="away"),
        ),
    ],
)
def test_an_upload_that_failed(tries: int, error: MediaUnavailable, expected: After) -> None:
    """Again with back-off, then a human; what is wrong with the file itself ends its message."""
    assert decide_upload_failed(message(upload_try_count=tries), error, WAITS) == expected


def test_the_wait_for_an_upload_has_an_end() -> None:
    """However often it failed."""
    after = decide_upload_failed(message(upload_try_count=5), MediaUnavailable("away"), WAITS)

    assert after.due_in_seconds is not None
    assert after.due_in_seconds <= RETRY_SECONDS_MAX


MENU = Menu(
    button="Ver",
    sections=(
        MenuSection(title="Quinta", rows=(MenuRow(id="1", title="10h", description="centro"),)),
        MenuSection(rows=(MenuRow(id="2", title="11h"),)),
    ),
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            OutgoingMessage(media=OutgoingMedia(id=ID, kind=MediaKind.IMAGE, filename="a.png")),
            OutgoingMessage(media=OutgoingMedia(id=ID, filename="a.png")),
        ),
        (OutgoingMessage(media=OutgoingMedia(id=ID)), None),
        (
            OutgoingMessage(text=" ", buttons=(Button(id="s", title="Sim"), Button(id="n", title="Não"))),
            OutgoingMessage(text="1. Sim\n2. Não"),
        ),
        (
            OutgoingMessage(text="Escolha", menu=MENU),
            OutgoingMessage(text="Escolha\n\nQuinta\n1. 10h – centro\n2. 11h"),
        ),
        (OutgoingMessage(template=Template(name="t", language="pt")), None),
        (OutgoingMessage(text="oi"), None),
    ],
)
def test_a_simpler_form_says_the_same(given: OutgoingMessage, expected: OutgoingMessage | None) -> None:
    """Every title and every file is still there."""
    assert simplify(given) == expected


def test_what_has_no_simpler_form_is_refused() -> None:
    """With the channel's own reason; what fits goes as it is."""
    channel = RecordingChannel()
    given = OutgoingMessage(text="Escolha", menu=MENU)
    fits = compose_leniently(channel.compose, Prepared(message=given))
    channel.unsupported = frozenset({"menu", "reaction"})
    simpler = compose_leniently(channel.compose, Prepared(message=given))
    with pytest.raises(MessageUnsendable, match="reaction"):
        compose_leniently(
            channel.compose,
            Prepared(message=OutgoingMessage(reaction=Reaction(message="m", emoji="👍"))),
        )

    assert [part.payload.get("type") for part in (*fits, *simpler)] == ["menu", None]


@pytest.mark.parametrize(
    "message_",
    [
        OutgoingMessage(media=OutgoingMedia(id=ID), buttons=(Button(id="a", title="a"),)),
        OutgoingMessage(text="oi", template=Template(name="t", language="pt")),
        OutgoingMessage(text="oi", reaction=Reaction(message="m", emoji="👍")),
        OutgoingMessage(media=OutgoingMedia()),
        OutgoingMessage(media=OutgoingMedia(id=ID, content=b"x")),
    ],
)
def test_a_message_is_one_thing(message_: OutgoingMessage) -> None:
    """Two contents have no order in which they could be sent."""
    with pytest.raises(MessageUnsendable) as refused:
        check_content(message_)

    assert refused.value.code == "content_ambiguous"


@pytest.mark.parametrize(
    ("message_", "words"),
    [
        (OutgoingMessage(text="oi"), "oi"),
        (OutgoingMessage(text="o mapa", media=OutgoingMedia(id=ID)), "o mapa"),
        (OutgoingMessage(media=OutgoingMedia(id=ID)), "[file]"),
        (OutgoingMessage(media=OutgoingMedia(id=ID, kind=MediaKind.AUDIO)), "[audio]"),
        (
            OutgoingMessage(media=OutgoingMedia(id=ID, kind=MediaKind.DOCUMENT, filename="nota.pdf")),
            "[document: nota.pdf]",
        ),
        (OutgoingMessage(template=Template(name="retomar", language="pt")), "[template: retomar]"),
        (OutgoingMessage(reaction=Reaction(message="m", emoji="👍")), "[reaction: 👍]"),
        (OutgoingMessage(reaction=Reaction(message="m", emoji="")), "[reaction: taken back]"),
    ],
)
def test_every_message_has_words(message_: OutgoingMessage, words: str) -> None:
    """For the history, the timeline and triage."""
    assert message_.words == words
    assert not message_.is_blank


def test_nothing_is_blank() -> None:
    """White space is nothing."""
    assert OutgoingMessage().is_blank
    assert OutgoingMessage(text=" \n").is_blank


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [
        ("image/png", MediaKind.IMAGE),
        ("audio/ogg", MediaKind.AUDIO),
        ("video/mp4", MediaKind.VIDEO),
        ("application/pdf", MediaKind.DOCUMENT),
        ("text/html", MediaKind.DOCUMENT),
    ],
)
def test_a_type_has_a_kind(mime_type: str, kind: MediaKind) -> None:
    """What nobody looks at or listens to is a document."""
    assert choose_kind(mime_type) is kind


def test_a_link_lives_an_hour_at_most() -> None:
    """However long was asked for; a longer one that somebody signed is not ours."""
    account = AccountId("a&b=c")
    path = signed_media_path(account, ID, secret="s", now=at(0), seconds=10**9)
    expires = int(path.partition("expires=")[2].partition("&")[0])
    signature = path.rpartition("signature=")[2]
    good = {"expires": expires, "signature": signature, "secret": "s"}

    assert expires == int(at(LINK_SECONDS_MAX).timestamp())
    assert is_link_good(account, ID, **good, now=at(LINK_SECONDS_MAX - 1))  # type: ignore[arg-type]  # By name.
    assert not is_link_good(account, ID, **good, now=at(LINK_SECONDS_MAX))  # type: ignore[arg-type]  # By name.
    assert not is_link_good(account, ID, **good, now=at(-100))  # type: ignore[arg-type]  # By name.
    assert not is_link_good(AccountId("a"), ID, **good, now=at(0))  # type: ignore[arg-type]  # By name.
    assert not is_link_good(account, ID, **{**good, "secret": ""}, now=at(0))  # type: ignore[arg-type]  # By name.
