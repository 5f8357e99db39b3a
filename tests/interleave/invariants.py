"""I1 to I7 over the final rows and the outside world's own record, after recovery has come to its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.interleave.ports import Record

Rows = dict[str, list[Any]]

UNBEGUN = ("revoked", "cancelled", "superseded")
STALE = ("authority_revoked", "newer_message", "lease_lost", "drain")


def judge(rows: Rows, record: Record, *, recovered: bool) -> list[str]:
    """Every violation as one sentence that names its invariant; empty when all hold."""
    found = list(record.violations)
    if not recovered:
        found.append("liveness: recovery goes on for ever")
    found += _lost(rows, record)
    found += _twice(rows, record)
    found += _order(rows, record)
    found += _stuck(rows)
    found += _reasons(rows, record)
    return found


def _lost(rows: Rows, record: Record) -> list[str]:
    found: list[str] = []
    stored = Counter(message["external_id"] for message in rows["inbound"])
    for external_id in sorted(set(record.accepted_webhooks)):
        if stored[external_id] != 1:
            found.append(f"I2: {external_id} was answered with 2xx and is stored {stored[external_id]} times")
    is_ai = all(conversation["authority_state"] == "AI_ACTIVE" for conversation in rows["conversation"])
    for message in rows["inbound"]:
        if message["state"] == "claimed" or (message["state"] == "open" and is_ai):
            found.append(f"I2: {message['external_id']} ends as {message['state']}")
    return found + _unanswered(rows) + _unheard(rows)


def _unanswered(rows: Rows) -> list[str]:
    """What counts as answered by a turn was read by it, and a part of its reply has at least begun."""
    found: list[str] = []
    read = {turn["id"]: turn["message_ids"] for turn in rows["turn"]}
    for message in rows["inbound"]:
        if message["state"] != "answered" or message["state_reason"] != "sealed":
            continue
        if message["id"] not in read.get(message["turn_id"], ()):
            found.append(f"I2: {message['external_id']} was answered by a turn that did not read it")
        parts = [part for part in rows["outbound"] if part["turn_id"] == message["turn_id"]]
        if all(part["state"] in UNBEGUN and part["attempt_count"] == 0 for part in parts):
            found.append(
                f"I2: {message['external_id']} counts as answered and no part of its reply ever began"
            )
    return found


def _unheard(rows: Rows) -> list[str]:
    """Words that came while a turn had the message without them are not closed by that turn's answer."""
    found: list[str] = []
    reading = [tuple(entry) for entry in rows["reading"]]
    for message in rows["inbound"]:
        words = ("transcription", "done", message["id"])
        turn = message["turn_id"]
        if message["state"] != "answered" or message["amended_at"] is None or words not in reading:
            continue
        begun, ended = ("turn", "running", turn), ("turn", "sealed", turn)
        if (
            begun in reading
            and ended in reading
            and begun in reading[: reading.index(words)]
            and words in reading[: reading.index(ended)]
        ):
            found.append(f"I2: the words of {message['external_id']} came during the turn that closed it")
    return found


def _twice(rows: Rows, record: Record) -> list[str]:
    found: list[str] = []
    keys = Counter(seen.key for seen in record.seen)
    found += [f"I3: the customer got {key} {count} times" for key, count in keys.items() if count > 1]
    begun = [effect for effect in rows["effect"] if effect["state"] in ("started", "done", "failed")]
    if len(record.performed) > len(begun):
        found.append(f"I3: {len(begun)} writes were begun, {len(record.performed)} were done")
    for earlier, later in pairwise(begun):
        # An equal call of a later wish is another call, but not before the customer knew of the first.
        is_known = earlier["told_at"] is not None and earlier["told_at"] <= later["started_at"]
        if earlier["key"] == later["key"] and not is_known and earlier["state"] != "failed":
            found.append("I3: a write began again before the customer knew of the first")
    arrivals = sum(
        message["state"] != "recorded"
        or (message["state_reason"] in ("edit", "revoke") and not message["target_pending"])
        for message in rows["inbound"]
    )
    # Words that come late are news as an edit is.
    arrivals += sum(bool(message["transcription"] and message["amended_at"]) for message in rows["inbound"])
    for conversation in rows["conversation"]:
        if conversation["arrival_count"] > arrivals:
            found.append(f"I3: {arrivals} messages count as {conversation['arrival_count']} arrivals")
    for message in rows["inbound"]:
        if message["amended_at"]:
            continue
        # A goodbye answers nothing: the message stays open for the human, or for the AI once it is given back.
        told = {
            seen.key.rsplit(":", 1)[0]
            for seen in record.seen
            if seen.is_ai and message["id"] in seen.text and not seen.text.startswith("bye")
        }
        if len(told) > 1:
            found.append(f"I3: {message['external_id']} was answered by {len(told)} turns")
    return found


