"""Who a customer is on WhatsApp: the address replies go to, and the canonical keys that recognise them.

Normalised numbers are for matching only. A message is always sent to the exact ``wa_id`` WhatsApp gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from onevoice.ports.channel import ContactRef

_PHONE = re.compile(r"\+?[0-9][0-9 ().\-]{0,30}")
_NOT_DIGIT = re.compile("[^0-9]")
# Mobiles registered before their area got the ninth digit keep eight; landlines start with 2 to 5.
_BRAZIL_EIGHT_DIGITS = re.compile("(55[1-9][1-9])([6-9][0-9]{7})")
_ARGENTINA_WITHOUT_NINE = re.compile("54([1-8][0-9]{9})")
_MEXICO_WITH_ONE = re.compile("521([0-9]{10})")


def is_phone(address: str) -> bool:
    """Whether an address is a phone number; anything else is a business-scoped id."""
    return _PHONE.fullmatch(address) is not None


def canonical_phone(phone: str) -> str:
    """The one form under which all spellings of a number are found.

    >>> canonical_phone("+55 11 9999-0000")
    '5511999990000'
    """
    digits = _NOT_DIGIT.sub("", phone)
    if match := _BRAZIL_EIGHT_DIGITS.fullmatch(digits):
        return f"{match[1]}9{match[2]}"
    if match := _ARGENTINA_WITHOUT_NINE.fullmatch(digits):
        return f"549{match[1]}"
    if match := _MEXICO_WITH_ONE.fullmatch(digits):
        return f"52{match[1]}"
    return digits


def alias_of(identifier: str) -> str:
    """The canonical key of a phone number or of a business-scoped id."""
    return f"phone:{canonical_phone(identifier)}" if is_phone(identifier) else f"bsuid:{identifier}"


def aliases_of(identifiers: Iterable[str | None]) -> tuple[str, ...]:
    """The canonical keys of what is known of one contact, each once, in the order given."""
    return tuple(dict.fromkeys(alias_of(identifier) for identifier in identifiers if identifier))


def contact_of(
    *,
    phones: Iterable[str | None],
    user_ids: Iterable[str | None],
    parent_ids: Iterable[str | None],
    name: str | None,
) -> ContactRef | None:
    """A contact from what is known of it, the most trusted first; ``None`` when nothing names it.

    A parent id alone names nobody a message could be sent to.
    """
    known_phones = [phone for phone in phones if phone]
    known_ids = [user_id for user_id in user_ids if user_id]
    addresses = known_phones + known_ids
    if not addresses:
        return None
    aliases = aliases_of([*addresses, *parent_ids])
    return ContactRef(address=addresses[0], key=aliases[0], aliases=aliases, name=name)
