"""What a run leaves behind: results.json, summary.md, and the answer at the end of the terminal output."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.junitxml import xml_key  # as pytest's own `record_testsuite_property` does

from axioms.core.errors import display_path
from axioms.core.files import check_writable, write_whole
from axioms.core.printable import printable
from axioms.plugin.cluster import cluster_line, cluster_record
from axioms.plugin.gate import gate_of
from axioms.plugin.items import REUSED
from axioms.plugin.stated import complete
from axioms.plugin.tiers import checks_above, line_above
from axioms.record import RESULTS, CheckRecord, ErrorCheck, MethodRecord, SkippedCheck, Status
from axioms.report.attempts import Attempts
from axioms.report.baseline import saved_of
from axioms.report.runs import claimed, new_folder, point_latest, run_name
from axioms.run.results import Results

if TYPE_CHECKING:
    from axioms.report.write import Written

SAVE_SHARE, SUMMARY_SHARE = 0.01, 0.005
"""At most these shares of a run go into saving what is there so far: a long document takes long to write."""
STATUS: dict[int, Status] = {0: "passed", 1: "failed", 2: "interrupted"}


class NowAndThen:
    """Does something as often as it can in a given share of the time."""

    def __init__(self, do: Callable[[], None], share: float) -> None:
        self._do, self._share = do, share
        self._next = 0.0

    def __call__(self) -> None:
        """Do it, if enough time has passed."""
        started = time.monotonic()
        if started >= self._next:
            self._do()
            done = time.monotonic()
            self._next = done + (done - started) / self._share


class Reporter:
    """Gathers the records of all items, also those of xdist's workers. Lives on the controller only."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        named: str | None = config.getoption("--axioms-report")
        self._is_kept = named is None
        """Whether the run has a folder of its own, to which `latest` points."""
        self.results = Results(_kept_folder(config) if named is None else self._root / named, self._root)
        self._shown_folder = self.results.folder
        self._gate = gate_of(config)
        self._save = NowAndThen(lambda: self._attempt_save("running"), SAVE_SHARE)
        self._save_summary = NowAndThen(lambda: self._attempt_summary("running"), SUMMARY_SHARE)
        self._written: Written | None = None
        self._parts = Attempts()
        """Of what is written when the run ends."""
        if named is not None:
            self._check_folder()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say before the first check where its record could not be written."""
        if any(hasattr(item, "check") for item in session.items) and not session.config.option.collectonly:
            self._check_folder()

    def _check_folder(self) -> None:
        try:
            check_writable(self.results.folder)
        except OSError as error:
            where, why = display_path(self.results.folder), error.strerror or error
            raise pytest.UsageError(
                f"the report folder {where} cannot be written to: {why}. Name another one: --axioms-report DIR."
            ) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item measured, and save it soon, so that a run that is killed loses little."""
        text: str | None = getattr(report, "axioms_record", None)
        if self._is_kept and self.results.is_empty and (text is not None or hasattr(report, "axioms_error")):
            self._claim_folder()
        if text is not None:
            check = CheckRecord.model_validate_json(text)
            texts: dict[str, str] = getattr(report, "axioms_methods", {})
            methods = {name: MethodRecord.model_validate_json(made_of) for name, made_of in texts.items()}
            self.results.add(check, methods)
            self._save()
            self._save_summary()
        elif hasattr(report, "axioms_skipped"):
            self.results.skip(SkippedCheck.model_validate_json(report.axioms_skipped))
        elif hasattr(report, "axioms_error"):
            self.results.fail(ErrorCheck.model_validate_json(report.axioms_error))

    def _claim_folder(self) -> None:
        """Make the folder of this run, and let `latest` lead to it."""
        try:
            self.results.folder = claimed(self.results.folder)
            self._shown_folder = point_latest(self.results.folder)
        except OSError:  # the end of the run says so
            self._shown_folder = self.results.folder

    def _attempt_save(self, status: Status) -> None:
        """Save what is there so far; where that fails, the end of the run tries again."""
        with suppress(OSError):
            self.results.save(status)

    def _attempt_summary(self, status: Status) -> None:
        """Write the summary so far; where that fails, the end of the run tries again and says why."""
        with suppress(Exception):
            self._write_summary(status)

    @pytest.hookimpl(tryfirst=True)  # before JUnit's, which writes its file
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the results, also after failures and interruptions; and fail the session if the baseline says so."""
        if self.results.is_empty:
            return
        from axioms.report.write import write_report  # here, because collecting needs none of it

        status, parts = STATUS.get(int(exitstatus), "failed"), self._parts
        parts.make("the claims", lambda: complete(self.results, self._root, checks_above(session.config)))
        self.results.cluster = cluster_record(session.config)
        parts.make("JUnit's properties", lambda: self._add_to_junit(session.config))
        parts.make("the baseline", lambda: self._close_gate(status))
        if self._gate is not None and self._gate.failed and status == "passed":
            status = "failed"
        # First of all: nothing that goes wrong with a figure may cost the numbers.
        parts.make(RESULTS, lambda: self.results.save(status))
        parts.make("summary.md", lambda: self._write_summary(status))
        self._written = write_report(self.results.record(status), self.results.folder, self._root)
        if status == "failed" or parts.problems or self._written.problems:
            _fail(session)

    def _close_gate(self, status: Status) -> None:
        """Compare the run with its baseline, where it has one."""
        if self._gate is None:
            return
        self._gate.close(saved_of(self.results.record(status)), finished=status != "interrupted")
        if self._gate.difference is not None:
            self.results.baseline = self._gate.difference.record()

    def _add_to_junit(self, config: pytest.Config) -> None:
        """Put the verdict of each claim among the properties of the test suite, where JUnit XML is written."""
        xml = config.stash.get(xml_key, None)
        if xml is not None:
            for claim in self.results.claims:
                xml.add_global_property(printable(claim.id), claim.verdict.replace("_", " "))

    def _write_summary(self, status: Status) -> None:
        from axioms.report.summary import summary_markdown

        write_whole(self.results.folder / "summary.md", summary_markdown(self.results.record(status)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The scorecard of each paper; with -v the matrices and tables before it; what drifted from the baseline."""
        if self.results.is_empty:
            return
        from axioms.report.scorecard import scorecard_lines
        from axioms.report.summary import closing_lines
        from axioms.report.tables import FAILED

        lines: list[str] = []
        if terminalreporter.config.get_verbosity() > 0:
            width = max(terminalreporter._tw.fullwidth, 60)
            closing = self._parts.make("the matrices", lambda: closing_lines(self.results.checks, width)) or []
            lines = [*closing, "", *self._other_files(), ""]
        if self.results.cluster is not None:
            lines.append(cluster_line(self.results.cluster))
        if REUSED in terminalreporter.config.stash:
            lines.append(_reused_line(terminalreporter.config))
        terminalreporter.section("axioms")
        scorecard = self._parts.make("the scorecard", lambda: scorecard_lines(self.results.claims)) or []
        for line in [*lines, *scorecard]:
            terminalreporter.write_line(printable(line), red=FAILED in line)
        for problem in [*self._parts.problems, *([] if self._written is None else self._written.problems)]:
            terminalreporter.write_line(printable(f"{FAILED}: {problem}"), red=True)
            _fail(terminalreporter._session)
        if self._gate is not None:
            terminalreporter.section("axioms baseline", red=self._gate.failed, green=not self._gate.failed)
            for line in self._gate.lines():
                terminalreporter.write_line(printable(line), red=self._gate.failed)

    def _other_files(self) -> list[str]:
        """Where the tables, the figures and the pages of the papers are."""
        if self._written is None:
            return []
        folder, written = _typed(self._shown_folder), self._written
        lines = []
        if written.tables:
            names = dict.fromkeys(file.stem for file in written.tables)
            lines.append(f"tables: {', '.join(names)} in {folder}/tables; {len(written.figures)} figures beside them")
        return [*lines, *(f"{page.stem.partition('-')[0]}: {folder}/{page.name}" for page in written.pages)]

    def report_line(self) -> str | None:
        """Where the page is: what one wants to open."""
        if self._written is None or not self._written.page.exists():
            return None
        kept = f"; kept as {self.results.folder.name}" if self._is_kept else ""
        page = f"{_typed(self._shown_folder)}/{self._written.page.name}"
        return f"report: {page} (summary.md and results.json beside it{kept})"


