"""The long form's coverage-guided fuzzing of webhook bytes, with atheris where it can be installed.

Parsing and verification only: they see the bytes first and touch no database. Nothing but ``BodyUnreadable`` may
come out of them.
"""

from __future__ import annotations

import importlib.util
import sys

from onevoice.errors import BodyUnreadable

RUNS = 2_000_000


def _try(data: bytes) -> None:
    from onevoice.adapters.channels.whatsapp.parse import parse  # Instrumented once it is loaded.

    try:
        parse(data)
    except BodyUnreadable:
        return


def main() -> None:
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write(
            "coverage-guided fuzzing is left out: `pip install atheris` has no build for this Python here\n"
        )
        return
    import atheris  # An optional dependency.

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-runs={RUNS}", "-max_len=4096"], _try)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
