"""The `axioms` command: one module for each subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import axioms
from axioms.commands import assets, check, compare, falsify, init, list, report, rules, schema
from axioms.commands.audit import command as audit
from axioms.commands.card import command as card
from axioms.commands.explain import command as explain
from axioms.commands.new import command as new
from axioms.commands.plan import command as plan
from axioms.core.errors import AxiomsError
from axioms.core.printable import printable

SUBCOMMANDS = (check, schema, report, rules, list, compare, assets, explain, falsify, init, new, audit, card, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run one subcommand; return its exit code, which is 2 where its input is wrong."""
    parser = argparse.ArgumentParser(
        prog="axioms",
        description="Check attribution methods for Transformers against axioms stated in YAML. "
        "The checks themselves run with `pytest specs/`.",
    )
    parser.add_argument("--version", action="version", version=f"axioms {axioms.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in SUBCOMMANDS:
        subcommand.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except AxiomsError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has read enough; what Python flushes at its end goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
