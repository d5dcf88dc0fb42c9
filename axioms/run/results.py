"""The record of a run while it goes on: checks come in, results.json is written whole or not at all."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from axioms.core.files import write_whole
from axioms.record import (
    RESULTS,
    SCHEMA_VERSION,
    CheckRecord,
    ClaimRecord,
    ClusterRecord,
    Drift,
    Environment,
    ErrorCheck,
    MethodRecord,
    RunInfo,
    RunRecord,
    SkippedCheck,
    Status,
)
from axioms.spec import TIERS

PACKAGES = ("pytest-axioms", "torch", "transformers", "numpy", "scipy", "pytest", "pydantic")


class Results:
    """Collects the records of checks and saves them; saving again replaces the file atomically."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        self._started = datetime.now(UTC)
        self._checks: dict[str, CheckRecord] = {}
        self._lines: dict[str, str] = {}
        self._methods: dict[str, MethodRecord] = {}
        self._skipped: dict[str, SkippedCheck] = {}
        self._errors: dict[str, ErrorCheck] = {}
        self.not_run: list[str] = []
        """Checks that exist beside those that were run or skipped; known when a run ends."""
        self.above_tier: Mapping[str, str] = {}
        """Of these, the tier of each that was deselected because it lies above the run's, by id."""
        self.claims: list[ClaimRecord] = []
        """Their verdicts; known when a run ends."""
        self.cluster: ClusterRecord | None = None
        """Who computed, where that was not this process."""
        self.baseline: Drift | None = None
        """What changed from the baseline, where there is one."""

    def add(self, check: CheckRecord, methods: Mapping[str, MethodRecord] | None = None) -> None:
        """Add a check that ran, and what its methods are made of."""
        _ = self._surroundings  # git takes its time once, and not while a save is timed
        self._checks[check.id] = check
        self._lines[check.id] = check.model_dump_json()
        self._methods |= methods or {}

    def skip(self, check: SkippedCheck) -> None:
        """Note a check that did not run, and why."""
        self._skipped[check.id] = check

    def fail(self, check: ErrorCheck) -> None:
        """Note a check that raised, and what."""
        self._errors[check.id] = check

    @property
    def checks(self) -> list[CheckRecord]:
        """All checks that ran in the order of their specs, whatever order they arrived in."""
        return in_order(self._checks.values())

    @property
    def ran(self) -> Mapping[str, CheckRecord]:
        """The checks that ran, by id."""
        return self._checks

    @property
    def absent(self) -> Mapping[str, SkippedCheck | ErrorCheck]:
        """The checks that were skipped or raised, by id."""
        return {**self._skipped, **self._errors}

    @property
    def is_empty(self) -> bool:
        """Whether no check has run yet."""
        return not self._checks and not self._errors

    @property
    def met(self) -> list[str]:
        """The ids of the checks that were run or skipped, or raised."""
        return [*self._checks, *self._skipped, *self._errors]

    @cached_property
    def _surroundings(self) -> tuple[dict[str, Any], Environment]:
        """What stays the same while a run goes on."""
        started = self._started.isoformat(timespec="seconds")
        command = " ".join(["pytest", *sys.argv[1:]])
        return {"started": started, "command": command, "git_commit": git_commit(self._root)}, environment()

    def record(self, status: Status) -> RunRecord:
        """The whole run so far."""
        seconds = round((datetime.now(UTC) - self._started).total_seconds(), 1)
        info, surroundings = self._surroundings
        # Every part of it is valid already, and there are thousands.
        return RunRecord.model_construct(
            schema_version=SCHEMA_VERSION,
            run=RunInfo(status=status, seconds=seconds, **info),
            environment=surroundings,
            cluster=self.cluster,
            methods=dict(sorted(self._methods.items())),
            skipped=[self._skipped[nodeid] for nodeid in sorted(self._skipped)],
            not_run=self.not_run,
            above_tier=_by_tier(self.above_tier.values()),
            errors=sorted(self._errors.values(), key=lambda check: (check.spec, check.order)),
            claims=self.claims,
            baseline=self.baseline,
            checks=self.checks,
        )

    def save(self, status: Status) -> None:
        """Write results.json, each part of the run and each check on a line of its own."""
        record = self.record(status)
        parts = [record.model_dump_json(include={name})[1:-1] for name in RunRecord.model_fields if name != "checks"]
        checks = ",\n".join(self._lines[check.id] for check in record.checks)
        write_whole(self.folder / RESULTS, "{\n" + ",\n".join([*parts, f'"checks":[\n{checks}\n]']) + "\n}\n")


def _by_tier(tiers: Iterable[str]) -> dict[str, int]:
    counted = Counter(tiers)
    return {tier: counted[tier] for tier in TIERS if counted[tier]}


def in_order(checks: Iterable[CheckRecord]) -> list[CheckRecord]:
    """By spec, and by position in it."""
    return sorted(checks, key=lambda check: (check.spec, check.order))


def environment() -> Environment:
    """What the numbers were computed with."""
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=platform.machine(),
        packages=versions,
    )


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
