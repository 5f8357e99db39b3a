"""The channels: does the platform know the number, does it take the token, where must its webhook point?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from onevoice.entrypoints.doctor.finding import Finding, fault, ok, warning
from onevoice.entrypoints.doctor.machine import is_loopback
from onevoice.settings import Settings, WhatsAppChannelSettings

_ANSWER_SECONDS_MAX = 5.0
_TOKEN_CODES = {0, 102, 190}
_NUMBER_CODES = {33, 100, 803}
_RATE_CODES = {4, 17, 80007, 130429}
_RENEWAL = (
    "make a permanent token for a system user (Business settings, System users) with "
    "whatsapp_business_messaging and whatsapp_business_management"
)


async def check_channels(settings: Settings) -> list[Finding]:
    if not settings.channels:
        return [
            warning("channels", "none is configured", "add one under [[channels]]; `onevoice demo` shows one")
        ]
    findings: list[Finding] = []
    for channel in settings.channels:
        if isinstance(channel, WhatsAppChannelSettings):
            findings.append(await check_whatsapp(channel))
            findings.append(webhook(channel, settings))
        else:
            findings.append(ok(f"channel {channel.name}", f"{channel.kind}; needs no platform"))
    return findings


async def check_whatsapp(channel: WhatsAppChannelSettings) -> Finding:
    """Ask the Graph API about the number, as the token's owner."""
    name = f"channel {channel.name}"
    parts = urlsplit(channel.graph_url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return fault(
            name, "graph_url is not encrypted, so the token was not sent", "write https:// in graph_url"
        )
    try:
        async with httpx2.AsyncClient(
            timeout=_ANSWER_SECONDS_MAX, follow_redirects=False, trust_env=False
        ) as client:
            response = await client.get(
                f"{channel.graph_url}/{channel.phone_number_id}",
                params={"fields": "verified_name,display_phone_number,quality_rating"},
                headers={"Authorization": f"Bearer {channel.access_token.get_secret_value()}"},
            )
    except (httpx2.HTTPError, OSError) as error:
        return fault(
            name,
            f"the platform does not answer ({type(error).__name__})",
            "check this machine's network and graph_url; nothing is lost meanwhile, messages wait",
        )
    return read_answer(name, response.status_code, _json(response))


def webhook(channel: WhatsAppChannelSettings, settings: Settings) -> Finding:
    """Where the platform must send its events; onevoice cannot see whether it does."""
    base = settings.server.public_url or "https://<your public address>"
    return ok(
        f"channel {channel.name} webhook",
        f"{base}/webhooks/{channel.name}",
        "enter this URL and the verify_token in the Meta app (WhatsApp, Configuration) and subscribe to "
        "`messages`; when no event arrives, subscribe the app to the account: "
        "POST /<account id>/subscribed_apps",
    )


def read_answer(name: str, status: int, body: dict[str, Any] | None) -> Finding:
    """What the Graph API's answer means for this channel."""
    if status == 200 and body is not None and "error" not in body:
        return _read_number(name, body)
    problem = _Problem.of(body)
    if problem is None:
        what = f"graph_url answers {status} with something that is no Graph API's"
        return fault(name, what, "compare graph_url with https://graph.facebook.com/v23.0")
    if problem.code in _TOKEN_CODES:
        return fault(name, f"access_token is invalid or has expired ({problem.shown})", _RENEWAL)
    if problem.code in _NUMBER_CODES or status == 404:
        return fault(
            name,
            f"the platform does not know this phone_number_id, or the token may not see it ({problem.shown})",
            "compare it with App Dashboard, WhatsApp, API Setup (it is not the phone number), and assign the "
            "WhatsApp account to the token's system user",
        )
    if problem.code in {3, 10} or 200 <= problem.code <= 299:
        return fault(name, f"the token lacks a permission ({problem.shown})", _RENEWAL)
    if problem.code in _RATE_CODES:
        return warning(
            name, f"the platform limits the rate of calls ({problem.shown})", "try again in some minutes"
        )
    return fault(
        name,
        f"the platform refuses ({problem.shown}, HTTP {status})",
        "look the code up in Meta's list of error codes",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The codes of an error; its words are left out, they may quote what was sent."""

    code: int
    subcode: int | None

    @classmethod
    def of(cls, body: dict[str, Any] | None) -> _Problem | None:
        error = body.get("error") if body is not None else None
        if not isinstance(error, dict):
            return None
        code, subcode = (cast("dict[str, Any]", error).get(key) for key in ("code", "error_subcode"))
        if not isinstance(code, int):
            return None
        return cls(code=code, subcode=subcode if isinstance(subcode, int) else None)

    @property
    def shown(self) -> str:
        return f"code {self.code}" + (f", subcode {self.subcode}" if self.subcode is not None else "")


def _read_number(name: str, body: dict[str, Any]) -> Finding:
    verified, quality = str(body.get("verified_name", "unnamed")), str(body.get("quality_rating", "UNKNOWN"))
    what = f'the number of "{_line(verified)}" answers; its quality is {_line(quality).lower()}'
    if quality.upper() in {"YELLOW", "RED"}:
        return warning(name, what, "customers block or report it: write less and only to who asked")
    return ok(name, what)


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)[:100]


def _json(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        body: object = response.json()
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
