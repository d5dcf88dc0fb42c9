"""Every name that a page may have in code font, and the links to where the reference describes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import catalogue
import options
import schemas

import axioms
from axioms import record
from axioms.core.errors import did_you_mean
from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, RULES, SUBJECTS
from axioms.core.suite import suite_fixtures
from axioms.engine.kinds import KINDS

BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<![`\[])`([^`\n]+)`(?!\]|`)")
NAME = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
PATH = re.compile(r"(?:specs|tests|axioms|fixtures|benchmarks|docs|reports|\.ci|\.github)/[\w./*{},-]*")
FILE = re.compile(r"^```\w+\n# (\S+)$", re.MULTILINE)
"""The name of the file that a code block is."""
OTHERS = Path(__file__).with_name("words.txt")
"""Words in code font that are nobody's name here: other tools, other options, other people's modules."""


class Vocabulary:
    """What a page may name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.targets = self._targets()
        self.options = {name for name, _ in options.recorded().options} | {
            option
            for parser in options.subparsers().values()
            for action in parser._actions
            for option in action.option_strings
        }
        others = OTHERS.read_text(encoding="utf-8").split()
        self.options |= {word for word in others if word.startswith("--")}
        self.names = {*self.targets, *self._further(), *others}

    def _targets(self) -> dict[str, str]:
        targets = {f"{name}": f"reference/subjects.md#models-{name}" for name in SUBJECTS}
        targets |= {name: f"reference/subjects.md#data-{name}" for name in DATA}
        targets |= {
            file.stem: f"reference/subjects.md#fixture-{file.stem}"
            for file in suite_fixtures().glob("*.yaml")
            if file.stem != "assets"
        }
        targets |= {name: f"reference/rules.md#{name}" for name in RULES}
        targets |= {name: f"reference/rewrites.md#{name}" for name in REWRITES}
        targets |= {name: f"reference/methods.md#{name}" for name in METHODS}
        targets |= {name: f"reference/axioms.md#{name}" for name in AXIOMS}
        targets |= {name: f"reference/pytest.md#{name.lstrip('-')}" for name, _ in options.recorded().options}
        targets |= {name: f"reference/commands.md#{name.replace(' ', '-')}" for name in options.subparsers()}
        return targets | {
            path.relative_to(
                self.root
            ).as_posix(): f"reference/specs.md#{catalogue.anchor(path.relative_to(self.root).as_posix())}"
            for path in catalogue.spec_files(self.root)
        }

    def _further(self) -> set[str]:
        """Return names without a place of their own: keys, values and metrics of what has one."""
        names = {
            key for schema in (schemas.json_schema(), record.RunRecord.model_json_schema()) for key in _keys(schema)
        }
        for registry in (AXIOMS, METHODS, REWRITES, RULES, SUBJECTS, DATA):
            names |= {option for name in registry for option in registry.get(name).options_model().model_fields}
        names |= {metric for name in AXIOMS for metric in AXIOMS.get(name).metrics}
        names |= {name for name, _, _ in options.recorded().settings} | set(KINDS) | set(axioms.__all__)
        functions = [getattr(axioms, name) for name in axioms.__all__ if inspect.isfunction(getattr(axioms, name))]
        names |= {parameter for function in functions for parameter in inspect.signature(function).parameters}
        names |= {path.stem for path in catalogue.spec_files(self.root)}
        return names | {word for command in options.subparsers() for word in command.split()}

    def problems(self, markdown: str) -> list[str]:
        """Return a sentence for every name, option and path on a page that does not exist."""
        prose = BLOCK.sub("", markdown)
        spans = SPAN.findall(prose)
        names = [span for span in spans if NAME.fullmatch(span) and span not in self.names]
        said = [
            f"`{name}` is no name that is registered, nor a key, metric or option.{suggestion(name, self.names)}"
            for name in names
        ]
        found = {option for option in OPTION.findall(markdown) if option.rstrip("-") not in self.options}
        said += [f"there is no option {option}.{suggestion(option, self.options)}" for option in sorted(found)]
        paths = [
            path for span in spans for path in PATH.findall(span) if PATH.fullmatch(span.split("::")[0].split(" ")[0])
        ]
        written = set(FILE.findall(markdown))
        return said + [f"there is no file `{path}`" for path in paths if path not in written and not self._exists(path)]

    def _exists(self, path: str) -> bool:
        parts = re.match(r"(.*)\{(.*)\}(.*)", path)
        choices = [f"{parts[1]}{part}{parts[3]}" for part in parts[2].split(",")] if parts else [path]
        generated = (
            "reports/latest",
            "reports/runs",
            "reports/explain",
            "reports/before",
            "reports/card",
            "reports/growth",
            "fixtures/NAME",
        )
        return all(choice.startswith(generated) or any(self.root.glob(choice.rstrip("/"))) for choice in choices)

    def link(self, markdown: str, page: str) -> str:
        """Return the page with a link at the first mention of each name that the reference describes."""
        up = "../" * page.count("/")
        seen: set[str] = set()

        def linked(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self.targets or name in seen:
                return match[0]
            seen.add(name)
            return f"[`{name}`]({up}{self.targets[name]})"

        parts = re.split(r"(^```.*?^```$|^#.*?$|^    .*?$)", markdown, flags=re.DOTALL | re.MULTILINE)
        return "".join(part if number % 2 else SPAN.sub(linked, part) for number, part in enumerate(parts))


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a known name that looks like this one, as a question."""
    return did_you_mean(name, known).partition(" Known:")[0]


def _keys(schema: Any) -> set[str]:
    """Return every key and every listed value of a schema."""
    if isinstance(schema, list):
        return {key for part in schema for key in _keys(part)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {})) if isinstance(schema.get("properties"), dict) else set()
    own |= {str(value) for value in schema.get("enum", []) if isinstance(value, str)}
    return own | {key for part in schema.values() for key in _keys(part)}
