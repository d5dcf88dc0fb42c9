"""The baseline gate: this session's numbers beside those of the last accepted run."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.core.errors import InputError, display_path
from axioms.core.files import write_whole
from axioms.report.baseline import DEFAULT_FILE, Saved, baseline_text, read_saved, spec_of, updated
from axioms.report.drift import HEADER, Difference, difference
from axioms.report.text import aligned

MOST_ROWS = 40
"""Of the table in the terminal; results.json and summary.md have all of them."""


class Gate:
    """Compares a session with a baseline file and updates the file where that is asked for."""

    def __init__(self, file: Path, root: Path, update: str | None) -> None:
        """`update` is `new`, `all` or None; without it the file must be there."""
        self._file, self._root, self._update = file, root, update
        self._before = read_saved(file) if file.exists() or update is None else None
        self.difference: Difference | None = None
        self._said: list[str] = []

    @property
    def failed(self) -> bool:
        """Whether something drifted and was not accepted by `--axioms-update-baseline=all`."""
        return self.difference is not None and self.difference.failed and self._update != "all"

    def close(self, run: Saved, *, finished: bool) -> None:
        """Compare a run; then update the file, unless the run was interrupted."""
        gone = self._gone(run)
        if self._before is not None:
            self.difference = difference(self._before, run, gone)
        if self._update is None:
            return
        if not finished:
            self._said.append(f"{display_path(self._file)} was not updated: the run was interrupted.")
            return
        write_whole(self._file, baseline_text(updated(self._before, run, self._update, gone)))
        self._said.append(f"updated ({self._update}): {display_path(self._file)}")
        if run.failed:
            self._said.append(f"{len(run.failed)} checks failed, and their numbers were left as they were.")

    def lines(self) -> list[str]:
        """What the terminal says: the diff, in one table, and what follows from it."""
        if self.difference is None:
            return self._said
        drifted, new = self.difference.drifted, self.difference.new
        lines = [f"{display_path(self._file)}: {sentence}" for sentence in self.difference.in_words()]
        rows = self.difference.rows()
        if rows:
            lines += ["", *aligned(HEADER, rows[:MOST_ROWS])]
        if len(rows) > MOST_ROWS:
            lines.append(f"... and {len(rows) - MOST_ROWS} more, in summary.md")
        if self._update is None and drifted:
            lines += ["", "If this is meant, accept it: --axioms-update-baseline=all, and commit the file."]
        elif self._update is None and new:
            lines += ["", "New checks are not gated yet: --axioms-update-baseline=new adds them."]
        return [*lines, *self._said]

    def _gone(self, run: Saved) -> list[str]:
        """Checks of the baseline that no longer exist: their spec was run without them, or is no longer there."""
        known = () if self._before is None else self._before.checks
        missing = [check for check in known if check not in run.checks and check not in run.absent]
        return [check for check in missing if spec_of(check) in run.specs or not (self._root / spec_of(check)).exists()]


def gate_of(config: pytest.Config) -> Gate | None:
    """The gate that the command line asks for, if it does."""
    named, update = config.getoption("--axioms-baseline"), config.getoption("--axioms-update-baseline")
    if named is None and update is None:
        return None
    try:
        return Gate(config.rootpath / (named or DEFAULT_FILE), config.rootpath, update)
    except InputError as error:
        hint = "" if update else " --axioms-update-baseline=new writes one."
        raise pytest.UsageError(f"--axioms-baseline: {error}{hint}") from None
