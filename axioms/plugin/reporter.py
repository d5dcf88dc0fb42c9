"""What a run leaves behind: results.json, summary.md, and the answer at the end of the terminal output."""

from __future__ import annotations

import time
from typing import Any

import pytest

from axioms.errors import display_path
from axioms.plugin.items import REUSED
from axioms.report.results import Results
from axioms.report.rewrites import cells_of, in_one_line
from axioms.report.tables import CLAIMED, FAILED, aligned, beside_paper, comparisons, matrix, within
from axioms.report.write import Written, write_report

SAVE_EVERY = 5.0
SAVE_SHARE = 0.05
"""At most this share of a run goes into saving what is there so far: a long document takes long to write."""
STATUS = {0: "passed", 1: "failed", 2: "interrupted"}


class Reporter:
    """Gathers the records of all items, also those of xdist's workers. Lives on the controller only."""

    def __init__(self, config: pytest.Config) -> None:
        self.results = Results(config.rootpath / config.getoption("--axioms-report"), config.rootpath)
        self._next_save = time.monotonic() + SAVE_EVERY
        self._written: Written | None = None

    @property
    def _anything(self) -> bool:
        return bool(self.results.records)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item measured. Saved every few seconds, so that a run that is killed loses little."""
        record: dict[str, Any] | None = getattr(report, "axioms_record", None)
        if record is not None:
            self.results.add(record)
            started = time.monotonic()
            if started > self._next_save:
                self.results.save("running")
                done = time.monotonic()
                self._next_save = done + max(SAVE_EVERY, (done - started) / SAVE_SHARE)
        elif report.skipped and "axioms" in report.keywords and isinstance(report.longrepr, tuple):
            self.results.skip(report.nodeid, report.longrepr[2].removeprefix("Skipped: "))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the results, also after failures and interruptions."""
        if self._anything:
            status = STATUS.get(int(exitstatus), "failed")
            self.results.save(status)  # first of all: nothing that goes wrong with a figure may cost the numbers
            self._written = write_report(self.results.document(status), self.results.folder, session.config.rootpath)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The matrix, the numbers beside the paper's, and where the report is."""
        records = self.results.records
        if not records:
            return
        terminalreporter.section("axioms")
        header, rows = matrix(records)
        lines = within(max(terminalreporter._tw.fullwidth, 60), header, rows)
        if any(CLAIMED in row for row in rows):
            lines.append("* violated, as its spec claims")
        for spec in dict.fromkeys(record["spec"] for record in records):
            mine = [record for record in records if record["spec"] == spec]
            for header, rows in (beside_paper(mine), comparisons(mine)):
                if rows:
                    lines += ["", spec, *(f"  {line}" for line in aligned(header, rows))]
        for spec in dict.fromkeys(cell.model for cell in cells_of(records)):
            lines += ["", f"{spec}: {in_one_line([each for each in cells_of(records) if each.model == spec])}"]
        lines += ["", *self._files()]
        if REUSED in terminalreporter.config.stash:
            reused, of = terminalreporter.config.stash[REUSED]
            lines.append(
                f"{reused} of {of} measurements are an earlier run's, of the same code; --axioms-fresh for none"
            )
        for line in lines:
            terminalreporter.write_line(line, red=FAILED in line)

    def _files(self) -> list[str]:
        """Where everything is, the page last: it is what one wants to open."""
        if self._written is None:
            return []
        folder, written = display_path(self.results.folder), self._written
        lines = []
        if written.tables:
            names = dict.fromkeys(file.stem for file in written.tables)
            lines.append(f"tables: {', '.join(names)} in {folder}/tables; {len(written.figures)} figures beside them")
        lines += [f"agreement: {display_path(file)}" for file in written.agreement]
        return [*lines, f"report: {display_path(written.page)} (summary.md and results.json beside it)"]