def _order(rows: Rows, record: Record) -> list[str]:
    position = {message["key"]: number for number, message in enumerate(rows["outbound"])}
    places = [position[seen.key] for seen in record.seen if seen.key in position]
    if places != sorted(places):
        return [f"I5: messages left in the order {places} of their sealing"]
    return []


def _stuck(rows: Rows) -> list[str]:
    found: list[str] = []
    for message in rows["outbound"]:
        if message["state"] in ("due", "sending", "uncertain"):
            found.append(f"liveness: {message['key']} stays {message['state']}")
    found += ["liveness: a turn runs for ever" for turn in rows["turn"] if turn["state"] == "running"]
    for attempt in rows["attempt"]:
        if attempt["outcome"] is None:
            found.append(f"I3: attempt {attempt['attempt']} of {attempt['outbound_id']} has no outcome")
    for conversation in rows["conversation"]:
        waits = conversation["authority_state"] == "HANDOFF_PENDING" and (
            conversation["authority_owner"] or conversation["authority_reason"] == "device_reply"
        )
        if waits:
            found.append("liveness: a takeover is never confirmed")
    return found


def _reasons(rows: Rows, record: Record) -> list[str]:
    found: list[str] = []
    for turn in rows["turn"]:
        if turn["state"] == "failed" and turn["reason"] in STALE:
            found.append(f"I7: stale work counts as failed: {turn['reason']}")
        if turn["state"] == "failed" and not record.agent_failed:
            found.append(f"I7: a turn failed ({turn['reason']}) though its agent did not")
        if turn["reason"] == "lease_lost" and turn["lease_until"] >= turn["ended_at"]:
            found.append("I4: a turn was given up although its lease stood")
    found += _unread(rows, record)
    found += _seized(rows)
    versions = [entry[3]["version"] for entry in rows["journal"] if entry[0] == "authority"]
    if versions != list(range(2, 2 + len(versions))):
        found.append(f"I1: the authority's versions are {versions}, not one by one")
    for conversation in rows["conversation"]:
        if conversation["authority_version"] != 1 + len(versions):
            found.append("I1: the version and the journal disagree")
    return found


def _unread(rows: Rows, record: Record) -> list[str]:
    """A triage decision covers no more arrivals than its decider had read."""
    if any(message["state"] == "recorded" for message in rows["inbound"]):
        return []
    covered = [
        entry[3]["covers"]
        for entry in rows["journal"]
        if entry[0] == "triage" and entry[3].get("decider") == "gated"
    ]
    return [
        f"triage: a decision covers {count} arrivals, its decider had read {sorted(record.triage_read)}"
        for count in covered
        if count not in record.triage_read
    ]


def _seized(rows: Rows) -> list[str]:
    """Nobody is deprived of a conversation but by force."""
    found: list[str] = []
    owner = None
    for entry in rows["journal"]:
        if entry[0] != "authority":
            continue
        new = entry[3]["owner"]
        if entry[3]["command"] == "take" and owner is not None and new != owner:
            found.append("I1: a conversation was taken from its holder without force")
        owner = new
    return found


def ambiguous_sends(rows: Rows) -> list[tuple[str, bool]]:
    """Every attempt that ended without anybody knowing what the channel did, and whether that is plain to see.

    It is when the channel's own word has come since, or when the message says by its reason that it is unknown.
    """
    messages = {message["id"]: message for message in rows["outbound"]}
    found: list[tuple[str, bool]] = []
    for attempt in rows["attempt"]:
        if attempt["outcome"] in ("unknown", "expired"):
            message = messages[attempt["outbound_id"]]
            is_resolved = message["state"] in ("sent", "delivered", "read", "played") or bool(
                message["reason"]
            )
            found.append((f"attempt {attempt['attempt']} of {message['key']}", is_resolved))
    return found


def describe(violations: Sequence[str]) -> str:
    return "\n".join(f"  {violation}" for violation in violations)
