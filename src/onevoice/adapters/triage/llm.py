"""Triage by a language model through pydantic-ai: one call, one of three words back.

How long it may take is the caller's to say, and what it costs is counted. Its prompt is ``llm_prompt.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files

from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from onevoice.errors import ConfigurationError
from onevoice.vocabulary import TriageDecision, TriageRequest, Usage

PROMPT = files("onevoice.adapters.triage").joinpath("llm_prompt.md").read_text(encoding="utf-8")
TEXTS_MAX = 8
TEXT_CHARS_MAX = 2_000
ANSWER_TOKENS_MAX = 500


class LlmDecider:
    """Implements ports/triage.py. Whatever the library raises goes to the caller; the hold ladder covers it."""

    name = "llm"

    def __init__(self, model: Model, *, count: Callable[[Usage], None]) -> None:
        self._count = count
        self._agent: Agent[None, TriageDecision] = Agent(
            model,
            output_type=TriageDecision,
            instructions=PROMPT,
            model_settings=ModelSettings(max_tokens=ANSWER_TOKENS_MAX),
        )

    async def decide(self, request: TriageRequest) -> TriageDecision:
        result = await self._agent.run(
            json.dumps(
                {
                    "a": _bound(request.overtaken),
                    "reply": _bound(request.reply),
                    "b": _bound(request.newer),
                },
                ensure_ascii=False,
            )
        )
        usage = result.usage
        self._count(
            Usage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                model=result.response.model_name,
            )
        )
        return result.output

    async def close(self) -> None:
        """The library keeps its connections for the whole process."""


def load_llm_decider(model: str, *, count: Callable[[Usage], None]) -> LlmDecider:
    """``model`` as the library names it, such as ``anthropic:<model>``; raises ``ConfigurationError`` with one line."""
    try:
        return LlmDecider(infer_model(model), count=count)
    except (UserError, ValueError, ImportError) as error:
        why = " ".join(str(error).split())[:300]
        raise ConfigurationError([f'triage.model: "{model}" cannot be used; {why}']) from error


def _bound(texts: Sequence[str]) -> list[str]:
    """The latest texts, each within bounds; a half of a surrogate pair would not pass as JSON."""
    return [text[:TEXT_CHARS_MAX].encode("utf-8", "replace").decode() for text in texts[-TEXTS_MAX:]]
