"""Who wrote: phone numbers in all their spellings, business-scoped ids, and people who change either."""

from __future__ import annotations

import pytest

from onevoice.adapters.channels.whatsapp.contact import alias_of, canonical_phone, is_phone
from tests.wire.whatsapp.wire import CONTACT, Json, message, one_message, recorded

BSUID = "BR.1000000000000000001"
PARENT = "BR.ENT.2000000000000000001"


def test_phone_and_scoped_ids_are_all_aliases() -> None:
    """Whichever of them comes alone next time finds the same contact."""
    contact = one_message(message(), contacts=[CONTACT]).contact

    assert contact.address == "5511999990000"
    assert contact.key == "phone:5511999990000"
    assert contact.aliases == ("phone:5511999990000", f"bsuid:{BSUID}", f"bsuid:{PARENT}")


def test_contacts_match_by_id_and_not_by_place() -> None:
    """The first entry may be somebody else's."""
    other: Json = {"wa_id": "5511977770000", "profile": {"name": "Outra"}, "user_id": "BR.2"}
    assert one_message(message(), contacts=[other, CONTACT]).contact.name == "Ana Exemplo"
    assert one_message(message(), contacts=[other]).contact.aliases == ("phone:5511999990000",)
    assert one_message(message(), contacts=[other]).contact.name is None


@pytest.mark.parametrize("contacts", [None, [], 7, {}, [7], [{}], [{"profile": 3}], [{"wa_id": None}]])
def test_a_message_needs_no_contacts(contacts: object) -> None:
    """Missing or unreadable contacts do not lose the message (acceptance fixture 5)."""
    assert one_message(message(), contacts=contacts).contact.address == "5511999990000"


def test_a_contact_without_a_phone_matches_by_its_scoped_id() -> None:
    """Somebody who hides their number is known and answered by the scoped id."""
    hidden: Json = {"user_id": BSUID, "profile": {"name": "Ana"}}
    contact = one_message(message(from_=None, from_user_id=BSUID), contacts=[hidden]).contact

    assert (contact.address, contact.key, contact.name) == (BSUID, f"bsuid:{BSUID}", "Ana")


def test_a_phone_that_only_the_contact_tells_is_the_address() -> None:
    """The phone is the surer way to answer, wherever it stood."""
    contact = one_message(message(from_=None, from_user_id=BSUID), contacts=[CONTACT]).contact

    assert contact.address == "5511999990000"
    assert contact.key == "phone:5511999990000"


def test_a_scoped_id_under_from_is_still_a_scoped_id() -> None:
    """It is recognised by its shape."""
    contact = one_message(message(from_=BSUID)).contact

    assert (contact.address, contact.aliases) == (BSUID, (f"bsuid:{BSUID}",))


def test_the_address_keeps_the_spelling_of_the_channel() -> None:
    """Matching is normalised; sending is not."""
    contact = one_message(message(from_="551199990000")).contact

    assert contact.address == "551199990000"
    assert contact.key == "phone:5511999990000"


@pytest.mark.parametrize(
    ("phone", "canonical"),
    [
        ("5511999990000", "5511999990000"),
        ("551199990000", "5511999990000"),
        ("+55 (11) 9999-0000", "5511999990000"),
        ("551160000000", "5511960000000"),
        ("551130000000", "551130000000"),
        ("551150000000", "551150000000"),
        ("550199990000", "550199990000"),
        ("5491123456789", "5491123456789"),
        ("541123456789", "5491123456789"),
        ("5215512345678", "525512345678"),
        ("525512345678", "525512345678"),
        ("14155550100", "14155550100"),
        ("351912345678", "351912345678"),
    ],
)
def test_a_number_has_one_canonical_form(phone: str, canonical: str) -> None:
    """Brazil's ninth digit, Argentina's 9 and Mexico's 1 make no second contact; landlines stay."""
    assert canonical_phone(phone) == canonical
    assert canonical_phone(canonical) == canonical
    assert alias_of(phone) == f"phone:{canonical}"


@pytest.mark.parametrize("address", [BSUID, PARENT, "", "abc", "55119999x", "٥٥١١", "1" * 40])
def test_what_is_no_phone_is_a_scoped_id(address: str) -> None:
    """The alias says which of the two it is."""
    assert not is_phone(address)
    assert alias_of(address) == f"bsuid:{address}"


def test_a_changed_number_belongs_to_the_same_person() -> None:
    """The old number finds the conversation, the new one becomes its alias and its address."""
    contact = one_message(recorded("message_system")).contact

    assert contact.key == "phone:5511999990000"
    assert contact.address == "5511977770000"
    assert contact.aliases == ("phone:5511977770000", "phone:5511999990000")


def test_the_older_spelling_of_a_changed_number_is_read() -> None:
    """Old payloads say ``new_wa_id`` and ``customer``."""
    system = {"type": "customer_changed_number", "new_wa_id": "5511977770000", "customer": "5511999990000"}
    contact = one_message(message(type="system", system=system)).contact

    assert (contact.key, contact.address) == ("phone:5511999990000", "5511977770000")


def test_a_changed_scoped_id_belongs_to_the_same_person() -> None:
    """Old and new id are both aliases; the phone stays the address."""
    contact = one_message(recorded("message_user_changed_user_id")).contact

    assert (contact.address, contact.key) == ("5511999990000", "phone:5511999990000")
    assert contact.aliases == ("phone:5511999990000", "bsuid:BR.3000000000000000003", f"bsuid:{BSUID}")


def test_a_changed_scoped_id_without_a_phone_is_answered_at_the_new_one() -> None:
    """The old id no longer reaches anybody."""
    contact = one_message(recorded("message_user_changed_user_id") | {"from": None}).contact

    assert (contact.address, contact.key) == ("BR.3000000000000000003", f"bsuid:{BSUID}")


def test_other_system_messages_change_nobody() -> None:
    """An id in a system message of another type is not an alias."""
    system = {"type": "customer_identity_changed", "wa_id": "5511977770000"}

    assert one_message(message(type="system", system=system)).contact.aliases == ("phone:5511999990000",)


def test_an_id_too_long_to_be_a_key_names_nobody() -> None:
    """Aliases are keys of a table."""
    assert one_message(message(from_user_id="B" * 600)).contact.aliases == ("phone:5511999990000",)
