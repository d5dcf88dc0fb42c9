"""The option `--import` of subcommands that look up names in the registries."""

from __future__ import annotations

import argparse

from axioms.core.imports import import_modules

__all__ = ["add_import_option", "import_modules"]


def add_import_option(parser: argparse.ArgumentParser) -> None:
    """Add `--import`, whose values end up in `options.modules`."""
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this module first, so that what it registers can be named; may be given more than once",
    )
