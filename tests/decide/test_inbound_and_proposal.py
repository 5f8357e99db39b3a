"""How an item is stored, what edits and revokes do, and what the agent is given."""

from __future__ import annotations

from itertools import product
from typing import Any
from uuid import UUID

import pytest

from onevoice.flow.gate.policy import Rule, match_policies, promises_human
from onevoice.flow.inbound.decide import (
    Amendment,
    TargetFacts,
    choose_first_state,
    decide_amendment,
    replaces_address,
)
from onevoice.flow.proposal.decide import (
    SHOWN_BYTES_MAX,
    choose_images,
    describe_burst,
    describe_history,
    show_image,
)
from onevoice.ports.channel import ContactRef, ItemKind, MessageItem
from onevoice.vocabulary import InboundState, MediaId, OutboundState
from tests.decide.facts import CHANNEL, at

ANA = ContactRef(address="5511999990000", key="5511999990000", aliases=())


def _item(kind: ItemKind, *, target: str | None = None) -> MessageItem:
    return MessageItem(
        external_id="m1", contact=ANA, kind=kind, type="text", text="oi", raw=b"{}", target_external_id=target
    )


@pytest.mark.parametrize(
    ("kind", "target", "state", "reason", "is_arrival", "pending"),
    [
        (ItemKind.ARRIVAL, None, InboundState.OPEN, None, True, False),
        (ItemKind.ARRIVAL, "m0", InboundState.OPEN, None, True, False),
        (ItemKind.RECORD, "m0", InboundState.RECORDED, "text", False, False),
        (ItemKind.EDIT, "m0", InboundState.RECORDED, "edit", False, True),
        (ItemKind.REVOKE, "m0", InboundState.RECORDED, "revoke", False, True),
        (ItemKind.REVOKE, None, InboundState.RECORDED, "revoke", False, False),
    ],
)
def test_each_kind_of_item(
    kind: ItemKind,
    target: str | None,
    state: InboundState,
    reason: str | None,
    is_arrival: bool,
    pending: bool,
) -> None:
    """Only an arrival opens a burst; every other state has its reason."""
    stored = choose_first_state(_item(kind, target=target))

    assert (stored.state, stored.reason, stored.is_arrival, stored.target_pending) == (
        state,
        reason,
        is_arrival,
        pending,
    )


@pytest.mark.parametrize(
    ("state", "parts", "unsent", "wrote", "expected"),
    [
        (InboundState.OPEN, 0, 0, False, Amendment.APPLY),
        (InboundState.CLAIMED, 0, 0, False, Amendment.APPLY),
        (InboundState.ANSWERED, 2, 2, False, Amendment.SUPERSEDE),
        (InboundState.ANSWERED, 2, 2, True, Amendment.HISTORY),
        (InboundState.ANSWERED, 2, 1, False, Amendment.HISTORY),
        (InboundState.ANSWERED, 1, 0, False, Amendment.HISTORY),
        (InboundState.ANSWERED, 0, 0, False, Amendment.HISTORY),
        (InboundState.CANCELLED, 1, 0, False, Amendment.HISTORY),
        (InboundState.WITHDRAWN, 0, 0, False, Amendment.HISTORY),
        (InboundState.RECORDED, 0, 0, False, Amendment.HISTORY),
    ],
)
def test_what_an_amendment_does(
    state: InboundState, parts: int, unsent: int, wrote: bool, expected: Amendment
) -> None:
    """Before the reply began the message changes; afterwards the change is history."""
    target = TargetFacts(state=state, reply_part_count=parts, reply_unsent_count=unsent, reply_wrote=wrote)

    assert decide_amendment(target) is expected


def test_an_amendment_waits_for_its_target() -> None:
    """An edit may come before the message it edits."""
    assert decide_amendment(None) is Amendment.WAIT


def test_an_amendment_never_takes_back_what_began() -> None:
    """Over every combination: only a wholly unsent reply without a write is superseded."""
    for state, parts, unsent, wrote in product(InboundState, range(4), range(4), (False, True)):
        if unsent > parts:
            continue
        found = decide_amendment(
            TargetFacts(state=state, reply_part_count=parts, reply_unsent_count=unsent, reply_wrote=wrote)
        )
        assert (found is Amendment.SUPERSEDE) is (
            state is InboundState.ANSWERED and 0 < parts == unsent and not wrote
        )


@pytest.mark.parametrize(
    ("key", "replaces"), [("5511999990000", True), ("bsuid:BR.1", False), ("lid:1", True)]
)
def test_a_business_scoped_id_is_no_better_address(key: str, replaces: bool) -> None:
    """A phone is kept as the address once it is known."""
    assert replaces_address(ContactRef(address=key, key=key, aliases=())) is replaces


