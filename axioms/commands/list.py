"""`axioms list`: print every name that a spec can use, or all about one."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.entries import Axiom, Registered, Rule
from axioms.core.errors import InputError, did_you_mean
from axioms.core.printable import printable
from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, RULES, SUBJECTS, Registry
from axioms.core.suite import suite_fixtures

REGISTRIES: dict[str, Registry[Any]] = {
    "methods": METHODS,
    "axioms": AXIOMS,
    "subjects": SUBJECTS,
    "data": DATA,
    "rewrites": REWRITES,
    "rules": RULES,
}
FIXTURES = "fixtures"


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "list", help="print the methods, axioms, subjects, data, rewrites, rules and fixtures that a spec can name"
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"only these: {', '.join([*REGISTRIES, FIXTURES])}")
    parser.add_argument("name", nargs="?", metavar="NAME", help="all about one of them: its options and their defaults")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the names with the first line of their docstrings, or one entry with its options."""
    import_modules(options.modules)
    kinds = [*REGISTRIES, FIXTURES]
    if options.kind is not None and options.kind not in kinds:
        raise InputError(f"there is no kind {options.kind!r} of names.{did_you_mean(options.kind, kinds)}")
    if options.name is None:
        for kind in kinds if options.kind is None else [options.kind]:
            print(printable("\n".join([kind, *_names(kind)])))
    elif options.kind == FIXTURES:
        print(printable(_fixture(options.name)))
    else:
        print(printable(describe(REGISTRIES[options.kind].get(options.name))))
    return 0


def _names(kind: str) -> list[str]:
    if kind == FIXTURES:
        return [f"  {name}" for name in _fixtures()]
    registry = REGISTRIES[kind]
    return [f"  {name:<26} {registry.get(name).summary}" for name in registry]


def describe(entry: Registered) -> str:
    """Return an entry's name, docstring, options with their types and defaults, and what else is known of it."""
    lines = [entry.name, "", inspect.getdoc(entry.function) or ""]
    fields = entry.options_model().model_fields
    lines += ["", "options:"] if fields else ["", "no options"]
    for name, field in fields.items():
        kind = _type_name(field.annotation)
        default = "needed" if field.is_required() else f"default {field.default!r}"
        lines.append(f"  {name:<16} {kind}, {default}")
    if isinstance(entry, Axiom):
        lines += ["", "metrics:", *(f"  {name:<16} {metric.about}" for name, metric in entry.metrics.items())]
        lines += ["", f"expected unless a spec says otherwise: {dict(entry.expect)}"] if entry.expect else []
    if isinstance(entry, Rule):
        lines += ["", f"for {', '.join(entry.on)} operations"]
    return "\n".join(lines)


def _type_name(annotation: Any) -> str:
    """Return a type as one would write it: `float`, `list[int] | None`, `Literal['fast'] | dict[str, float]`."""
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_type_name(part) for part in get_args(annotation))
    if annotation is NoneType:
        return "None"
    if get_origin(annotation) is Annotated:  # what it adds is said where it is broken
        return _type_name(get_args(annotation)[0])
    is_plain = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if is_plain else str(annotation).replace("typing.", "")


def _fixtures() -> dict[str, Path]:
    """Return the fixtures in reach by name: here, above, and the suite's; the nearest of two with the same name."""
    folders = [folder / FIXTURES for folder in (Path.cwd(), *Path.cwd().parents)] + [suite_fixtures()]
    files = [file for folder in reversed(folders) for file in sorted(folder.glob("*.yaml")) if file.stem != "assets"]
    return dict(sorted({file.stem: file for file in files}.items()))


def _fixture(name: str) -> str:
    known = _fixtures()
    if name not in known:
        raise InputError(f"there is no fixture {name!r}.{did_you_mean(name, known)}")
    return f"{known[name]}\n\n{known[name].read_text(encoding='utf-8').rstrip()}"
