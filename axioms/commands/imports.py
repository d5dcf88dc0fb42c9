"""The option `--import` of subcommands that look up names in the registries."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path


def add_import_option(parser: argparse.ArgumentParser) -> None:
    """Add `--import`, whose values end up in `options.modules`."""
    parser.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE", help="import this first"
    )


def import_modules(modules: Sequence[str]) -> None:
    """Import modules that register names, also those that lie in the working directory."""
    sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        importlib.import_module(module)
