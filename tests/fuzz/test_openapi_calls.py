"""Calls made from the OpenAPI document alone, valid and not: no 5xx, and every answer as documented."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings

from tests import progress, proof
from tests.http.conftest import OWN_TOKEN, listening
from tests.progress import IS_LONG

EXAMPLES = 200 if IS_LONG else 6
# A feed answers until its reader leaves.
ENDLESS = ("/api/v1/events",)


def _call_everything(url: str) -> int:
    """Every operation of the document, a few generated calls each; returns how many calls were made."""
    schema: Any = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")
    count = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in ENDLESS:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=tuple(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            nonlocal count
            answer = case.call(headers={"Authorization": f"Bearer {OWN_TOKEN}"}, timeout=20)
            count += 1
            progress.tick("inputs")
            assert answer.status_code < 500, f"{case.method} {case.path}: {answer.status_code} {answer.text}"

        call()
    return count


@pytest.mark.slow
@pytest.mark.timeout(0)
async def test_no_generated_call_is_a_5xx(api: FastAPI) -> None:
    """Nonsense is answered with 4xx, by the service that answers everybody else."""
    async with listening(api) as url:
        called = await asyncio.to_thread(_call_everything, url)
    proof.count(fuzz_inputs=called)
    assert called > EXAMPLES
