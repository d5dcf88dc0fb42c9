"""`axioms report`: print or write anew what a saved run shows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import InputError, display_path
from axioms.core.printable import printable


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser("report", help="print the papers' tables of a saved run, with the papers' numbers")
    parser.add_argument(
        "saved",
        type=Path,
        metavar="RUN",
        help="its folder (reports/latest), its results.json, or its name under reports/runs, with its time or without",
    )
    parser.add_argument(
        "--format",
        choices=("md", "tex", "csv", "html"),
        default="md",
        help="Markdown, LaTeX or CSV; html writes index.html, the tables and the figures anew beside results.json (md)",
    )
    parser.add_argument("--table", metavar="NAME", help="only this table, for example table-2 or agreement-table-2")
    parser.add_argument(
        "--standalone", action="store_true", help="with --format tex: a whole document, which pdflatex compiles"
    )
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the tables, or write the page; return 2 where the run cannot be read."""
    from axioms.report.render import print_document, print_tables
    from axioms.report.runs import find_run

    if options.standalone and options.format != "tex":
        what = f"--standalone is a LaTeX document: it goes with --format tex, not with {options.format}."
        print(what, file=sys.stderr)
        return 2
    import_modules(options.modules)
    try:
        saved = find_run(options.saved)
        if options.format == "html":
            print(printable(_write_page(saved)))
        elif options.standalone:
            print(print_document(saved, options.table), end="")
        else:
            print(print_tables(saved, options.format, options.table), end="")
    except InputError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    return 0


def _write_page(run: Path) -> str:
    """Write the page of a saved run anew, with the specs' lines as far as they lie below this folder."""
    from axioms.record import read_record
    from axioms.report.write import write_report

    folder = run if run.is_dir() else run.parent
    written = write_report(read_record(run), folder, Path.cwd())
    if written.problems:
        raise InputError("\n".join(written.problems))
    return display_path(written.page)
