"""One's own code in every subcommand that looks up names: `--import`, and `axioms_import` in pytest's settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from axioms.commands.settings import find_settings
from axioms.core import imports
from axioms.core.errors import InputError, display_path


def add_import_option(parser: argparse.ArgumentParser) -> None:
    """Add `--import`, whose values end up in `options.modules`."""
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this module first, so that what it registers can be named; may be given more than once; what "
        "axioms_import in pytest's settings names is imported too. Importing runs code",
    )


def import_modules(modules: Sequence[str]) -> None:
    """Import what pytest's settings name, as a run of pytest here would, and then the modules of the command line."""
    settings = find_settings(Path.cwd())
    if settings is not None and settings.modules:
        sys.path[:0] = [str(folder) for folder in settings.folders if str(folder) not in sys.path]
        try:
            imports.import_modules(settings.modules)
        except InputError as error:
            raise InputError(f"{display_path(settings.file)}: axioms_import: {error}") from None
    imports.import_modules(modules)
