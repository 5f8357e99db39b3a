"""A request that is answered with a sentence, before or instead of any work."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):
    """``code`` names the sentence in the page's texts. ``extra`` fills its gaps, as ``{holder}``."""

    def __init__(self, status: int, code: str, **extra: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.extra = extra
