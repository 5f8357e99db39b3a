"""The table of Graph errors: which may be sent again, which stop the AI, and which say nothing definite."""

from __future__ import annotations

import pytest

from onevoice.adapters.channels.whatsapp.errors import (
    DETAIL_CHARS_MAX,
    ERROR_RULES,
    classify,
    mask_personal,
    read_error,
)
from onevoice.vocabulary import ErrorAction, StopAi

_NUMBER_STOPS = [0, 3, 10, 200, 250, 299, 190, 33, 368, 131005, 131031, 131045, 133010]


@pytest.mark.parametrize(
    ("codes", "action"),
    [
        ([2, 131016, 131052, 131057, 133004], ErrorAction.RETRY),
        ([4, 17, 613, 80007, 130429, 131056, 131208, 132069], ErrorAction.SLOW),
        ([131047], ErrorAction.NEEDS_TEMPLATE),
        ([131030, 131037, 131042, 131044, 131048, 131060, 131063, 131064, 132001, 132007], ErrorAction.PARK),
        ([132015, 132016, 132068, 133016, 803, 137000, *_NUMBER_STOPS], ErrorAction.PARK),
        ([130472, 130497, 131021, 131026, 131049, 131050], ErrorAction.DROP),
        ([131020, 131041, 131059, 131201, 131207, 131209, 131211, 138000, 138018, 139100], ErrorAction.DROP),
        ([100, 131008, 131009, 131051, 131053, 131062], ErrorAction.FIX),
        ([132000, 132005, 132008, 132012, 135000], ErrorAction.FIX),
        ([1, 131000], ErrorAction.UNKNOWN),
        ([-1, 5, 199, 300, 131200, 131212, 138019, 999999], ErrorAction.PARK),
    ],
)
def test_an_answers_code_decides(codes: list[int], action: ErrorAction) -> None:
    """Each code of the table, and codes at the edges of its ranges, as the answer to a send."""
    assert {code: classify(code, 400, "").action for code in codes} == dict.fromkeys(codes, action)


def test_only_what_is_known_as_not_accepted_is_sent_again() -> None:
    """No ambiguous answer ever becomes RETRY or SLOW."""
    again = {ErrorAction.RETRY, ErrorAction.SLOW}
    ambiguous = [code for code, rule in ERROR_RULES.items() if rule.ambiguous]

    assert sorted(ambiguous) == [1, 131000]
    assert all(classify(code, 500, "").action not in again for code in [*ambiguous, 999999])
    assert [classify(code, None, "").retries_max for code in ambiguous] == [3, 2]


def test_who_is_stopped() -> None:
    """A dead credential stops the number, an unreachable or unverified customer their conversation."""
    stops = {code: classify(code, 400, "").stop_ai for code in ERROR_RULES}

    assert {code for code, stop in stops.items() if stop is StopAi.CHANNEL} == {
        *_NUMBER_STOPS,
        *range(200, 300),
    }
    assert {code for code, stop in stops.items() if stop is StopAi.CONVERSATION} == {131026, 137000}


def test_how_often_and_how_late() -> None:
    """The waits that the table names; the pair rate's is the outbox's own, known by its code."""
    assert classify(131057, 400, "").retry_after_seconds == 60
    assert classify(131052, 400, "").retries_max == 1
    assert classify(80007, 429, "").retry_after_seconds == 120
    pair = classify(131056, 429, "")
    assert (pair.code, pair.retry_after_seconds) == ("131056", None)


def test_only_the_pair_rate_leaves_the_number_at_full_speed() -> None:
    """Throughput and call budgets hold every conversation of the number, the pair rate holds one."""
    slow = {code for code in ERROR_RULES if classify(code, 429, "").slows_channel}

    assert slow == {4, 17, 613, 80007, 130429, 131208, 132069}
    assert classify(None, 429, "").slows_channel


@pytest.mark.parametrize(
    ("status", "action"),
    [
        (500, ErrorAction.UNKNOWN),
        (502, ErrorAction.UNKNOWN),
        (504, ErrorAction.UNKNOWN),
        (408, ErrorAction.UNKNOWN),
        (429, ErrorAction.SLOW),
        (301, ErrorAction.PARK),
        (401, ErrorAction.PARK),
        (404, ErrorAction.PARK),
        (413, ErrorAction.PARK),
    ],
)
def test_without_a_code_the_http_status_decides(status: int, action: ErrorAction) -> None:
    """A proxy's page has no code; a broken gateway may have passed the message on."""
    error = classify(None, status, "")

    assert (error.action, error.code, error.stop_ai) == (action, f"http_{status}", StopAi.NO)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ({"code": 4, "title": "T", "message": "M", "error_data": {"details": "D"}}, 4, "T: D"),
        ({"code": "4", "message": "M"}, 4, "M"),
        ({"code": 4, "title": "T", "error_data": {"details": "T"}}, 4, "T"),
        ({"code": 4, "error_data": {"details": "D"}}, 4, "D"),
        ({"code": True, "error_data": 7}, None, ""),
        ({"code": 4.5}, None, ""),
        ("text", None, ""),
        (None, None, ""),
    ],
)
def test_an_error_of_any_shape_is_read(error: object, code: int | None, words: str) -> None:
    """Code and words, or nothing; never a fault."""
    assert read_error(error) == (code, words)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("to 5511999990000 failed", "to [masked] failed"),
        ("to +55 (11) 99999-0000 failed", "to [masked] failed"),
        ("to BR.1000000000000000001 failed", "to [masked] failed"),
        ("to BR.ENT.2000 failed", "to [masked] failed"),
        ("to ana@example.com failed", "to [masked] failed"),
        ("Malformed access token EAAGexampleexampleexampleexample", "Malformed access token [masked]"),
        ("More than 24 hours", "More than 24 hours"),
        ("at most 4096 characters", "at most 4096 characters"),
    ],
)
def test_personal_data_and_tokens_are_masked(text: str, masked: str) -> None:
    """What is stored, shown and sent to logs holds none of them."""
    assert mask_personal(text) == masked
    assert classify(100, 400, text).detail == masked


def test_a_detail_is_bounded() -> None:
    """However long the words of the API are."""
    assert len(classify(100, 400, "palavra " * 10_000).detail) == DETAIL_CHARS_MAX
