"""A whole run, and how it is read."""

from __future__ import annotations

import json
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from axioms.core.errors import InputError, display_path
from axioms.core.html import html_table, verdict_word
from axioms.record.check import CheckRecord, ErrorCheck, SkippedCheck
from axioms.record.claim import ClaimRecord
from axioms.record.parts import Part

SCHEMA_VERSION: Final = 2
RESULTS = "results.json"
Status = Literal["running", "passed", "failed", "interrupted"]


class RuleRecord(Part):
    """A rule with its options."""

    name: str
    options: dict[str, Any]


class MethodRecord(Part):
    """What a method is made of, with its options as they are by default."""

    passes: float | None
    """Forward-and-backward passes; None where that depends on the input."""
    rules: dict[str, RuleRecord | None] | None
    """By kind of operation, for the kinds that it has rules for (None: for some modules only); None: not of rules."""


class RunInfo(Part):
    """When and how a run was started, and what became of it."""

    status: Status
    started: str
    seconds: float
    command: str
    git_commit: str | None


class Environment(Part):
    """What the numbers were computed with."""

    python: str
    platform: str
    processor: str = ""
    packages: dict[str, str | None]

    @property
    def versions(self) -> dict[str, str | None]:
        """Python's and the packages' versions, by name."""
        return {"python": self.python, **self.packages}


class WorkerRecord(Part):
    """A worker of a cluster."""

    number: int
    host: str
    device: str
    threads: int


class LossRecord(Part):
    """A worker that was lost with its process or node, and what it had not finished."""

    worker: int
    host: str
    task: str
    """The spec, and the number of the shard."""
    computed_again: int
    """Measurements of it that another worker made."""


class ClusterRecord(Part):
    """Who computed, where that was not the process of pytest."""

    address: str
    """As it was given: `local:2`."""
    workers: list[WorkerRecord]
    """Those that ever were ready."""
    lost: list[LossRecord]


class Drift(Part):
    """What changed from the baseline, as text."""

    compared: int
    failed: bool
    versions: list[str]
    said: list[str]
    header: list[str]
    rows: list[list[str]]


class RunRecord(Part):
    """A whole run: the content of results.json."""

    schema_version: Literal[2] = SCHEMA_VERSION
    run: RunInfo
    environment: Environment
    cluster: ClusterRecord | None = None
    """None where the process of pytest computed everything."""
    methods: dict[str, MethodRecord]
    """The methods that were run, by label, as far as they are registered under it."""
    skipped: list[SkippedCheck]
    not_run: list[str]
    """Ids of checks that exist in the specs that were run, and were neither run nor skipped."""
    above_tier: dict[str, int] = Field({})
    """How many of these lie above the tier of the run, by tier: what `--axioms-tier full` would run."""
    errors: list[ErrorCheck] = Field([])
    """Checks that raised; in none of the other lists."""
    claims: list[ClaimRecord] = Field([])
    """In the order of their specs; none while a run goes on."""
    baseline: Drift | None
    """None where the run was compared with none."""
    checks: list[CheckRecord]
    """In the order of their specs."""

    @cached_property
    def by_part(self) -> dict[str, list[CheckRecord]]:
        """The checks of each spec; of each of its subjects where it has several."""
        parts: dict[str, list[CheckRecord]] = {}
        for check in self.checks:
            parts.setdefault(check.part, []).append(check)
        return parts

    def _repr_html_(self) -> str:
        """Return every claim with its verdict in its colour, for a notebook."""
        rows = [
            [verdict_word(claim.verdict), escape(claim.subject), escape(claim.claim), escape(str(claim.number or ""))]
            for claim in self.claims
        ]
        said = f"{self.run.status}: {len(self.checks)} checks, {len(self.failed)} failed, {len(self.skipped)} skipped"
        return html_table(["verdict", "subject", "claim", "number"], rows, said)

    @property
    def failed(self) -> list[CheckRecord]:
        """The checks that do not pass."""
        return [check for check in self.checks if not check.passed]


def read_record(path: Path) -> RunRecord:
    """Read the results.json of a run's folder, or the file itself; an `InputError` says why it cannot be read."""
    file = path / RESULTS if path.is_dir() else path
    return parse_record(read_text(file), display_path(file))


def read_text(file: Path) -> str:
    """Read a file that a user named."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{display_path(file)} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{display_path(file)} is not JSON; give a run's folder or its {RESULTS}.") from None


def parse_record(text: str, name: str) -> RunRecord:
    """Read the content of a results.json; `name` is what errors call the file."""
    try:
        return RunRecord.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{name} {_problem(text, error)}") from None


def _problem(text: str, error: ValidationError) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return f"is not JSON; give a run's folder or its {RESULTS}."
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        said = "is not one" if version is None else f"is of version {version}"
        return f"{said}: a {RESULTS} of version {SCHEMA_VERSION} is needed; run the specs again to write one."
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"is not a {RESULTS} of version {SCHEMA_VERSION}: {where}: {first['msg']}."
