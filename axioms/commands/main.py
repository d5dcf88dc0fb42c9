"""The `axioms` command: one module for each subcommand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from axioms.commands import assets, check, compare, falsify, list, report, rules, schema
from axioms.commands.audit import command as audit
from axioms.commands.explain import command as explain
from axioms.commands.new import command as new

SUBCOMMANDS = (check, schema, report, rules, list, compare, assets, explain, falsify, new, audit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run one subcommand; return its exit code, which is 2 where its input is wrong."""
    parser = argparse.ArgumentParser(
        prog="axioms",
        description="Check attribution methods for Transformers against axioms stated in YAML. "
        "The checks themselves run with `pytest specs/`.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in SUBCOMMANDS:
        subcommand.add_parser(commands)
    options = parser.parse_args(arguments)
    return int(options.run(options))
