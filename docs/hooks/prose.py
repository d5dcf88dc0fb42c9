"""Markdown out of docstrings and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

CODE = re.compile(r"(`[^`]*`)")


def escape(text: str) -> str:
    """Return text in which nothing but its code spans means anything to Markdown."""
    parts = CODE.split(text)
    return "".join(
        part if number % 2 else re.sub(r"([\\*_<>|$\[\]])", r"\\\1", part) for number, part in enumerate(parts)
    )


def paragraphs(docstring: str) -> str:
    """Return a docstring as paragraphs."""
    return "\n\n".join(escape(part.strip()) for part in docstring.split("\n\n"))


def cell(text: Any) -> str:
    """Return text that fits into one cell of a table."""
    parts = CODE.split(" ".join(str(text).split()))
    return "".join(part.replace("|", "\\|") if n % 2 else escape(part) for n, part in enumerate(parts))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(part) for part in line)} |" for line in lines) + "\n"


def fenced(text: str, language: str = "") -> str:
    """Return a code block."""
    return f"```{language}\n{text.rstrip()}\n```\n"
