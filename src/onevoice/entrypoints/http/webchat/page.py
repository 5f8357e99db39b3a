"""The chat page, its theme and the script that embeds it: nothing inline, a strict policy."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import Response

from onevoice.entrypoints.http.webchat.services import WebchatPage
from onevoice.entrypoints.http.webchat.texts import TEXTS, Language

__all__ = ["asset_response", "embed_response", "page_response", "theme_response"]

_ASSETS = {"chat.js": "text/javascript", "chat.css": "text/css", "icon.svg": "image/svg+xml"}
_TEMPLATES = Environment(
    loader=PackageLoader(__package__ or ""),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_SAFE_HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_INK_LIGHT = "#ffffff"
_INK_DARK = "#10211d"


def page_response(page: WebchatPage, *, base: str, language: Language, has_conversation: bool) -> Response:
    """The page itself; ``base`` is the URL path of the channel's chat."""
    texts = TEXTS[language]
    settings = {
        "base": base,
        "language": "pt-BR" if language == "pt" else "en",
        "texts": texts,
        "started": has_conversation,
    }
    html = _TEMPLATES.get_template("chat.html").render(
        base=base,
        language=settings["language"],
        title=page.title,
        initial=page.title.strip()[:1].upper(),
        greeting=page.greeting or texts["greeting"],
        settings=settings,
        texts=texts,
        version=_assets_version(),
        color=page.color,
    )
    return Response(
        html,
        media_type="text/html",
        headers={
            **_SAFE_HEADERS,
            "content-security-policy": _content_policy(page),
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "cross-origin-opener-policy": "same-origin",
            "cache-control": "no-store",
            "vary": "Accept-Language",
        },
    )


def theme_response(page: WebchatPage) -> Response:
    """The channel's colour, with an ink that can be read on it."""
    css = f":root {{ --accent: {page.color}; --accent-ink: {readable_ink(page.color)}; }}\n"
    return Response(css, media_type="text/css", headers=_SAFE_HEADERS | {"cache-control": "max-age=300"})


def embed_response(page: WebchatPage, *, base: str, language: Language) -> Response:
    """The one script another site includes; its settings are JSON inside the script."""
    texts = TEXTS[language]
    settings = {
        "base": base,
        "title": page.title,
        "color": page.color,
        "ink": readable_ink(page.color),
        "open": texts["open"],
        "close": texts["close"],
    }
    script = _read_asset("embed.js").replace(b"/* settings */ {}", _script_json(settings))
    return Response(
        script,
        media_type="text/javascript",
        headers={
            **_SAFE_HEADERS,
            "cross-origin-resource-policy": "cross-origin",
            "cache-control": "max-age=300",
            "vary": "Accept-Language",
        },
    )


def asset_response(name: str) -> Response | None:
    """One of the page's static files; their URLs carry a version, so browsers may keep them."""
    if name not in _ASSETS:
        return None
    return Response(
        _read_asset(name),
        media_type=_ASSETS[name],
        headers=_SAFE_HEADERS | {"cache-control": "max-age=31536000, immutable"},
    )


def readable_ink(color: str) -> str:
    """Light or dark, whichever has the higher contrast on this colour (WCAG's relative luminance)."""
    luminance = _luminance(color)
    on_light_ink = (_luminance(_INK_LIGHT) + 0.05) / (luminance + 0.05)
    on_dark_ink = (luminance + 0.05) / (_luminance(_INK_DARK) + 0.05)
    return _INK_LIGHT if on_light_ink >= on_dark_ink else _INK_DARK


def _luminance(color: str) -> float:
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _content_policy(page: WebchatPage) -> str:
    ancestors = " ".join(("'self'", *page.allowed_origins))
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "media-src 'self'; "
        f"frame-ancestors {ancestors}; base-uri 'none'; form-action 'none'"
    )


def _script_json(settings: dict[str, str]) -> bytes:
    """JSON that is safe inside a script, whatever a title holds."""
    return json.dumps(settings).replace("<", "\\u003c").encode()


@cache
def _read_asset(name: str) -> bytes:
    return files(__package__ or "").joinpath("static", name).read_bytes()


@cache
def _assets_version() -> str:
    digest = hashlib.sha256()
    for name in sorted(_ASSETS):
        digest.update(_read_asset(name))
    return digest.hexdigest()[:12]
