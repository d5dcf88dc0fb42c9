"""Drawings that are made from what they show: import-linter's contract, and the READMEs."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path

import scorecards

LAYERS, CALL, SCORECARDS = "<!-- layers -->", "<!-- call -->", "<!-- scorecards -->"


def draw(markdown: str, root: Path) -> str:
    """Return a page with its drawings in their places."""
    for mark, drawing in ((LAYERS, layers), (CALL, call), (SCORECARDS, claims)):
        if mark in markdown:
            markdown = markdown.replace(mark, drawing(root))
    return markdown


def layers(root: Path) -> str:
    """Return the layers of the package, the top one first, each with what its package says of itself."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(part for part in project["tool"]["importlinter"]["contracts"] if part["type"] == "layers")
    rows = []
    for line in contract["layers"]:
        names = [name.strip() for name in line.split("|")]
        about = "; ".join(_about(root / "axioms" / name) for name in names)
        rows.append(f"<div><b>{html.escape(' · '.join(names))}</b> {html.escape(about)}</div>")
    return f'<div class="layers">{"".join(rows)}</div>'


def _about(folder: Path) -> str:
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    match = re.match(r'"""(.*?)(?:"""|\n)', text)
    return match[1].strip() if match else ""


def call(root: Path) -> str:
    """Return the way of one torch function through the engine, as the engine's own README has it."""
    text = (root / "axioms" / "engine" / "README.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return "```text\n" + "\n".join(lines) + "\n```"


def claims(root: Path) -> str:
    """Return the papers' scorecards, as the README has them from the last accepted run."""
    lines = scorecards.printed_lines((root / "README.md").read_text(encoding="utf-8"))
    return "\n".join(["```text", *lines, "```"])
