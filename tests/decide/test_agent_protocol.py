"""The HTTP agent's body and answer, without a socket."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.adapters.agents.answer_fields import TEXT_CHARS_MAX
from onevoice.adapters.agents.protocol import (
    MESSAGES_MAX,
    UNNAMED_HANDOFF,
    decode_proposal,
    encode_context,
)
from onevoice.errors import AgentError
from onevoice.testing import make_turn_context
from onevoice.vocabulary import (
    BurstMessage,
    EffectState,
    HandoffRequest,
    HistoryItem,
    Media,
    MediaId,
    MediaKind,
    MediaState,
    MessageId,
    OutgoingMessage,
    Proposal,
    UntoldEffect,
    Usage,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def decode(**answer: object) -> Proposal:
    return decode_proposal(json.dumps(answer).encode())


def test_the_body_is_the_contracts() -> None:
    """Every field of contract section 4 is there, under its name, with times in UTC."""
    audio_id = MessageId(make_turn_context("x", turn=7).messages[0].id)
    audio = BurstMessage(
        id=audio_id,
        type="audio",
        text=None,
        at=NOON.astimezone(timezone(timedelta(hours=-3))) + timedelta(milliseconds=250),
        transcription="pra sexta",
    )
    context = make_turn_context(
        "queria marcar",
        audio,
        history=[
            HistoryItem(role="customer", text="oi", at=NOON),
            HistoryItem(role="assistant", text="Olá!", at=NOON, state="on_its_way"),
        ],
        effects=[UntoldEffect(tool="book", args={"day": "sexta"}, state=EffectState.DONE, result="ok")],
        at=NOON,
        attempt=2,
    )
    body = json.loads(encode_context(context, deadline_seconds=45.0))

    assert body == {
        "protocol": 1,
        "turn": {
            "id": str(context.turn_id),
            "attempt": 2,
            "authority_version": 1,
            "correlation_id": "turn-1",
            "deadline_seconds": 45.0,
        },
        "conversation": {
            "id": str(context.conversation_id),
            "channel": "loja",
            "contact": {"id": "5511999990000", "name": "Ana"},
        },
        "effects": [{"tool": "book", "args": {"day": "sexta"}, "state": "done", "result": "ok"}],
        "history": [
            {"role": "customer", "text": "oi", "at": "2026-11-30T12:00:00Z"},
            {"role": "assistant", "text": "Olá!", "at": "2026-11-30T12:00:00Z", "state": "on_its_way"},
        ],
        "messages": [
            {
                "id": str(context.messages[0].id),
                "type": "text",
                "text": "queria marcar",
                "at": "2026-11-30T12:00:00Z",
            },
            {
                "id": str(audio_id),
                "type": "audio",
                "text": None,
                "transcription": "pra sexta",
                "at": "2026-11-30T12:00:00.250000Z",
            },
        ],
    }


def test_a_file_is_told_of_and_never_carried() -> None:
    """What it is, whether it is there, and where to fetch it; the bytes stay out of the body."""
    spare = make_turn_context("x", turn=7).messages[0]
    media = Media(
        id=MediaId(spare.id),
        kind=MediaKind.IMAGE,
        state=MediaState.STORED,
        mime_type="image/png",
        size_bytes=3,
        url="https://chat.example.com/api/v1/media/1",
        content=b"png",
    )
    gone = Media(
        id=media.id, kind=MediaKind.DOCUMENT, state=MediaState.FAILED, reason="gone", filename="a.pdf"
    )
    context = make_turn_context(replace(spare, media=media), replace(spare, media=gone))

    said = json.loads(encode_context(context, deadline_seconds=1.0))["messages"]

    assert [message["media"] for message in said] == [
        {
            "id": str(media.id),
            "kind": "image",
            "state": "stored",
            "reason": None,
            "mime_type": "image/png",
            "filename": None,
            "size_bytes": 3,
            "url": "https://chat.example.com/api/v1/media/1",
        },
        {
            "id": str(media.id),
            "kind": "document",
            "state": "failed",
            "reason": "gone",
            "mime_type": None,
            "filename": "a.pdf",
            "size_bytes": None,
            "url": None,
        },
    ]


def test_half_a_surrogate_pair_does_not_break_the_body() -> None:
    """A text that is no valid Unicode still makes a body that is."""
    body = encode_context(make_turn_context("a\ud800b"), deadline_seconds=1.0)

    assert json.loads(body)["messages"][0]["text"] == "a?b"


def test_a_full_answer_becomes_a_proposal() -> None:
    """Each key of the contract has its place in the proposal; unknown ones are ignored."""
    proposal = decode(
        messages=[{"text": "Sexta às 9h está livre. Confirmo?", "mood": "glad"}],
        handoff={"reason": "customer_request", "note": "contrato", "summary": "cliente antigo"},
        confidence=0.82,
        wrote=True,
        usage={"input_tokens": 812, "output_tokens": 40, "model": "m-1"},
        later_invention=[1],
    )

    assert proposal == Proposal(
        messages=(OutgoingMessage(text="Sexta às 9h está livre. Confirmo?"),),
        handoff=HandoffRequest(reason="customer_request", note="contrato", summary="cliente antigo"),
        confidence=0.82,
        wrote=True,
        usage=Usage(input_tokens=812, output_tokens=40, model="m-1"),
    )


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"messages": []},
        {"messages": None, "handoff": None, "confidence": None, "wrote": None, "usage": None},
        {"messages": [{"text": " \n"}, {"text": ""}, {}, {"text": None}]},
    ],
)
def test_neither_words_nor_handoff_is_a_silence(answer: dict[str, object]) -> None:
    """Absent, null and blank are the same: nothing is said, on purpose."""
    assert decode(**answer) == Proposal()


@pytest.mark.parametrize(
    ("handoff", "expected"),
    [
        ({"reason": "low_confidence"}, HandoffRequest(reason="low_confidence")),
        ({}, HandoffRequest(reason=UNNAMED_HANDOFF)),
        ({"note": "n"}, HandoffRequest(reason=UNNAMED_HANDOFF, note="n")),
        ({"reason": "Quer um humano"}, HandoffRequest(reason=UNNAMED_HANDOFF, note="Quer um humano")),
        ({"reason": "Preço!", "note": "n"}, HandoffRequest(reason=UNNAMED_HANDOFF, note="Preço!\nn")),
        ({"reason": "a" * 65}, HandoffRequest(reason=UNNAMED_HANDOFF, note="a" * 65)),
        ({"reason": "policy\n"}, HandoffRequest(reason=UNNAMED_HANDOFF, note="policy\n")),
        ({"reason": ""}, HandoffRequest(reason=UNNAMED_HANDOFF)),
    ],
)
def test_a_reason_that_is_no_code_moves_into_the_note(
    handoff: dict[str, object], expected: HandoffRequest
) -> None:
    """The wish for a human counts, whatever the agent called it."""
    assert decode(handoff=handoff).handoff == expected


def test_what_the_database_cannot_hold_is_taken_out() -> None:
    """NUL and half surrogate pairs are removed, the rest of the text stays."""
    answer = b'{"messages": [{"text": "a\\u0000b\\ud800c"}], "handoff": {"reason": "x", "note": "\\u0000n"}}'
    proposal = decode_proposal(answer)

    assert proposal.messages[0].text == "ab?c"
    assert proposal.handoff == HandoffRequest(reason="x", note="n")


BAD_ANSWERS: list[dict[str, object]] = [
    {"messages": {"text": "x"}},
    {"messages": ["x"]},
    {"messages": [{"text": 3}]},
    {"messages": [{"text": "x"}] * (MESSAGES_MAX + 1)},
    {"messages": [{"text": "x" * (TEXT_CHARS_MAX + 1)}]},
    {"handoff": True},
    {"handoff": {"reason": 3}},
    {"handoff": {"reason": "x", "note": []}},
    {"handoff": {"reason": "x", "summary": {}}},
    {"confidence": "0.5"},
    {"confidence": True},
    {"confidence": 1.01},
    {"confidence": -0.01},
    {"wrote": "yes"},
    {"wrote": 1},
    {"usage": 3},
    {"usage": {"input_tokens": "3"}},
    {"usage": {"input_tokens": True}},
    {"usage": {"output_tokens": -1}},
    {"usage": {"output_tokens": 2**31}},
    {"usage": {"model": 1}},
]


@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=lambda answer: str(answer)[:40])
def test_a_wrong_type_is_a_bad_answer(answer: dict[str, object]) -> None:
    """A key of the wrong type or beyond its bound is named, and nothing of the answer is used."""
    with pytest.raises(AgentError) as failure:
        decode(**answer)

    assert failure.value.reason == "agent_bad_answer"
    assert failure.value.retry
    assert (
        next(iter(answer)) in str(failure.value)
        or "text" in str(failure.value)
        or "reason" in str(failure.value)
    )


def test_the_bounds_themselves_are_taken() -> None:
    """As many messages and characters as allowed, and both ends of the confidence, are fine."""
    messages = [{"text": "x" * TEXT_CHARS_MAX}] * MESSAGES_MAX

    assert len(decode(messages=messages).messages) == MESSAGES_MAX
    assert [decode(confidence=end).confidence for end in (0, 1)] == [0.0, 1.0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"ok",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"x"',
        b"[" * 100_000,
        b'{"confidence": NaN}',
        b"\x1f\x8b",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_json_object_is_a_bad_answer(body: bytes) -> None:
    """Any bytes end in one error, which does not repeat them."""
    with pytest.raises(AgentError) as failure:
        decode_proposal(body)

    assert failure.value.reason == "agent_bad_answer"
    assert failure.value.__cause__ is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["messages", "handoff", "confidence", "wrote", "usage", "text", "reason", "note"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_a_proposal_or_a_bad_answer(answer: object) -> None:
    """Whatever an agent answers, one of two things comes out, and a proposal can be stored."""
    outcome: str | list[str]
    try:
        outcome = [message.text for message in decode_proposal(json.dumps(answer).encode()).messages]
    except AgentError as failure:
        outcome = failure.reason

    assert outcome == "agent_bad_answer" or all(text.strip() and "\x00" not in text for text in outcome)
