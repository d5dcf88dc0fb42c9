"""results.json: the records of a run with its environment, written whole or not at all."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from axioms.run.records import SCHEMA_VERSION

PACKAGES = ("pytest-axioms", "torch", "transformers", "numpy", "scipy", "pytest", "pydantic")
UNFINISHED = ("running", "interrupted")


class Results:
    """Collects records and saves them; saving again replaces the files atomically."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        self._started = datetime.now(UTC)
        self._records: dict[str, dict[str, Any]] = {}
        self._carried: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, str] = {}
        self._skipped: dict[str, str] = {}
        self.not_run: list[str] = []
        """Checks that exist beside those that were run or skipped; known when a run ends."""
        self.baseline: dict[str, Any] | None = None
        """What changed from the baseline, where there is one."""

    def add(self, record: dict[str, Any]) -> None:
        """Add the record of a check that ran."""
        self._records[record["id"]] = record
        self._texts[record["id"]] = json.dumps(record, allow_nan=False)

    def carry(self, records: Iterable[dict[str, Any]]) -> None:
        """Records of an interrupted run, which stay in the file until their checks have had their turn."""
        self._carried = {record["id"]: record for record in records}
        self._texts |= {name: json.dumps(record, allow_nan=False) for name, record in self._carried.items()}

    def skip(self, nodeid: str, reason: str) -> None:
        """Note a check that did not run, and why."""
        self._skipped[nodeid] = reason

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records in the order of their specs, whatever order they arrived in."""
        return in_order(self._records.values())

    @property
    def met(self) -> list[str]:
        """The ids of the checks that were run or skipped."""
        return [*self._records, *self._skipped]

    @cached_property
    def _surroundings(self) -> dict[str, Any]:
        """What stays the same while a run goes on."""
        return {
            "run": {
                "started": self._started.isoformat(timespec="seconds"),
                "command": " ".join(["pytest", *sys.argv[1:]]),
                "git_commit": git_commit(self._root),
            },
            "environment": environment(),
        }

    def document(self, status: str) -> dict[str, Any]:
        """The whole of results.json; records of an interrupted run are in it until this one has finished."""
        seconds = round((datetime.now(UTC) - self._started).total_seconds(), 1)
        carried = self._carried if status in UNFINISHED else {}
        return {
            "schema_version": SCHEMA_VERSION,
            "run": {"status": status, **self._surroundings["run"], "seconds": seconds},
            "environment": self._surroundings["environment"],
            "checks": in_order({**carried, **self._records}.values()),
            "skipped": [{"id": nodeid, "reason": reason} for nodeid, reason in sorted(self._skipped.items())],
            "not_run": self.not_run,
            "baseline": self.baseline,
        }

    def save(self, status: str) -> None:
        """Write results.json, each record on a line of its own."""
        document = self.document(status)
        parts = []
        for name, value in document.items():
            text = json.dumps(value, allow_nan=False) if name != "checks" else self._lines(value)
            parts.append(f"{json.dumps(name)}: {text}")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / "results.json", "{\n" + ",\n".join(parts) + "\n}\n")

    def save_summary(self, status: str) -> None:
        """Write summary.md."""
        from axioms.report.summary import summary_markdown

        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / "summary.md", summary_markdown(self.document(status)))

    def _lines(self, records: list[dict[str, Any]]) -> str:
        return "[\n" + ",\n".join(self._texts[record["id"]] for record in records) + "\n]"


def in_order(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """By spec, and by position in it."""
    return sorted(records, key=lambda each: (each["spec"], each["order"]))


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