@pytest.mark.parametrize(
    ("author", "state", "role", "mark"),
    [
        ("customer", None, "customer", None),
        ("ai", OutboundState.SENT, "assistant", None),
        ("ai", OutboundState.UNCERTAIN, "assistant", "uncertain"),
        ("ai", OutboundState.DUE, "assistant", "on_its_way"),
        ("ai", OutboundState.SENDING, "assistant", "on_its_way"),
        ("system", OutboundState.READ, "assistant", None),
        ("operator", OutboundState.DELIVERED, "operator", None),
        ("device", OutboundState.SENT, "operator", None),
    ],
)
def test_who_spoke_and_whether_it_arrived(
    author: str, state: str | None, role: str, mark: str | None
) -> None:
    """The agent sees roles, and doubts are marked."""
    (item,) = describe_history([{"author": author, "text": None, "at": at(0), "state": state}])

    assert (item.role, item.state, item.text) == (role, mark, "")


def test_history_is_oldest_first() -> None:
    """The rows come newest first, because the newest are wanted."""
    rows = [{"author": "ai", "text": str(n), "at": at(n), "state": "sent"} for n in (3, 2, 1)]

    assert [item.text for item in describe_history(rows)] == ["1", "2", "3"]


def _message(**fields: object) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": UUID(int=1), "type": "audio", "text": "[voice message]", "transcription": None, "at": at(0),
        "media_id": UUID(int=2), "kind": "audio", "media_state": "stored", "media_reason": None,
        "mime_type": "audio/ogg", "filename": None, "size_bytes": 9, "transcription_state": None,
    }  # fmt: skip
    return row | fields


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"transcription": "oi", "transcription_state": "done"}, None),
        ({"transcription_state": "waiting"}, "[voice message] [audio not transcribed]"),
        ({"transcription_state": "failed", "media_state": "failed"}, "[voice message] [audio not transcribed]"),
        ({"transcription_state": "silent"}, "[voice message] [nobody speaks in this audio]"),
        ({"kind": "image", "text": "[image] olha"}, "[image] olha"),
        ({"kind": "image", "text": "[image]", "media_state": "waiting"}, "[image] [the file has not arrived yet]"),
        ({"kind": "document", "text": "[document]", "media_state": "failed"},
         "[document] [the file could not be downloaded]"),
        ({"media_id": None, "type": "text", "text": "oi"}, "oi"),
    ],
)  # fmt: skip
def test_a_burst_is_one_part_per_message_and_says_what_is_missing(
    fields: dict[str, object], text: str | None
) -> None:
    """Words stand for their audio; a file that cannot be had is a marked part, not a silence."""
    (part,) = describe_burst([_message(**fields)])

    assert part.text == text
    assert part.transcription == fields.get("transcription")


def test_images_fit_into_one_turn() -> None:
    """The latest are shown, as many as fit; a file that is no image or is not there is none of them."""
    image = {"kind": "image", "mime_type": "image/jpeg"}
    rows = [
        _message(media_id=UUID(int=1), size_bytes=6, **image),
        _message(media_id=UUID(int=2), size_bytes=1, kind="document", mime_type="image/png"),
        _message(media_id=UUID(int=3), size_bytes=5, **image),
        _message(media_id=UUID(int=4), size_bytes=5, **image | {"media_state": "waiting", "mime_type": None}),
        _message(media_id=UUID(int=5), size_bytes=4, kind="sticker", mime_type="image/webp"),
    ]

    messages = describe_burst(rows)

    assert choose_images(messages, bytes_max=10) == [UUID(int=5), UUID(int=3)]
    shown = [show_image(message, {MediaId(UUID(int=3)): b"jpeg"}) for message in messages]
    assert [message.media.content for message in shown if message.media] == [None, None, b"jpeg", None, None]


def test_an_image_that_a_provider_would_refuse_is_described() -> None:
    """It would cost the customer the whole answer."""
    rows = [
        _message(media_id=UUID(int=1), kind="image", mime_type="image/tiff"),
        _message(media_id=UUID(int=2), kind="image", mime_type="image/png", size_bytes=SHOWN_BYTES_MAX + 1),
        _message(media_id=UUID(int=3), kind="image", mime_type="image/png", size_bytes=SHOWN_BYTES_MAX),
    ]

    assert choose_images(describe_burst(rows), bytes_max=10**9) == [UUID(int=3)]


def test_an_opt_out_comes_before_every_policy() -> None:
    """And only as the whole message, whatever its case and its punctuation."""
    rule = Rule(name="all", pattern=None, hours=None, channels=(), suspends=False, note="")

    def match(*texts: str) -> str | None:
        hit = match_policies([rule], ["PARAR"], texts=texts, channel=CHANNEL, now=at(0))
        return hit.reason if hit else None

    assert match("oi", "parar!") == "customer_request"
    assert match("quero parar de fumar") == "policy"


@pytest.mark.parametrize(
    ("text", "promises"),
    [
        ("Vou te transferir para um atendente.", True),
        ("Let me connect you with a specialist", True),
        ("Quer falar com um atendente?", False),
        ("Vou transferir o valor para você.", False),
    ],
)
def test_a_promised_human_is_noticed(text: str, promises: bool) -> None:
    """Saying so is not doing so."""
    assert promises_human([text]) is promises
