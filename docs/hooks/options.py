"""Pages of the command line: every subcommand of `axioms`, and every option that the plugin adds to pytest."""

from __future__ import annotations

import argparse
from typing import Any

from prose import cell, escape, table

from axioms.commands.main import SUBCOMMANDS
from axioms.plugin.options import pytest_addoption


def subparsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every subcommand, and of theirs, by how it is called."""
    parser = argparse.ArgumentParser(prog="axioms", formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers()
    for subcommand in SUBCOMMANDS:
        subcommand.add_parser(commands)
    return _below(parser, "axioms")


def _below(parser: argparse.ArgumentParser, name: str) -> dict[str, argparse.ArgumentParser]:
    parsers = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, child in action.choices.items():
                parsers |= {f"{name} {word}": child, **_below(child, f"{name} {word}")}
    return parsers


def helps() -> dict[str, str]:
    """Return the one line that `axioms --help` has for each subcommand."""
    parser = argparse.ArgumentParser(prog="axioms")
    commands = parser.add_subparsers()
    for subcommand in SUBCOMMANDS:
        subcommand.add_parser(commands)
    return {f"axioms {choice.dest}": choice.help or "" for choice in commands._choices_actions}


def arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what a user may give to a subcommand."""
    skipped = (argparse._HelpAction, argparse._SubParsersAction)
    return [action for action in parser._actions if not isinstance(action, skipped)]


def commands_page() -> str:
    """Return every subcommand with its arguments and options."""
    parts = [
        "# The `axioms` command\n",
        "*Generated from the parsers when this site was built; `axioms COMMAND --help` prints the same.*\n",
    ]
    lines = helps()
    for name, parser in subparsers().items():
        anchor = name.replace(" ", "-")
        parts += [f"## `{name}` {{#{anchor}}}\n", escape(parser.description or lines.get(name, "")) + "\n"]
        parts += [f"```text\n{parser.format_usage().removeprefix('usage: ').rstrip()}\n```\n"]
        rows = [[_called(action), cell(_help(action))] for action in arguments(parser)]
        parts += [table(["argument", "what it means"], rows) if rows else "No arguments.\n"]
    return "\n".join(parts)


def _called(action: argparse.Action) -> str:
    value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else None)
    if not action.option_strings:
        return f"`{value or action.dest}`"
    takes = "" if action.nargs == 0 else f" {value or action.dest.upper()}"
    return f"`{', '.join(action.option_strings)}{takes}`".replace("|", "\\|")


def _help(action: argparse.Action) -> str:
    if not action.help:
        return ""
    return action.help.replace("%%", "%") if "%(" not in action.help else action.help % {"default": action.default}


class Recorder:
    """Stands in for pytest's parser, and remembers what the plugin adds."""

    def __init__(self) -> None:
        self.options: list[tuple[str, dict[str, Any]]] = []
        self.settings: list[tuple[str, str, Any]] = []

    def getgroup(self, *_: Any) -> Recorder:
        """Return itself as the group."""
        return self

    def addoption(self, name: str, **attributes: Any) -> None:
        """Remember an option."""
        self.options.append((name, attributes))

    def addini(self, name: str, text: str, type: str | None = None, default: Any = None) -> None:
        """Remember a setting of the ini file."""
        self.settings.append((name, text, default))


def recorded() -> Recorder:
    """Return what the plugin adds to pytest."""
    recorder = Recorder()
    pytest_addoption(recorder)  # type: ignore[arg-type]
    return recorder


def pytest_page() -> str:
    """Return every option and setting that the plugin adds to pytest."""
    recorder = recorded()
    parts = [
        "# Options of pytest\n",
        "*Generated from the plugin when this site was built; `pytest --help` prints the same.*\n",
    ]
    for name, attributes in recorder.options:
        choices = attributes.get("choices")
        value = (
            f" {{{','.join(choices)}}}" if choices else f" {attributes['metavar']}" if "metavar" in attributes else ""
        )
        parts += [f"### `{name}{value}` {{#{name.lstrip('-')}}}\n", escape(attributes.get("help", "")) + "\n"]
    parts += ["## Settings of the ini file\n"]
    parts += [
        table(
            ["setting", "what it means", "default"],
            [[f"`{name}`", cell(text), f"`{default}`"] for name, text, default in recorder.settings],
        )
    ]
    return "\n".join(parts)
