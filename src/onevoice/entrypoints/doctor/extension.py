"""The agent and the decider: can they be imported, does the URL answer?"""

from __future__ import annotations

import contextlib
import importlib
import sys
from functools import reduce
from pathlib import Path

import httpx2

from onevoice.entrypoints.doctor.finding import Finding, fault, ok, warning
from onevoice.settings import Settings

_ANSWER_SECONDS_MAX = 3.0


async def check_agent(settings: Settings) -> Finding:
    use = settings.agent.use
    if use.startswith("builtin:"):
        return ok("agent", use)
    if use.startswith(("http://", "https://")):
        return await _check_http_agent(settings)
    return check_reference("agent", "agent.use", use, settings.folder)


def check_triage(settings: Settings) -> Finding:
    use = settings.triage.use
    if use not in {"rules", "llm"}:
        found = check_reference("triage", "triage.use", use, settings.folder)
        return found if found.level == "fault" else _check_triage_time(settings)
    return _check_triage_time(settings)


def _check_triage_time(settings: Settings) -> Finding:
    patience = settings.outbox.hold_seconds + sum(settings.outbox.hold_ladder_seconds)
    if settings.triage.timeout_seconds > patience:
        return warning(
            "triage",
            f"may take {settings.triage.timeout_seconds:g} s, but a reply waits for {patience:g} s at most",
            "lower triage.timeout_seconds, or lengthen outbox.hold_ladder_seconds",
        )
    return ok("triage", f"{settings.triage.use}, within the {patience:g} s a reply waits")


async def _check_http_agent(settings: Settings) -> Finding:
    """Any HTTP answer will do: a HEAD asks the agent to do nothing."""
    try:
        async with httpx2.AsyncClient(
            timeout=_ANSWER_SECONDS_MAX, follow_redirects=False, trust_env=False
        ) as client:
            response = await client.head(settings.agent.use)
    except (httpx2.HTTPError, OSError) as error:
        return fault(
            "agent",
            f"its URL does not answer within {_ANSWER_SECONDS_MAX:g} s ({type(error).__name__})",
            "start the agent, or correct agent.use",
        )
    if response.status_code == 404:
        return warning(
            "agent", "its server answers, but not under this path (404)", "compare the path in agent.use"
        )
    if not settings.agent.secret.get_secret_value():
        return warning("agent", "its URL answers; requests are not signed", "set agent.secret on both sides")
    return ok("agent", "its URL answers")


def check_reference(name: str, key: str, reference: str, folder: Path) -> Finding:
    """Whether what ``key`` names as "module:attribute" can be imported and called."""
    module, _, attribute = reference.partition(":")
    path = str(folder)
    sys.path.insert(0, path)
    try:
        # What the module prints must not mix with the report.
        with contextlib.redirect_stdout(sys.stderr):
            loaded = importlib.import_module(module)
        target: object = reduce(getattr, attribute.split("."), loaded)
    except ModuleNotFoundError as error:
        return fault(
            name, f"there is no module {error.name}", f"install it, put it into {folder}, or correct {key}"
        )
    except AttributeError:
        return fault(name, f"{module} has no {attribute}, or fails when it is imported", f"correct {key}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - The module is foreign code; anything may come out of it.
        return fault(
            name,
            f"{module} fails when it is imported ({type(error).__name__})",
            f"run: python -c 'import {module}'",
        )
    finally:
        sys.path.remove(path)
    if not callable(target) and not hasattr(target, "propose"):
        return fault(name, f"{reference} is neither a function nor an agent", f"correct {key}")
    return ok(name, f"{reference} can be imported")
