"""The long form's coverage-guided fuzzing of webhook bytes, with atheris where it can be installed.

Parsing only: it sees the bytes first and touches no database. Nothing but ``BodyUnreadable`` may come out of it.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

from tests.proof import PATH

RUNS = 2_000_000
_CHILD = "child"


def _fuzz() -> None:
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

    fuzzer.Setup([sys.argv[0], f"-runs={RUNS}", "-max_len=4096"], attempt)
    fuzzer.Fuzz()


def main() -> None:
    """Fuzz in a process of its own, then add what it did to the proof."""
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write(
            "coverage-guided fuzzing is left out: atheris is not installed, `pip install atheris` adds it\n"
        )
        return
    if sys.argv[1:] == [_CHILD]:
        _fuzz()
        return
    subprocess.run([sys.executable, "-m", "tests.fuzz.coverage_guided", _CHILD], check=True)
    figures = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    figures["fuzz_inputs"] = figures.get("fuzz_inputs", 0) + RUNS
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