class LastLine:
    """Writes what was left out and where the report is, below everything else, also pytest's list of failures."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
        """Let pytest and all plugins write first."""
        result = yield
        for line in (line_above(terminalreporter.config), self._reporter.report_line()):
            if line is not None:
                terminalreporter.write_line(printable(line))
        return result


def _fail(session: pytest.Session | None) -> None:
    """Let a session that passed fail: what is missing of its report could have told of something."""
    if session is not None and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reused_line(config: pytest.Config) -> str:
    """Say how much was not measured, and what is known of the code that measured it then."""
    reused, of = config.stash[REUSED]
    known = "of the same code"
    if config.getoption("--axioms-reuse"):
        known = "as asked by --axioms-reuse: what other people's code reads or imports may have changed since"
    return f"{reused} of {of} measurements are an earlier run's, {known}; --axioms-fresh for none"


def _kept_folder(config: pytest.Config) -> Path:
    """Return the folder of this session, named after the specs that it was asked for."""
    asked = [str((config.invocation_params.dir / file).resolve()) for file in config.args]
    name = run_name(asked, config.getoption("keyword"), config.getoption("--axioms-tier"))
    return new_folder(config.rootpath, name)


def _typed(folder: Path) -> str:
    """Return a folder as a reader would type it; `latest` is not followed."""
    return f"{display_path(folder.parent)}/{folder.name}"
