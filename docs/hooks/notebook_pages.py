"""Executed notebooks as pages: their cells and what they printed, as the file has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prose import fenced


def pages(root: Path) -> dict[str, str]:
    """Return a page for every notebook in docs/, by its path in the site."""
    folder = root / "docs"
    return {
        f"{file.relative_to(folder).with_suffix('')}.nb.md": page(json.loads(file.read_text()))
        for file in folder.rglob("*.ipynb")
        if ".ipynb_checkpoints" not in file.parts
    }


def page(notebook: dict[str, Any]) -> str:
    """Return the cells of a notebook as Markdown, each with its outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(fenced(source, "python"))
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return fenced("".join(output["text"]), "text")
    data = output.get("data", {})
    if "text/html" in data:
        return '<div class="notebook-output">' + "".join(data["text/html"]).replace("\n\n", "\n") + "</div>"
    return fenced("".join(data.get("text/plain", "")), "text")
