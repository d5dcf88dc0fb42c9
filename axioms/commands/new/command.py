"""`axioms new`: write a starting point for a spec or a method."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import sys
from pathlib import Path
from typing import Any

from axioms.commands.new.templates import METHOD, METHOD_SPEC, SPEC
from axioms.core.errors import InputError, display_path
from axioms.core.registry import METHODS

SPECS = Path("specs")
ABOUT = """\
Write a working, commented starting point, which passes as it is and says what to change. No file is ever overwritten.

    axioms new spec NAME      specs/NAME.yaml
    axioms new method NAME    NAME.py with a method of that name, and specs/NAME.yaml, which checks it"""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its arguments."""
    parser = commands.add_parser(
        "new",
        help="write a working, commented starting point for a spec or a method",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=("spec", "method"), metavar="spec|method", help="what to start")
    parser.add_argument("name", metavar="NAME", help="its name, which is that of the files too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files and print the command to run next; return 2 where a name or a file is in the way."""
    name = options.name
    try:
        if options.kind == "spec":
            _check_spec_name(name)
            written = _write({SPECS / f"{name}.yaml": SPEC}, name)
            command = f"pytest {display_path(written[0])}"
        else:
            _check_method_name(name)
            written = _write({Path(f"{name}.py"): METHOD, SPECS / f"{name}.yaml": METHOD_SPEC}, name)
            command = f"pytest {display_path(written[1])} --axioms-import {name}"
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"written: {', '.join(map(display_path, written))}\nnext: {command}")
    return 0


def _check_spec_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise InputError(
            f"{name!r} is no name for a spec: letters, digits, - and _, beginning with a letter or a digit (a leading "
            f"_ marks a base for `extends`).{_instead(name, r'[^A-Za-z0-9_-]+')}"
        )


def _check_method_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise InputError(
            f"{name!r} is no name for a method: small letters, digits and _, beginning with a letter, and no word of "
            f"Python's own.{_instead(name.lower(), r'[^a-z0-9_]+')}"
        )
    if name in METHODS:
        raise InputError(f"there is a method {name!r} already: {METHODS.get(name).summary}")
    known = None if Path(f"{name}.py").exists() else importlib.util.find_spec(name)
    if known is not None and known.origin is not None:  # a folder without any Python has none
        raise InputError(f"{name}.py would hide the Python module {name!r}; choose another name.")


def _instead(name: str, wrong: str) -> str:
    """Return a suggestion made of the same letters, where there are any."""
    better = re.sub(wrong, "_", name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".py")).strip("_-")
    fine = better and better[0].isalpha() and not keyword.iskeyword(better)
    return f" Did you mean {better!r}?" if fine else ""


def _write(files: dict[Path, str], name: str) -> list[Path]:
    """Write all files, or none where a file is there already."""
    there = [display_path(file) for file in files if file.exists()]
    if there:
        raise InputError(f"{' and '.join(there)} exists already and is left as it is; choose another name.")
    for file, text in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as out:
                out.write(text.replace("NAME", name))
        except OSError as error:
            raise InputError(f"{display_path(file)} cannot be written: {error.strerror}.") from None
    return list(files)
