"""`axioms compare`: print what changed between two runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from axioms.core.errors import InputError
from axioms.core.printable import printable
from axioms.report.baseline import read_saved
from axioms.report.drift import HEADER, difference
from axioms.report.runs import find_run
from axioms.report.text import aligned

ABOUT = """\
Compare every metric of two runs and print those that moved further than they may, those that are gone and those that
are new. A run is its folder (reports/latest), its name under reports/runs (with its time, or without it the newest of
that name), its results.json or a baseline.json.

What a metric may move by is in results.json, as the spec or the dtype has it: that of AFTER, or of BEFORE where AFTER
is a baseline. Two baselines are compared under the tolerance of float64. Metrics of time are never compared.
Exit code: 0 if nothing drifted, 1 if something did or is gone, 2 if one of them cannot be read."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "compare",
        help="print what changed between two runs, and fail on drift",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, metavar="BEFORE", help="a run or a baseline")
    parser.add_argument("after", type=Path, metavar="AFTER", help="a run or a baseline")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare and print; return the exit code."""
    try:
        changed = difference(read_saved(find_run(options.before)), read_saved(find_run(options.after)))
    except InputError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    if changed.changes:
        print(printable("\n".join(aligned(HEADER, changed.rows()))), end="\n\n")
    print(printable("\n".join(changed.in_words())))
    return 1 if changed.failed else 0
