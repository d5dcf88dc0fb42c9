"""results.json: the records of a run with its environment, written whole or not at all."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axioms.report.records import SCHEMA_VERSION
from axioms.report.summary import summary_markdown

PACKAGES = ("pytest-axioms", "torch", "transformers", "numpy", "scipy", "pytest", "pydantic")


class Results:
    """Collects records and saves them; saving again replaces the files atomically."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        self._started = datetime.now(UTC)
        self._records: dict[str, dict[str, Any]] = {}
        self._skipped: dict[str, str] = {}

    def add(self, record: dict[str, Any]) -> None:
        """Add the record of a check that ran."""
        self._records[record["id"]] = record

    def skip(self, nodeid: str, reason: str) -> None:
        """Note a check that did not run, and why."""
        self._skipped[nodeid] = reason

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records in the order of their specs, whatever order they arrived in."""
        return sorted(self._records.values(), key=lambda each: (each["spec"], each["order"]))

    def document(self, status: str) -> dict[str, Any]:
        """The whole of results.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": {
                "status": status,
                "started": self._started.isoformat(timespec="seconds"),
                "seconds": round((datetime.now(UTC) - self._started).total_seconds(), 1),
                "command": " ".join(["pytest", *sys.argv[1:]]),
                "git_commit": git_commit(self._root),
            },
            "environment": environment(),
            "checks": self.records,
            "skipped": [{"id": nodeid, "reason": reason} for nodeid, reason in sorted(self._skipped.items())],
        }

    def save(self, status: str) -> None:
        """Write results.json and summary.md."""
        document = self.document(status)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / "results.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
        write_whole(self.folder / "summary.md", summary_markdown(document))


def environment() -> dict[str, Any]:
    """What the numbers were computed with."""
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "packages": versions,
    }


def git_commit(root: Path) -> str | None:
    """The commit that is checked out, `+` where the tree has changes; None outside a repository."""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return f"{commit}+" if _git(root, "status", "--porcelain") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def write_whole(file: Path, text: str) -> None:
    """Through a temporary file, so that a reader never sees half of it."""
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)
