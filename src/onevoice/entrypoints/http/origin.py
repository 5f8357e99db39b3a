"""Where a request comes from: over which scheme, and from whose page."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

__all__ = ["comes_from_own_page", "is_https"]


def is_https(request: Request, public_url: str) -> bool:
    """Whether people come over https; the public URL knows better than a request behind a proxy."""
    return urlsplit(public_url).scheme == "https" if public_url else request.url.scheme == "https"


def comes_from_own_page(request: Request, public_url: str) -> bool:
    """Whether the Origin is this server's: a page of another site sends its own."""
    origin = urlsplit(request.headers.get("origin", ""))
    hosts = {request.headers.get("host", ""), urlsplit(public_url).netloc} - {""}
    return origin.scheme in {"http", "https"} and origin.netloc in hosts
