"""`axioms check`: validate specs without running them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import SpecError
from axioms.core.printable import printable


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser("check", help="validate specs without running them")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="spec files or folders of them")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is wrong with each spec and how many are valid; return 2 if one is wrong or there is none."""
    from axioms.spec import expand_file

    import_modules(options.modules)
    files = spec_files(options.paths)
    if not files:
        print(printable(f"no specs in {', '.join(map(str, options.paths))}"), file=sys.stderr)
        return 2
    checks, wrong = 0, 0
    for file in files:
        try:
            checks += len(expand_file(file).checks)
        except SpecError as error:
            wrong += 1
            print(printable(str(error)), file=sys.stderr)
    print(f"{len(files) - wrong} of {len(files)} specs are valid; {checks} checks.")
    return 2 if wrong else 0


def spec_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files that were named, and the specs below the folders."""
    from axioms.spec.files import specs_below

    return [file for path in paths for file in (specs_below(path) if path.is_dir() else [path])]
