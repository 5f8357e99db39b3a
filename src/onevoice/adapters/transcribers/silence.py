"""Silence and noise, of which models make sentences nobody said.

What they make of it they have from the subtitles they learned from, so it is always the same few sentences. One is
listed only if no customer would send it as a voice message: "obrigado" is heard in silence too, and is no such one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from onevoice.ports.transcriber import Audio, Transcriber, Transcript

SECONDS_MIN: Final = 0.6
"""A shorter clip is a slip of the thumb."""

# Observed as the output of speech models for audio in which nobody speaks.
_OBSERVED: Final = (
    # Portuguese
    "Legendas pela comunidade Amara.org",
    "Legendas pela comunidade de Amara.org",
    "Legendado pela comunidade Amara.org",
    "Legenda por Sônia Ruberti",
    "Legenda Adriana Zanotto",
    "Transcrição e Legendas Pedro Negri",
    "Transcrição e legendas por Pedro Negri",
    "Obrigado por assistir",
    "Obrigada por assistir",
    "Obrigado por assistir ao vídeo",
    "Inscreva-se no canal",
    "Se inscreva no canal",
    "Não se esqueça de se inscrever no canal",
    "Deixe seu like e inscreva-se no canal",
    # Spanish
    "Subtítulos por la comunidad de Amara.org",
    "Subtítulos realizados por la comunidad de Amara.org",
    "Subtitulado por la comunidad de Amara.org",
    "Gracias por ver el video",
    "Gracias por ver este video",
    "Suscríbete al canal",
    "Suscríbete a mi canal",
    "No olvides suscribirte al canal",
    # English
    "Subtitles by the Amara.org community",
    "Thank you for watching",
    "Thanks for watching",
    "Thank you so much for watching",
    "Please subscribe to my channel",
    "Please like and subscribe",
    "Don't forget to like and subscribe",
    "[BLANK_AUDIO]",
    "(no speech detected)",
)
_NOT_WORD = re.compile(r"[\W_]+")


def _normalised(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return " ".join(_NOT_WORD.split(plain)).strip()


_HALLUCINATIONS: Final = frozenset(_normalised(text) for text in _OBSERVED)


def is_hallucinated(text: str) -> bool:
    """Whether a transcript is what models make of silence; case, accents and punctuation do not matter.

    >>> is_hallucinated("Legendas pela comunidade Amara.org."), is_hallucinated("obrigado por assistir o meu filho")
    (True, False)
    """
    return _normalised(text) in _HALLUCINATIONS


class SilenceFilter:
    """Wraps a transcriber: a clip that is too short is not sent, and what was made of silence becomes blank."""

    def __init__(self, transcriber: Transcriber) -> None:
        self.name = transcriber.name
        self.bytes_max = transcriber.bytes_max
        self._transcriber = transcriber

    async def transcribe(self, audio: Audio) -> Transcript:
        if audio.seconds is not None and audio.seconds < SECONDS_MIN:
            return Transcript(text="")
        transcript = await self._transcriber.transcribe(audio)
        if is_hallucinated(transcript.text) or not _normalised(transcript.text):
            return Transcript(text="", model=transcript.model, usage=transcript.usage)
        return transcript

    async def close(self) -> None:
        await self._transcriber.close()
