"""Measure onevoice on this machine: `python -m bench [--quick] [--only NAME …] [--place FOLDER]`.

Load generator, application and database share the machine; read the ratios, not the absolute figures. Exits
with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.machine import Machine
from bench.measure import FULL, MEASUREMENTS, QUICK, TINY, Figure


def main() -> int:
    arguments = _parse()
    size = {"full": FULL, "quick": QUICK, "tiny": TINY}[arguments.size]
    console = Console()
    table = Table(title=f"onevoice, {arguments.size}")
    for column in ("measurement", "figure", "target", ""):
        table.add_column(column)
    missed = False
    with Machine(arguments.place) as machine:
        for name in arguments.only or MEASUREMENTS:
            console.print(f"{name} …", style="dim")
            for figure in MEASUREMENTS[name](machine, size):
                table.add_row(figure.name, figure.value, figure.target, _mark(figure))
                missed = missed or figure.kept is False
            table.add_section()
    console.print(table)
    return 1 if missed and size is not TINY else 0


def _mark(figure: Figure) -> str:
    return {None: "", True: "[green]kept[/]", False: "[red]missed[/]"}[figure.kept]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.set_defaults(size="full")
    parser.add_argument(
        "--quick", dest="size", action="store_const", const="quick", help="under three minutes"
    )
    parser.add_argument(
        "--tiny", dest="size", action="store_const", const="tiny", help="only whether it works at all"
    )
    parser.add_argument(
        "--only", nargs="+", choices=MEASUREMENTS, metavar="NAME", help=", ".join(MEASUREMENTS)
    )
    parser.add_argument("--place", type=Path, help="where the database lies, such as /dev/shm")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
