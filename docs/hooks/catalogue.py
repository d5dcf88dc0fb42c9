"""Pages of the specs that come with the package, and of what a committed run showed of their claims."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from prose import cell, fenced, table

WORDS = {"shown": "shown", "contradicted": "**contradicted**", "not_shown": "not shown", "not_run": "not run"}


def spec_files(root: Path) -> list[Path]:
    """Return every spec of the suite; those that begin with `_` are only extended."""
    return sorted(path for path in (root / "specs").rglob("*.yaml"))


def contents(file: Path) -> dict[str, Any]:
    """Return what a spec says, with the claim of the one that it extends where it has none."""
    said: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    if "claim" not in said and "extends" in said:
        below = contents(file.parent / said["extends"])
        said = {**{key: below[key] for key in ("claim", "claims", "source") if key in below}, **said}
    return said


def specs_page(root: Path) -> str:
    """Return every spec of the suite with its claim and its text."""
    parts = [
        "# The suite\n",
        "*Generated from `specs/`.* `pytest --axioms-suite` runs them in any folder; "
        "a spec of your own may say `extends: suite:sentiment.yaml`.\n",
    ]
    for file in spec_files(root):
        name = file.relative_to(root).as_posix()
        said = contents(file)
        parts += [f"## `{name}` {{#{anchor(name)}}}\n", f"{cell(said.get('claim', 'Shared by other specs.'))}\n"]
        parts += [f"{cell(said['source'])}\n"] if said.get("source") else []
        command = f"pytest {name}" + (f" --axioms-tier {said['tier']}" if "tier" in said else "")
        parts += [f"`{command}`\n"] if not file.name.startswith("_") else []
        parts += [
            '??? note "the file"\n',
            *(f"    {line}" for line in fenced(file.read_text(encoding="utf-8"), "yaml").splitlines()),
            "",
        ]
    return "\n".join(parts)


def anchor(name: str) -> str:
    """Return the id of a spec on its page."""
    return name.removesuffix(".yaml").replace("/", "-")


def claims_page(root: Path) -> str:
    """Return the verdict of every claim in the committed run."""
    baseline = json.loads((root / "reports" / "baseline.json").read_text(encoding="utf-8"))
    counts = Counter(baseline["claims"].values())
    versions = ", ".join(f"{name} {version}" for name, version in baseline["environment"].items())
    parts = [
        "# Every claim and its verdict\n",
        "*Generated from `reports/baseline.json`, the last accepted run of `pytest specs/`*",
    ]
    parts += [
        f"({versions}).\n",
        ", ".join(f"{count} {WORDS[verdict].strip('*')}" for verdict, count in counts.items()) + ".\n",
    ]
    rows = []
    for name, verdict in baseline["claims"].items():
        file, _, claim = name.partition("::")
        which, _, label = claim.partition("[")
        said = contents(root / file) if (root / file).exists() else {}
        number = int(which.removeprefix("claim") or 1)
        further = said.get("claims", [])
        index = number - (2 if "claim" in said else 1)
        sentence = said.get("claim", "") if number == 1 else further[index]["claim"] if index < len(further) else ""
        link = f"[{file.removeprefix('specs/').removesuffix('.yaml')}](../reference/specs.md#{anchor(file)})"
        rows.append([f"{link} {label.rstrip(']')}", cell(sentence), WORDS[verdict]])
    return "\n".join([*parts, table(["spec", "claim", "verdict"], rows)])


def counterexamples_page(root: Path) -> str:
    """Return the counterexamples that the falsifier found, smallest first."""
    files = sorted((root / "specs" / "found").rglob("*.yaml"), key=lambda file: (len(file.read_text()), file.name))
    parts = [
        "# Counterexamples\n",
        "*Generated from `specs/found/`: what `axioms falsify` found, shrank and wrote down.*\n",
    ]
    for file in files:
        name = file.relative_to(root).as_posix()
        said = contents(file)
        parts += [f"## {cell(said['claim'])}\n", f"Found by `{said.get('source', '')}`; rerun by `pytest {name}`.\n"]
        parts += [fenced(file.read_text(encoding="utf-8"), "yaml")]
    return "\n".join(parts)
