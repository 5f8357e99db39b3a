"""What WhatsApp says of messages we sent, and of messages the business sent from its own phone."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from onevoice.adapters.channels.whatsapp.parse import parse
from onevoice.ports.channel import EchoItem, StatusItem
from onevoice.vocabulary import ErrorAction, StopAi
from tests.wire.whatsapp.wire import ROUTE, Json, envelope, one_echo, one_status, one_unknown, recorded

STATUS: Json = {
    "id": "wamid.OUT.1",
    "status": "sent",
    "timestamp": "1790000101",
    "recipient_id": "5511999990000",
}
ECHO: Json = {
    "from": "551130000000",
    "to": "5511999990000",
    "id": "wamid.ECHO.1",
    "timestamp": "1790000200",
    "type": "text",
    "text": {"body": "ja te ajudo"},
}


def test_the_recorded_statuses_are_read() -> None:
    """A sent one with our correlation id, and a failure that came after the 200 (acceptance fixture 11)."""
    sent, failed = parse(envelope(recorded("statuses")))

    assert isinstance(sent, StatusItem)
    assert (sent.external_id, sent.status, sent.route) == ("wamid.EXAMPLE.OUT.0001", "sent", ROUTE)
    assert sent.correlation_id == "out_01J0EXAMPLE"
    assert sent.at == datetime.fromtimestamp(1790000101, UTC)
    assert sent.recipient_aliases == ("phone:5511999990000", "bsuid:BR.1000000000000000001")
    assert sent.error is None
    assert isinstance(failed, StatusItem)
    assert failed.error is not None
    assert (failed.error.action, failed.error.code) == (ErrorAction.NEEDS_TEMPLATE, "131047")
    assert failed.error.detail.startswith("Re-engagement message: More than 24 hours")


@pytest.mark.parametrize("value", ["sent", "delivered", "read", "played"])
def test_a_status_without_an_error_has_none(value: str) -> None:
    """Only a failure carries what went wrong."""
    item = one_status(STATUS | {"status": value, "errors": [{"code": 131047}]})

    assert (item.status, item.error) == (value, None)
    assert parse(item.raw) == [item]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "deleted"}, "status:deleted"),
        ({"status": "Oi Ana"}, "status:Oi_Ana"),
        ({"status": None}, "status:missing"),
        ({"status": ["sent"]}, "status:missing"),
        ({"type": "call", "status": "RINGING"}, "status:call"),
        ({"recipient_type": "group"}, "group"),
        ({"id": None}, "no_id"),
    ],
)
def test_an_unknown_status_is_stored_as_unknown(changes: Json, reason: str) -> None:
    """A value we do not know never moves a message."""
    item = one_unknown(envelope({"statuses": [STATUS | changes]}))

    assert item.reason == reason
    assert parse(item.raw) == [item]


@pytest.mark.parametrize(
    "errors", [None, [], 7, [7], [{}], [{"code": "x"}], [{"code": None, "title": "odd"}]]
)
def test_a_failure_without_a_readable_code_is_parked(errors: object) -> None:
    """It failed for certain, and nobody knows why: an operator looks at it."""
    error = one_status(STATUS | {"status": "failed", "errors": errors}).error

    assert error is not None
    assert (error.action, error.code) == (ErrorAction.PARK, "none")


def test_an_ambiguous_code_is_definite_in_a_failed_status() -> None:
    """A failed status says that the message was not delivered, so 131000 may be tried again there."""
    error = one_status(STATUS | {"status": "failed", "errors": [{"code": 131000}]}).error

    assert error is not None
    assert (error.action, error.retries_max, error.stop_ai) == (ErrorAction.RETRY, 2, StopAi.NO)


def test_an_error_shows_no_number_of_the_customer() -> None:
    """What is stored and shown of an error is masked."""
    details = {"details": "recipient +55 (11) 99999-0000 or 5511999990000 is not allowed"}
    error = one_status(
        STATUS | {"status": "failed", "errors": [{"code": 131030, "error_data": details}]}
    ).error

    assert error is not None
    assert error.detail == "recipient [masked] or [masked] is not allowed"


def test_a_correlation_id_that_cannot_be_ours_is_dropped() -> None:
    """Ours have at most 512 characters."""
    assert one_status(STATUS | {"biz_opaque_callback_data": "x" * 600}).correlation_id is None


def test_a_status_names_its_recipient_in_canonical_form() -> None:
    """The recipient may be spelled with fewer digits than we sent to."""
    assert one_status(STATUS | {"recipient_id": "551199990000"}).recipient_aliases == ("phone:5511999990000",)
    assert one_status(STATUS | {"recipient_id": None}).recipient_aliases == ()


def test_the_recorded_echo_is_read() -> None:
    """The business answered from its own phone; the contact is who it went to."""
    [item] = parse(json.dumps(recorded("webhook_echo")).encode())

    assert isinstance(item, EchoItem)
    assert (item.external_id, item.type) == ("wamid.EXAMPLE.ECHO.0001", "text")
    assert item.text == "Oi Ana, aqui e o Caio, ja te ajudo"
    assert item.contact.address == "5511999990000"
    assert item.contact.aliases == ("phone:5511999990000", "bsuid:BR.1000000000000000001")
    assert item.sent_at == datetime.fromtimestamp(1790000200, UTC)
    assert parse(item.raw) == [item]


def test_an_echo_to_a_hidden_number_is_known_by_the_scoped_id() -> None:
    """``to`` may be absent."""
    assert one_echo(ECHO | {"to": None, "to_user_id": "BR.1"}).contact.address == "BR.1"


def test_an_echo_without_a_recipient_means_the_only_contact_beside_it() -> None:
    """With one contact there is no doubt; with none or two nobody is guessed."""
    nobody = ECHO | {"to": None}
    ana, beto = {"wa_id": "5511999990000"}, {"wa_id": "5511988880000"}

    assert one_echo(nobody, contacts=[ana]).contact.address == "5511999990000"
    for contacts in ([], [ana, beto]):
        value: Json = {"message_echoes": [nobody], "contacts": contacts}
        assert one_unknown(envelope(value, field="smb_message_echoes")).reason == "no_recipient"


def test_an_echo_in_a_group_is_unknown() -> None:
    """A group is nobody's private chat."""
    value: Json = {"message_echoes": [ECHO | {"group_id": "120363"}]}

    assert one_unknown(envelope(value, field="smb_message_echoes")).reason == "group"


def test_an_echo_under_the_messages_field_is_an_echo() -> None:
    """The list's name tells what it is."""
    [item] = parse(envelope({"message_echoes": [ECHO]}))

    assert isinstance(item, EchoItem)
