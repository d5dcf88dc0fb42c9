"""`axioms new`: write a starting point for a spec, a method or a rule."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axioms.commands.new.files import WORKFLOW_FILE, name_module, write_missing, write_new
from axioms.commands.new.property_templates import KNOWN_OF_METHOD, PROPERTIES
from axioms.commands.new.repository_templates import SETTINGS, WORKFLOW
from axioms.commands.new.rule_templates import PROJECT, REWRITES_SPEC, RULE, RULE_SPEC, RULE_TEST
from axioms.commands.new.templates import METHOD, METHOD_SPEC, SPEC
from axioms.core.errors import InputError, display_path
from axioms.core.printable import printable
from axioms.core.registry import METHODS

SPECS = Path("specs")
ABOUT = """\
Write a working, commented starting point, which passes as it is and says what to change. No file is ever overwritten.

    axioms new spec NAME      specs/NAME.yaml
    axioms new method NAME    NAME.py with a method of that name, and specs/NAME.yaml, which checks it
                              with --properties, also tests/test_NAME_properties.py: each exact axiom as a hypothesis
                              test; where NAME.py is there already, that file alone
    axioms new rule NAME      NAME.py with a rule and a method that is made of it; tests/test_NAME.py with an oracle
                              and properties; specs/NAME.yaml and specs/NAME_rewrites.yaml; and, where there are none,
                              pyproject.toml, pytest.ini and .github/workflows/axioms.yml

A pytest.ini that has a line `axioms_import =` gets the rule's module added to it. `axioms init` sets up a folder."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its arguments."""
    parser = commands.add_parser(
        "new",
        help="write a working, commented starting point for a spec, a method or a rule",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=tuple(WRITERS), metavar="spec|method|rule", help="what to start")
    parser.add_argument("name", metavar="NAME", help="its name, which is that of the files too")
    parser.add_argument("--properties", action="store_true", help="of a method: write hypothesis tests of the axioms")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files and print the command to run next; return 2 where a name or a file is in the way."""
    try:
        if options.properties and options.kind != "method":
            raise InputError("--properties is for `axioms new method`; a rule's tests have properties of their own.")
        writer = _new_properties if options.properties else WRITERS[options.kind]
        print("\n".join(writer(options.name)))
    except InputError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    return 0


def _new_spec(name: str) -> list[str]:
    _check_spec_name(name)
    (file,) = write_new({SPECS / f"{name}.yaml": SPEC.replace("NAME", name)})
    return [_listed("written", [file]), f"next: pytest {display_path(file)}"]


def _new_method(name: str) -> list[str]:
    _check_method_name(name)
    files = {Path(f"{name}.py"): METHOD, SPECS / f"{name}.yaml": METHOD_SPEC}
    module, spec = write_new({file: text.replace("NAME", name) for file, text in files.items()})
    return [_listed("written", [module, spec]), f"next: pytest {display_path(spec)} --axioms-import {name}"]


def _new_properties(name: str) -> list[str]:
    """Write the tests of a method's properties, and the method too unless its module is there."""
    is_there, tests = Path(f"{name}.py").exists(), Path(f"tests/test_{name}_properties.py")
    if tests.exists():
        raise InputError(f"{display_path(tests)} exists already and is left as it is; choose another name.")
    lines = [f"left as it is: {name}.py"] if is_there else _new_method(name)
    text = PROPERTIES.replace("{KNOWN}", "{}" if is_there else KNOWN_OF_METHOD)
    lines.append(_listed("written", write_new({tests: text.replace("NAME", name)})))
    return [*lines, f"next: pytest {display_path(tests)} --axioms-import {name}"]


def _new_rule(name: str) -> list[str]:
    _check_method_name(name)
    files = {
        Path(f"{name}.py"): RULE,
        Path(f"tests/test_{name}.py"): RULE_TEST,
        SPECS / f"{name}.yaml": RULE_SPEC,
        SPECS / f"{name}_rewrites.yaml": REWRITES_SPEC,
    }
    written = write_new({file: text.replace("NAME", name) for file, text in files.items()})
    project = PROJECT.replace("NAME", name).replace("DISTRIBUTION", name.replace("_", "-"))
    once, left = write_missing({Path("pyproject.toml"): project, WORKFLOW_FILE: WORKFLOW})
    lines = [_listed("written", [*written, *once])]
    lines += [_listed("left as it is", left)] if left else []
    lines.append(name_module(name, SETTINGS.replace("MODULES", name)))
    return [*lines, f"next: pytest {' '.join(display_path(file) for file in written[1:])}"]


WRITERS: dict[str, Callable[[str], list[str]]] = {"spec": _new_spec, "method": _new_method, "rule": _new_rule}


def _listed(what: str, files: list[Path]) -> str:
    return f"{what}: {', '.join(map(display_path, files))}"


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
