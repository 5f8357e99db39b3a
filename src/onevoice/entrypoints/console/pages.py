"""Pages and their files: nothing inline, a strict policy, and nothing of a conversation kept by any cache."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import Response

from onevoice.entrypoints.console.texts import TEXTS
from onevoice.entrypoints.console.visit import Visitor

__all__ = ["asset_response", "html_response"]

_ASSETS = {
    "console.js": "text/javascript",
    "live.js": "text/javascript",
    "swap.js": "text/javascript",
    "attach.js": "text/javascript",
    "console.css": "text/css",
    "thread.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_TEMPLATES = Environment(
    loader=PackageLoader(__package__ or ""),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# A form posted under `no-referrer` names no origin, and would be refused for it.
_SAFE_HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
_PAGE_HEADERS = MappingProxyType({
    **_SAFE_HEADERS,
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; media-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "vary": "Accept-Language, Cookie",
})  # fmt: skip


def html_response(template: str, visitor: Visitor, *, status: int = 200, **values: object) -> Response:
    """A page in the visitor's language."""
    html = _TEMPLATES.get_template(template).render(
        base=visitor.base,
        language="pt-BR" if visitor.language == "pt" else "en",
        texts=TEXTS[visitor.language],
        version=_assets_version(),
        **values,
    )
    return Response(html, status_code=status, media_type="text/html", headers=dict(_PAGE_HEADERS))


def asset_response(name: str, version: str) -> Response | None:
    """One of the static files. Under its version a browser may keep it; a module that another one imports has none
    in its address, and is asked for again."""
    if name not in _ASSETS:
        return None
    keeps = "max-age=31536000, immutable" if version == _assets_version() else "no-cache"
    return Response(
        _read_asset(name), media_type=_ASSETS[name], headers=_SAFE_HEADERS | {"cache-control": keeps}
    )


@cache
def _read_asset(name: str) -> bytes:
    return files(__package__ or "").joinpath("static", name).read_bytes()


@cache
def _assets_version() -> str:
    digest = hashlib.sha256()
    for name in sorted(_ASSETS):
        digest.update(_read_asset(name))
    return digest.hexdigest()[:12]
