"""The webchat channel's settings: what reaches a style sheet or a policy header cannot change its meaning."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from onevoice.settings.channels import WebchatChannelSettings


def channel(**keys: object) -> WebchatChannelSettings:
    return WebchatChannelSettings.model_validate({"name": "loja", "kind": "webchat", **keys})


def test_everything_has_a_default() -> None:
    """A name is enough."""
    settings = channel()

    assert (settings.title, settings.greeting, settings.language) == ("Chat", "", "auto")
    assert (settings.allowed_origins, settings.color) == ((), "#1f6f63")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("https://xn--caf-dma.example", "https://xn--caf-dma.example"),
    ],
)
def test_an_origin_is_a_scheme_and_a_host(written: str, read: str) -> None:
    """A trailing slash is forgiven, as people copy it from the address bar."""
    assert channel(allowed_origins=[written]).allowed_origins == (read,)


@pytest.mark.parametrize(
    "written",
    [
        "shop.example",
        "*",
        "https://*",
        "https://*.example",
        "https://shop.example/page",
        "https://shop.example; script-src *",
        "https://shop.example;script-src",
        "https://shop.example, https://evil.example",
        "https://user@shop.example",
        "https://shop.example?x",
        "https://SHOP.example",
        "https://café.example",
        "'none'",
        "data:",
        "",
    ],
)
def test_anything_else_is_no_origin(written: str) -> None:
    """Nothing that would widen or break the page's policy passes."""
    with pytest.raises(ValidationError):
        channel(allowed_origins=[written])


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "#1234567", "#123456;}", "1f6f63", ""])
def test_a_colour_has_six_digits(color: str) -> None:
    """Names and short forms are refused, and so is anything that would end the declaration."""
    with pytest.raises(ValidationError):
        channel(color=color)


def test_a_colour_is_written_small() -> None:
    """Both cases are accepted."""
    assert channel(color="#AbCdEf").color == "#abcdef"


@pytest.mark.parametrize(
    "keys", [{"title": " "}, {"title": "a\nb"}, {"greeting": "a\nb"}, {"language": "fr"}]
)
def test_a_bad_text_is_refused(keys: dict[str, object]) -> None:
    """A title is never empty, and texts stand on one line."""
    with pytest.raises(ValidationError):
        channel(**keys)
