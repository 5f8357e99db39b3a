"""A turn in words for a model."""

from __future__ import annotations

from dataclasses import replace

from onevoice.adapters.agents.turn_text import added_instructions, burst_parts, past_turns
from onevoice.testing import make_turn_context
from onevoice.vocabulary import EffectState, UntoldEffect


def test_the_past_alternates_and_begins_with_the_user() -> None:
    """Consecutive texts of one side are one turn; blank ones are left out."""
    said = [
        ("operator", "Oi, sou a Bia"),
        ("assistant", "Olá"),
        ("customer", "oi"),
        ("customer", " "),
        ("system", "[x]"),
    ]
    turns = past_turns(make_turn_context("e aí?", history=said))

    assert [(turn.role, turn.texts) for turn in turns] == [
        ("user", ("[the conversation so far]",)),
        ("assistant", ("[human colleague] Oi, sou a Bia", "Olá")),
        ("user", ("oi", "[x]")),
    ]


def test_no_past_is_no_turn() -> None:
    """Nothing is made up for a conversation that begins, or whose past has no words."""
    assert past_turns(make_turn_context("oi")) == ()
    assert past_turns(make_turn_context("oi", history=[("assistant", "")])) == ()


def test_a_message_is_never_empty() -> None:
    """Providers refuse an empty text, so that a wordless message is its kind."""
    spare = make_turn_context("x").messages[0]
    messages = (
        replace(spare, text=" "),
        replace(spare, type="audio", text="[audio]", transcription=" sim "),
        replace(spare, type="audio", text=None, transcription=" "),
    )

    assert burst_parts(replace(make_turn_context("x"), messages=messages)) == (
        "[text]",
        "[transcribed audio] sim",
        "[audio]",
    )


def test_instructions_are_only_what_there_is_to_say() -> None:
    """Without effects and without a line about bursts nothing is added."""
    effects = [
        UntoldEffect(tool="book", args={"day": "sexta"}, state=EffectState.DONE, result={"hour": "9h"}),
        UntoldEffect(tool="call", args={}, state=EffectState.STARTED),
        UntoldEffect(tool="pay", args={}, state=EffectState.FAILED, result="Refused"),
    ]

    assert added_instructions(make_turn_context("oi"), "") == ""
    assert added_instructions(make_turn_context("oi"), "Read them. ") == "Read them."
    assert added_instructions(make_turn_context("oi", effects=effects), "").splitlines()[1:] == [
        '- book {"day": "sexta"} (done): {"hour": "9h"}',
        "- call {} (begun, and nobody knows whether it happened)",
        '- pay {} (failed): "Refused"',
    ]
