"""How long an audio plays."""

from __future__ import annotations

import io

from tinytag import TinyTag, TinyTagException


def measure_seconds(content: bytes, filename: str) -> float | None:
    """Seconds, read from the container; ``None`` for a format that does not tell."""
    try:
        seconds = TinyTag.get(filename=filename, file_obj=io.BytesIO(content)).duration
    except (TinyTagException, ValueError, OSError):
        return None
    return seconds if seconds and seconds > 0 else None
