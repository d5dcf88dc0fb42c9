"""The files of a card: its page, Markdown, figure and record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from axioms.commands.card.content import card_of
from axioms.commands.card.figure import draw_plane
from axioms.commands.card.measure import Measured
from axioms.commands.card.page import html_page, markdown
from axioms.commands.card.terminal import short_lines
from axioms.core.files import write_whole
from axioms.record import Environment, RunInfo, RunRecord
from axioms.run.records import method_records
from axioms.run.results import environment, git_commit
from axioms.spec import MethodRef


@dataclass(frozen=True)
class Written:
    """A card that was written."""

    page: Path
    short: list[str]
    is_interrupted: bool
    has_numbers: bool
    """Whether anything was measured of the method."""


@dataclass(frozen=True)
class Writer:
    """Writes the files of one method's card; again and again while it is measured, so that nothing is lost."""

    stem: Path
    """The files' name without its ending."""
    method: MethodRef
    given: str
    command: str
    again: str
    """The command that goes on with what there was no time for."""

    def write(self, measured: Measured, width: int = 120) -> Written:
        """Write what has been measured so far."""
        card, run = card_of(measured, self.method, self.given, self.again), self._record(measured)
        files = {kind: self.stem.with_name(f"{self.stem.name}.{kind}") for kind in ("html", "md", "svg", "json")}
        write_whole(files["html"], html_page(card, run))
        write_whole(files["md"], markdown(card, run, files["svg"].name))
        if card.plane is not None:
            write_whole(files["svg"], draw_plane(card.plane, card.method))
        write_whole(files["json"], run.model_dump_json(indent=1))
        has_numbers = any(check.method == card.method for check in run.checks)
        return Written(files["html"], short_lines(card, width), measured.is_interrupted, has_numbers)

    def _record(self, measured: Measured) -> RunRecord:
        """Return what was measured as a run, which `axioms compare` reads."""
        started, commit, surroundings = self._surroundings
        status = "interrupted" if measured.is_interrupted else "passed"
        return RunRecord(
            run=RunInfo(
                status=status,
                started=started,
                seconds=round(measured.seconds, 1),
                command=self.command,
                git_commit=commit,
            ),
            environment=surroundings,
            methods=method_records([measured.method, *measured.against]),
            skipped=[],
            not_run=[f"{check.file.name}::{check.function}[{check.id}]" for check in measured.left_out],
            baseline=None,
            checks=measured.records,
        )

    @cached_property
    def _surroundings(self) -> tuple[str, str | None, Environment]:
        """What stays the same while a card is measured."""
        return datetime.now(UTC).isoformat(timespec="seconds"), git_commit(Path.cwd()), environment()
