"""The file a webhook names: what is kept of it, and what is not believed."""

from __future__ import annotations

import base64
import hashlib

import pytest

from onevoice.adapters.channels.whatsapp.attachment import clean_filename
from onevoice.ports.channel import MediaRef
from onevoice.vocabulary import MediaKind
from tests.wire.whatsapp.downloads import VOICE
from tests.wire.whatsapp.wire import message, one_message


@pytest.mark.parametrize("kind", list(MediaKind))
def test_a_message_names_its_file(kind: MediaKind) -> None:
    """Id, type as claimed, digest and what the customer called it."""
    digest = hashlib.sha256(VOICE).digest()
    described = {
        "id": "900000000000001",
        "mime_type": "audio/ogg; codecs=opus",
        "sha256": base64.b64encode(digest).decode(),
        "filename": "C:\\docs\\nota fiscal.pdf",
    }
    item = one_message(message(type=str(kind), text=None, **{str(kind): described}))

    assert item.media == MediaRef(
        kind=kind,
        external_id="900000000000001",
        mime_type="audio/ogg; codecs=opus",
        sha256=digest,
        filename="nota fiscal.pdf",
    )


@pytest.mark.parametrize("digest", ["q83vEjRWeJA=", "no base64!", "", 7, None, "é", "A" * 44])
def test_a_digest_that_is_none_is_left_out(digest: object) -> None:
    """The examples of the platform have such ones; the file is fetched all the same."""
    item = one_message(message(type="audio", text=None, audio={"id": "1", "sha256": digest}))

    assert item.media is not None
    assert item.media.sha256 is None


@pytest.mark.parametrize(
    "described", [{}, {"id": ""}, {"id": None}, {"id": []}, {"id": "1" * 600}, [], "x", None]
)
def test_a_file_without_an_id_is_described_only(described: object) -> None:
    """There is nothing to fetch it by."""
    item = one_message(message(type="audio", text=None, audio=described))

    assert item.media is None
    assert item.text == "[audio]"


def test_an_edit_has_no_file() -> None:
    """Its new caption amends; the file stays that of the message it edits."""
    inner = {"type": "image", "image": {"id": "900000000000002", "caption": "a etiqueta"}}
    item = one_message(
        message(type="edit", text=None, edit={"original_message_id": "wamid.1", "message": inner})
    )

    assert item.media is None
    assert item.text == "[image] a etiqueta"


def test_a_text_has_no_file() -> None:
    """Nor has a type nobody knows."""
    assert one_message(message()).media is None
    assert one_message(message(type="holo", text=None, holo={"id": "1"})).media is None


@pytest.mark.parametrize(
    ("filename", "shown"),
    [
        ("nota.pdf", "nota.pdf"),
        ("../../etc/passwd", "passwd"),
        ("a\nb\x00c\x1b[31m.pdf", "a bc[31m.pdf"),
        ("fatura\u202efdp.exe", "faturafdp.exe"),
        (".htaccess", "htaccess"),
        ("  ..  ", None),
        ("/", None),
        (None, None),
        ("ação ñ 日本.pdf", "ação ñ 日本.pdf"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
    ],
)
def test_a_filename_is_shown_without_what_deceives(filename: str | None, shown: str | None) -> None:
    """No path, no control and no direction characters, and never so long that it fills the page."""
    assert clean_filename(filename) == shown
