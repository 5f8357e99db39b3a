"""The forms a value may take: names, references, URLs, numbers with their bounds.

A form's fault says what is wrong and what would be right, and never repeats the value: it may be a secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, Strict
from pydantic_core import PydanticCustomError

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Count = Annotated[int, Strict()]
Switch = Annotated[bool, Strict()]

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?|\[[0-9a-f:]+\](:[0-9]{1,5})?")
_HOST_PATTERN = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._-]+)*/?")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A name's last label is no number: what looks like one is an address, or nothing a client can call.
_NUMERIC_HOST = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.?")
BUILTIN_AGENTS = ("builtin:demo", "builtin:echo")


def fault(text: str) -> PydanticCustomError:
    """The error a validator raises for one value; ``text`` is "what is wrong; what would be right"."""
    return PydanticCustomError("form", "{text}", {"text": text})


def faults_of_keys(found: list[tuple[str, str]]) -> PydanticCustomError:
    """The error a validator over several keys raises: pairs of key and text."""
    return PydanticCustomError("keys", "{found}", {"found": found})


def nearest(word: str, known: list[str]) -> str:
    """The known word most like ``word``; the first of equals."""
    return max(known, key=lambda candidate: SequenceMatcher(None, word.lower(), candidate.lower()).ratio())


def check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise fault("cannot stand in a URL; use a-z, 0-9, _ and -, at most 63, a letter or digit first")
    return value


def check_line(value: str) -> str:
    if _CONTROL.search(value):
        raise fault("holds a control character or a line break; write it on one line")
    return value


def check_filled(value: str) -> str:
    if not value.strip():
        raise fault("is empty; fill it in")
    return check_line(value)


def check_http_url(value: str) -> str:
    """An absolute http(s) URL without credentials, query or fragment; a trailing slash is dropped."""
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise fault("is no URL; write https://host/path") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise fault("is no web address; write https://host/path (http:// is accepted too)")
    if _NUMERIC_HOST.fullmatch(parts.hostname) and not _is_address(parts.hostname):
        raise fault("has a host of digits that is no address; write four numbers from 0 to 255, or a name")
    if _CONTROL.search(value) or " " in value:
        raise fault("holds a blank or a control character; write https://host/path")
    if "@" in parts.netloc:
        raise fault("holds credentials; leave them out of the URL, there is a key for the secret")
    if parts.fragment:
        raise fault("ends in a #fragment; leave it out")
    return value.rstrip("/")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def check_root_url(value: str) -> str:
    """As ``check_http_url``, and nothing after the path, because paths are appended to it."""
    if "?" in value:
        raise fault("ends in a ?query; leave it out, paths are appended to this URL")
    return check_http_url(value)


def check_origin(value: str) -> str:
    """A site as browsers name it: scheme and host, with a port where it is not the scheme's own; no path."""
    checked = check_root_url(value)
    parts = urlsplit(checked)
    if parts.path:
        raise fault("holds a path; an origin ends after host and port: https://shop.example")
    if not _HOST.fullmatch(parts.netloc):
        raise fault(
            "has a host that browsers write otherwise; use a-z, 0-9, dots and - (punycode), and a port"
        )
    return checked


def check_host_pattern(value: str) -> str:
    """A host's name, or all names below one; never an address, and never a whole top-level domain."""
    checked = value.lower()
    if not _HOST_PATTERN.fullmatch(checked):
        raise fault(
            'names no host; write "media.example" or "*.media.example", without scheme, port and path'
        )
    return checked


def check_color(value: str) -> str:
    if not _COLOR.fullmatch(value):
        raise fault("is no colour; write # and six hexadecimal digits, such as #1f6f63")
    return value.lower()


def check_database_url(value: str) -> str:
    try:
        scheme = urlsplit(value).scheme
        _ = urlsplit(value).port
    except ValueError:
        raise fault("is no URL; write postgresql://user:password@host:5432/database") from None
    if scheme not in {"postgresql", "postgres"}:
        raise fault(
            "is no PostgreSQL URL; write postgresql://user:password@host:5432/database, "
            "or leave it empty for the embedded server"
        )
    return check_line(value)


def check_agent(value: str) -> str:
    if value in BUILTIN_AGENTS or _is_reference(value):
        return value
    if value.startswith(("http://", "https://")):
        return check_http_url(value)
    if value.startswith("builtin:"):
        raise fault(f"names no built-in agent; did you mean {nearest(value, list(BUILTIN_AGENTS))}?")
    raise fault('names no agent; write builtin:demo, builtin:echo, "module:attribute" or "https://host/path"')


def check_decider(value: str) -> str:
    if value in {"rules", "llm"} or _is_reference(value):
        return value
    close = nearest(value, ["rules", "llm"])
    raise fault(f'names no decider; did you mean {close}? It is rules, llm or "module:function"')


def check_function(value: str) -> str:
    if not _is_reference(value):
        raise fault('names no function; write "module:function", such as "ears:transcribe"')
    return value


def check_language(value: str) -> str:
    if not _LANGUAGE.fullmatch(value):
        raise fault("is no language's code; write two letters, such as pt, es or en")
    return value


def check_bucket(value: str) -> str:
    """``s3://bucket`` with a prefix or without one; a trailing slash is dropped."""
    if not _BUCKET.fullmatch(value):
        raise fault("names no bucket; write s3://bucket/prefix, or leave it empty for a folder")
    return value.rstrip("/")


def check_not_built(value: str) -> str:
    raise fault("not built yet; leave it empty, PostgreSQL alone does the work")


def check_regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        where = getattr(error, "pos", None)
        at = f" at character {where + 1}" if isinstance(where, int) else ""
        raise fault(f"is no regular expression{at}; check its brackets and escapes") from None
    return value


def _is_reference(value: str) -> bool:
    return not value.startswith("builtin:") and _REFERENCE.fullmatch(value) is not None


def if_given(check: Callable[[str], str]) -> AfterValidator:
    """Apply ``check`` unless the value is empty."""

    def checked(value: str) -> str:
        return check(value) if value else value

    return AfterValidator(checked)


def if_secret_given(check: Callable[[str], str]) -> AfterValidator:
    """Apply ``check`` to a secret's content unless it is empty."""

    def checked(value: SecretStr) -> SecretStr:
        content = value.get_secret_value()
        return SecretStr(check(content)) if content else value

    return AfterValidator(checked)


def as_secrets(value: Any) -> Any:
    """One secret stands for a list of one."""
    return (value,) if isinstance(value, str | SecretStr) else value


def check_secrets(value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    if not value:
        raise fault("is an empty list; name at least one secret")
    for item in value:
        check_filled(item.get_secret_value())
    return value


def check_filled_secret(value: SecretStr) -> SecretStr:
    check_filled(value.get_secret_value())
    return value


FilledSecret = Annotated[SecretStr, AfterValidator(check_filled_secret)]
