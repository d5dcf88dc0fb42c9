"""The `axioms` command."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.commands import assets, compare, falsify
from axioms.commands.audit import command as audit
from axioms.commands.explain import command as explain
from axioms.commands.new import command as new
from axioms.core.errors import InputError, SpecError, display_path
from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, SUBJECTS, Registry


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run one subcommand; the exit code is 2 where a spec is wrong."""
    parser = argparse.ArgumentParser(
        prog="axioms",
        description="Check attribution methods for Transformers against axioms stated in YAML. "
        "The checks themselves run with `pytest specs/`.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="validate specs without running them")
    check.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="spec files or folders of them")
    check.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE", help="import this first"
    )
    commands.add_parser("schema", help="print the JSON Schema of a spec, for editors")
    report = commands.add_parser("report", help="print the papers' tables of a saved run, with the papers' numbers")
    report.add_argument("saved", type=Path, metavar="RUN", help="its folder (reports/latest) or its results.json")
    report.add_argument(
        "--format",
        choices=("md", "tex", "csv", "html"),
        default="md",
        help="Markdown, LaTeX or CSV; html writes index.html, the tables and the figures anew beside results.json (md)",
    )
    report.add_argument("--table", metavar="NAME", help="only this table, for example table-2 or agreement-table-2")
    report.add_argument(
        "--standalone", action="store_true", help="with --format tex: a whole document, which pdflatex compiles"
    )
    rules = commands.add_parser("rules", help="print which rule each method uses for which kind of operation")
    rules.add_argument("--format", choices=("md", "tex", "csv"), default="md", help="Markdown, LaTeX or CSV (md)")
    commands.add_parser(
        "list", help="print the methods, axioms, subjects, data sources and rewrites that a spec can name"
    )
    compare.add_parser(commands)
    assets.add_parser(commands)
    explain.add_parser(commands)
    falsify.add_parser(commands)
    new.add_parser(commands)
    audit.add_parser(commands)
    options = parser.parse_args(arguments)
    if hasattr(options, "run"):
        return int(options.run(options))
    if options.command == "check":
        return _check(options.paths, options.modules)
    if options.command == "assets":
        return assets.run(options)
    if options.command == "report":
        return _report(options.saved, options.format, options.table, options.standalone)
    if options.command == "rules":
        return _rules(options.format)
    print(schema_text() if options.command == "schema" else _listing())
    return 0


def schema_text() -> str:
    """The JSON Schema of a spec, as `axioms/spec/schema.json` holds it."""
    from axioms.spec import Spec

    schema = Spec.model_json_schema()
    schema["properties"]["extends"] = {"type": "string", "description": "A spec that this one builds on."}
    # A spec that extends another may leave out what that one says.
    del schema["required"]
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=1)


def spec_files(paths: Sequence[Path]) -> list[Path]:
    """The specs among files and folders; `_*.yaml` are bases for `extends`."""
    files: list[Path] = []
    for path in paths:
        found = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path]
        files += [file for file in found if path == file or not file.name.startswith("_")]
    return files


def _check(paths: Sequence[Path], modules: Sequence[str]) -> int:
    from axioms.spec import expand_file

    sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        importlib.import_module(module)
    files = spec_files(paths)
    if not files:
        print(f"no specs in {', '.join(map(str, paths))}", file=sys.stderr)
        return 2
    checks, wrong = 0, 0
    for file in files:
        try:
            checks += len(expand_file(file).checks)
        except SpecError as error:
            wrong += 1
            print(error, file=sys.stderr)
    print(f"{len(files) - wrong} of {len(files)} specs are valid; {checks} checks.")
    return 2 if wrong else 0


def _report(run: Path, kind: str, table: str | None, standalone: bool) -> int:
    from axioms.report.files import print_document, print_paper

    if standalone and kind != "tex":
        print(f"--standalone is a LaTeX document: it goes with --format tex, not with {kind}.", file=sys.stderr)
        return 2
    try:
        if kind == "html":
            print(_page(run))
        else:
            print(print_document(run, table) if standalone else print_paper(run, kind, table), end="")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _page(run: Path) -> str:
    """Write the page of a saved run anew, with the specs' lines as far as they lie below this folder."""
    from axioms.report.write import write_report
    from axioms.run.records import read_results

    folder = run if run.is_dir() else run.parent
    return display_path(write_report(read_results(run), folder, Path.cwd()).page)


def _rules(kind: str) -> int:
    from axioms.report.method_table import every_method
    from axioms.report.render import RENDERERS

    print(RENDERERS[kind](every_method()), end="")
    return 0


def _listing() -> str:
    registries: list[Registry[Any]] = [METHODS, AXIOMS, SUBJECTS, DATA, REWRITES]
    lines = []
    for registry in registries:
        lines.append(f"{registry.what}s")
        lines += [f"  {name:<26} {registry.get(name).summary}" for name in registry]
    return "\n".join(lines)
