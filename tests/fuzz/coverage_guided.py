"""The long form's coverage-guided fuzzing of webhook bytes, with atheris where it can be installed.

It begins with the recorded webhooks and changes them as JSON: bytes that are no JSON end at the decoder, and random
ones hardly ever are. Parsing only: it sees the bytes first and touches no database. Nothing but ``BodyUnreadable``
may come out of it.
"""

from __future__ import annotations

import importlib.util
import json
import random  # noqa: TID251  # Seeded by the fuzzer.
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tests.proof import PATH

RUNS = 2_000_000
BYTES_MAX = 8192
CHANGES_MAX = 4
NO_JSON_SHARE = 0.1
ODD: tuple[object, ...] = (
    None, True, -1, 0, 9**40, 1e308, "", "1", "\x00", "\ud800", "a" * 300, [], {}, [[]], [{}], {"": {}}, ["text"],
    {"id": "1"}, {"body": "oi"}, {"code": 131047}, "text", "image", "audio", "interactive", "revoke", "edit", "failed",
)  # fmt: skip
_CHILD = "child"

Mutator = Callable[[bytes, int], bytes]


def recorded_bodies() -> list[bytes]:
    """Every recorded webhook; a recorded message stands in one."""
    from tests.wire.whatsapp.wire import FIXTURES, envelope, recorded  # It loads what the child instruments.

    bodies: list[bytes] = []
    for path in sorted(FIXTURES.glob("*.json")):
        whole = recorded(path.stem)
        if path.stem.startswith("message_"):
            bodies.append(envelope({"messages": [whole]}))
        else:
            bodies.append(json.dumps(whole).encode())
    return bodies


def change_body(data: bytes, size_max: int, seed: int, *, otherwise: Mutator) -> bytes:
    """One to four places of a JSON body made another value, taken away, doubled or put elsewhere."""
    luck = random.Random(seed)  # noqa: S311  # Repeatable, not secret.
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return otherwise(data, size_max)
    if luck.random() < NO_JSON_SHARE:
        return otherwise(data, size_max)
    for _ in range(luck.randint(1, CHANGES_MAX)):
        body = _change_place(body, luck)
    changed = json.dumps(body).encode("utf-8", "surrogatepass")
    return changed if len(changed) <= size_max else otherwise(data, size_max)


def _change_place(body: object, luck: random.Random) -> object:
    places = list(_each_place(body))
    if not places:
        return _copy(luck.choice(ODD))
    # Of two the deeper: near its root a body is quickly no webhook any more.
    holder, key = places[max(luck.randrange(len(places)), luck.randrange(len(places)))]
    donor, donor_key = luck.choice(places)
    value = donor[donor_key]
    match luck.randrange(4):
        case 0:
            holder[key] = _copy(luck.choice(ODD))
        case 1:
            del holder[key]
        case 2 if isinstance(holder, list):
            cast("list[object]", holder).append(_copy(holder[key]))
        case _:
            holder[key] = _copy(value)
    return body


def _each_place(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a node, wide first."""
    places: list[tuple[Any, Any]] = []
    waiting = [node]
    while waiting:
        holder = waiting.pop(0)
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(len(holder))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            places.append((holder, key))
            waiting.append(holder[key])
    return places


def _copy(value: object) -> object:
    """A copy of its own: what stands in two places is changed in one, and a value below itself would have no end."""
    return json.loads(json.dumps(value))


def _fuzz(corpus: str) -> None:
    import atheris  # An optional dependency.

    fuzzer: Any = atheris
    with fuzzer.instrument_imports():
        from onevoice.adapters.channels.whatsapp.parse import parse  # Instrumented as it is loaded.
        from onevoice.errors import BodyUnreadable

    def attempt(data: bytes) -> None:
        try:
            parse(data)
        except BodyUnreadable:
            return

    def mutate(data: bytes, size_max: int, seed: int) -> bytes:
        return change_body(data, size_max, seed, otherwise=fuzzer.Mutate)

    fuzzer.Setup(
        [sys.argv[0], f"-runs={RUNS}", f"-max_len={BYTES_MAX}", "-reduce_inputs=0", corpus],
        attempt,
        custom_mutator=mutate,
    )
    fuzzer.Fuzz()


def main() -> None:
    """Fuzz in a process of its own, then add what it did to the proof."""
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write(
            "coverage-guided fuzzing is left out: atheris is not installed, `pip install atheris` adds it\n"
        )
        return
    if sys.argv[1:2] == [_CHILD]:
        _fuzz(sys.argv[2])
        return
    with tempfile.TemporaryDirectory(prefix="onevoice-fuzz-") as corpus:
        for number, body in enumerate(recorded_bodies()):
            (Path(corpus) / str(number)).write_bytes(body)
        subprocess.run([sys.executable, "-m", "tests.fuzz.coverage_guided", _CHILD, corpus], check=True)
    figures = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    figures["fuzz_inputs"] = figures.get("fuzz_inputs", 0) + RUNS
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
