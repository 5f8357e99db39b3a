"""An agent in any language, behind HTTP: one POST per turn, signed, bounded, never retried here."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2

from onevoice.adapters.agents.protocol import decode_proposal, encode_context
from onevoice.errors import AgentError, ConfigurationError
from onevoice.vocabulary import Proposal, TurnContext

OK = 200
# Room for files in base64; what is larger is handed in over the API and named.
ANSWER_BYTES_MAX = 8 * 1_048_576
RETRY_AFTER_SECONDS_MAX = 86_400.0
USER_AGENT = "onevoice (agent protocol 1)"


class HttpAgent:
    """Implements ports/agent.py over contract section 4.

    ``http`` belongs to the caller, who closes it. The URL may carry secrets: only its origin is ever shown.
    """

    in_process = False

    def __init__(
        self, *, url: str, secret: str | None, timeout_seconds: float, http: httpx2.AsyncClient
    ) -> None:
        self._url = _usable_url(url)
        self._secret = secret.encode() if secret else None
        self._timeout_seconds = timeout_seconds
        self._http = http
        port = "" if self._url.port is None else f":{self._url.port}"
        self.name = f"{self._url.scheme}://{self._url.host}{port}"

    async def propose(self, context: TurnContext) -> Proposal:
        seconds = min(self._timeout_seconds, context.deadline_seconds)
        body = encode_context(context, deadline_seconds=seconds)
        try:
            async with asyncio.timeout(seconds):
                answer = await self._call(body, self._headers(context, body))
        except (TimeoutError, httpx2.TimeoutException):
            raise AgentError(
                "agent_timeout",
                f"the agent at {self.name} gave no answer within {seconds:g} s; it is asked again",
            ) from None
        except httpx2.RequestError as error:
            fault = type(error).__name__
            raise AgentError(
                "agent_unreachable",
                f"the agent at {self.name} cannot be reached ({fault}); check that it runs",
            ) from error
        return decode_proposal(answer)

    async def close(self) -> None:
        return None

    async def _call(self, body: bytes, headers: dict[str, str]) -> bytes:
        async with self._http.stream(
            "POST", self._url, content=body, headers=headers, follow_redirects=False, timeout=None
        ) as response:
            if response.status_code != OK:
                raise AgentError(
                    f"agent_http_{response.status_code}",
                    f"the agent at {self.name} answered {response.status_code}, not 200; see its log",
                    retry_after_seconds=_retry_after_seconds(response),
                )
            return await self._read(response)

    async def _read(self, response: httpx2.Response) -> bytes:
        """The raw bytes: nothing is decompressed, so that a small answer cannot become a large one."""
        answer = bytearray()
        async for chunk in response.aiter_raw():
            answer += chunk
            if len(answer) > ANSWER_BYTES_MAX:
                raise AgentError(
                    "agent_bad_answer",
                    f"the agent at {self.name} answered more than {ANSWER_BYTES_MAX} bytes; shorten it",
                )
        return bytes(answer)

    def _headers(self, context: TurnContext, body: bytes) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": USER_AGENT,
            "idempotency-key": str(context.turn_id),
        }
        if self._secret is not None:
            headers["x-onevoice-signature"] = (
                "sha256=" + hmac.new(self._secret, body, hashlib.sha256).hexdigest()
            )
        return headers


def _usable_url(url: str) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = None
    if parsed is None or parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigurationError(
            ["agent.use: the agent's address is no URL; write http:// or https:// followed by host and path"]
        )
    return parsed


def _retry_after_seconds(response: httpx2.Response) -> float | None:
    """Seconds as they are; a date is measured from the answer's own Date, so no clock of ours matters."""
    given = response.headers.get("retry-after", "").strip()
    if given.isascii() and given.isdigit():
        return min(float(given), RETRY_AFTER_SECONDS_MAX)
    until, answered_at = _http_date(given), _http_date(response.headers.get("date", ""))
    if until is None or answered_at is None:
        return None
    return min(max(0.0, (until - answered_at).total_seconds()), RETRY_AFTER_SECONDS_MAX)


def _http_date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
