"""A customer's file in two steps: its id gives an address that lives for minutes, the address gives the bytes.

The token goes along to the second step as well, so only to hosts that are Meta's, the operator's stand-in, or named
by the operator; and no redirect is followed. Whether a host's address may be called at all is for ``files`` to know.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx2

from onevoice.adapters.channels.whatsapp.answer import read_bounded
from onevoice.adapters.channels.whatsapp.errors import read_error
from onevoice.adapters.channels.whatsapp.shape import (
    Object,
    as_integer,
    as_object,
    decode_json,
    text_at,
)
from onevoice.errors import BodyUnreadable, MediaUnavailable
from onevoice.ports.channel import MediaRef, MediaStream
from onevoice.vocabulary import MediaKind

MEDIA_HOSTS: Final = ("graph.facebook.com", "*.fbsbx.com", "*.whatsapp.net")
BYTES_MAX: Final = {
    MediaKind.IMAGE: 5 * 2**20,
    MediaKind.VIDEO: 16 * 2**20,
    MediaKind.AUDIO: 16 * 2**20,
    MediaKind.DOCUMENT: 100 * 2**20,
    MediaKind.STICKER: 500 * 2**10,
}
# Some have seen a page instead of the file for a library's own name.
USER_AGENT: Final = "onevoice"

_ADDRESSES_MAX: Final = 3
_ANSWER_BYTES_MAX: Final = 100_000
_ADDRESS_SECONDS_MAX: Final = 20.0
_RATE_SECONDS: Final = 60.0
_TOKEN_SECONDS: Final = 300.0
_RETRY_SECONDS_MAX: Final = 3600.0
_TIMEOUT: Final = httpx2.Timeout(connect=10.0, read=30.0, write=10.0, pool=10.0)
# What stands in a path: nothing that climbs out of it or begins a query.
_MEDIA_ID = re.compile(r"[A-Za-z0-9_\-]{1,256}")
_PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_PAGE_START = re.compile(rb"\s*(<!doctype html|<html|<head)", re.IGNORECASE)
_STALE: Final = frozenset({401, 403, 404})
_TOKEN_CODES: Final = frozenset({0, 3, 10, 190, 131005, *range(200, 300)})
_RATE_CODES: Final = frozenset({4, 17, 613, 80007, 130429, 131056})
_PASSING_CODES: Final = frozenset({1, 2, 131000, 131016})


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSource:
    """Where one number's files come from. ``http`` asks for addresses, ``files`` fetches from them.

    ``hosts`` are those that get the token beside ``MEDIA_HOSTS``: names, or ``*.name`` for all below it.
    """

    http: httpx2.AsyncClient
    files: httpx2.AsyncClient
    graph_url: str
    phone_number_id: str
    access_token: str
    hosts: Sequence[str] = ()

    @property
    def headers(self) -> dict[str, str]:
        return {
            "authorization": f"Bearer {self.access_token}",
            "user-agent": USER_AGENT,
            "accept-encoding": "identity",
        }


@asynccontextmanager
async def download(media: MediaRef, source: MediaSource) -> AsyncGenerator[MediaStream]:
    """Implements ``Channel.download``; a stale address is replaced by a fresh one twice."""
    if not _MEDIA_ID.fullmatch(media.external_id):
        raise MediaUnavailable("no_such_file", retry=False)
    response, address = await _fetch(media, source)
    try:
        size_bytes = _check_head(response, media, address)
        yield MediaStream(
            chunks=_chunks(response, media, address),
            mime_type=address.mime_type or response.headers.get("content-type"),
            size_bytes=size_bytes,
        )
    finally:
        await response.aclose()


def may_have_token(url: httpx2.URL, *, graph_url: str, hosts: Sequence[str]) -> bool:
    """Whether the token may go there: https to a listed host, or the very origin of ``graph_url``."""
    if url.userinfo:
        return False
    if _origin(url) == _origin(httpx2.URL(graph_url)):
        return True
    if url.scheme != "https" or _origin(url)[2] != 443:
        return False
    return any(_is_named(url.host, pattern) for pattern in (*MEDIA_HOSTS, *hosts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    url: httpx2.URL
    mime_type: str | None
    size_bytes: int | None


async def _fetch(media: MediaRef, source: MediaSource) -> tuple[httpx2.Response, _Address]:
    """The answer that holds the file, its body unread; the last one when every address is stale."""
    for _ in range(_ADDRESSES_MAX - 1):
        address = await _ask_address(media, source)
        response = await _open(address.url, source)
        if response.status_code not in _STALE:
            return response, address
        await response.aclose()
    address = await _ask_address(media, source)
    return await _open(address.url, source), address


async def _ask_address(media: MediaRef, source: MediaSource) -> _Address:
    request = source.http.build_request(
        "GET",
        f"{source.graph_url.rstrip('/')}/{media.external_id}",
        params={"phone_number_id": source.phone_number_id},
        headers=source.headers | {"accept": "application/json"},
        timeout=_TIMEOUT,
    )
    try:
        async with asyncio.timeout(_ADDRESS_SECONDS_MAX):
            response = await source.http.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                answer = await _read_answer(response)
            finally:
                await response.aclose()
    except (httpx2.HTTPError, TimeoutError):
        raise MediaUnavailable("channel_unreachable") from None
    if "error" in answer or response.status_code != 200:
        raise _refusal(response, answer)
    return _read_address(answer, source)


def _read_address(answer: Object, source: MediaSource) -> _Address:
    try:
        url = httpx2.URL(text_at(answer, "url") or "")
    except httpx2.InvalidURL:
        raise MediaUnavailable("host_refused", retry=False) from None
    if not url.host:
        raise MediaUnavailable("answer_unreadable")
    if not may_have_token(url, graph_url=source.graph_url, hosts=source.hosts):
        raise MediaUnavailable("host_refused", retry=False)
    return _Address(
        url=url,
        mime_type=text_at(answer, "mime_type"),
        size_bytes=as_integer(answer.get("file_size")),
    )


async def _open(url: httpx2.URL, source: MediaSource) -> httpx2.Response:
    request = source.files.build_request("GET", url, headers=source.headers, timeout=_TIMEOUT)
    try:
        return await source.files.send(request, stream=True, auth=None, follow_redirects=False)
    except httpx2.HTTPError:
        raise MediaUnavailable("channel_unreachable") from None


def _check_head(response: httpx2.Response, media: MediaRef, address: _Address) -> int | None:
    """Judge the answer before its first byte; returns how many bytes are announced."""
    status = response.status_code
    if status in _STALE:
        raise MediaUnavailable("address_refused")
    if status != 200:
        raise _refusal(response, {})
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        # Unpacked, it could be of any size.
        raise MediaUnavailable("compressed", retry=False)
    if _base_type(response.headers.get("content-type")) in _PAGE_TYPES and not _is_page(media, address):
        raise MediaUnavailable("page_instead_of_file")
    announced = [as_integer(response.headers.get("content-length")), address.size_bytes]
    sizes = [size for size in announced if size is not None]
    if sizes and max(sizes) > BYTES_MAX[media.kind]:
        raise MediaUnavailable("too_large", retry=False)
    return sizes[0] if sizes else None


async def _chunks(response: httpx2.Response, media: MediaRef, address: _Address) -> AsyncIterator[bytes]:
    # Raw: nothing is unpacked on the way.
    received = 0
    try:
        async for chunk in response.aiter_raw():
            if not received and _PAGE_START.match(chunk) and not _may_begin_so(media, address):
                raise MediaUnavailable("page_instead_of_file")
            received += len(chunk)
            if received > BYTES_MAX[media.kind]:
                raise MediaUnavailable("too_large", retry=False)
            yield chunk
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise MediaUnavailable("cut_off") from error
    if address.size_bytes not in (None, received):
        raise MediaUnavailable("wrong_size")


async def _read_answer(response: httpx2.Response) -> Object:
    answer = await read_bounded(response, bytes_max=_ANSWER_BYTES_MAX)
    if answer is None:
        raise MediaUnavailable("answer_unreadable")
    try:
        return as_object(decode_json(answer))
    except BodyUnreadable:
        if response.status_code == 200:
            raise MediaUnavailable("answer_unreadable") from None
        return {}


def _refusal(response: httpx2.Response, answer: Object) -> MediaUnavailable:
    """What an answer without a file means: its code first, else its status."""
    status = response.status_code
    code, _ = read_error(answer.get("error"))
    wait = _retry_after(response)
    if code in _RATE_CODES or status == 429:
        return MediaUnavailable("rate_limited", retry_after_seconds=wait or _RATE_SECONDS)
    if code in _TOKEN_CODES or status in {401, 403}:
        # Somebody has to renew it; too many failing calls block all of the number's files for half an hour.
        return MediaUnavailable("token_refused", retry_after_seconds=wait or _TOKEN_SECONDS)
    if code in _PASSING_CODES or status >= 500 or status == 408:
        return MediaUnavailable("channel_unavailable", retry_after_seconds=wait)
    if 300 <= status < 400:
        return MediaUnavailable("redirect_refused", retry=False)
    return MediaUnavailable("gone", retry=False)


def _retry_after(response: httpx2.Response) -> float | None:
    """The answer's own wait in seconds; dates are left to the caller's back-off."""
    seconds = as_integer(response.headers.get("retry-after", "").strip())
    return None if seconds is None else min(float(seconds), _RETRY_SECONDS_MAX)


def _is_page(media: MediaRef, address: _Address) -> bool:
    """Whether a page is what the customer sent."""
    return bool({_base_type(media.mime_type), _base_type(address.mime_type)} & _PAGE_TYPES)


def _may_begin_so(media: MediaRef, address: _Address) -> bool:
    """A document may begin like a page; a picture, a film or a voice never does."""
    return media.kind is MediaKind.DOCUMENT or _is_page(media, address)


def _base_type(mime_type: str | None) -> str:
    return (mime_type or "").partition(";")[0].strip().lower()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"https": 443, "http": 80}.get(url.scheme)


def _is_named(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern
