"""A check: one (subject, method, axiom, bounds) of a spec, and so one pytest item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axioms.core.source import Document, Path_, Place
from axioms.spec.bounds import Bound
from axioms.spec.metrics import Reported
from axioms.spec.references import AxiomRef, MethodRef
from axioms.spec.schema import Run, Spec, TableRef, Tier
from axioms.spec.subject import Subject
from axioms.spec.tolerance import Tolerance

COMPARE = "compare"


@dataclass(frozen=True)
class PlacedBound:
    """A bound on a metric, and the line that states it."""

    metric: str
    bound: Bound
    place: Place


@dataclass(frozen=True)
class Comparison:
    """`better - than` on one metric, example by example."""

    axiom: str
    options: Mapping[str, Any]
    """The axiom's, as the checks of the spec have them."""
    better: MethodRef
    than: MethodRef
    confidence: float
    recorded: bool = False
    """Measured and tested, not judged."""


@dataclass(frozen=True)
class Check:
    """One pytest item."""

    file: Path
    """The spec that pytest collected; `place` may be in one that it extends."""
    place: Place
    id: str
    """What pytest puts in brackets."""
    order: int
    """Position among the checks of its spec, in which reports list them."""
    claim: str
    source: str | None
    note: str | None
    tier: Tier
    subject: Subject
    run: Run
    label: str | None = None
    """Which of the spec's `subjects` it is about; None where the spec has one subject."""
    axiom: AxiomRef | None = None
    """None in a comparison, whose metric names its axiom."""
    method: MethodRef | None = None
    expect: tuple[PlacedBound, ...] = ()
    violation: tuple[PlacedBound, ...] | None = None
    """Bounds of the claimed violation; None where no violation is claimed."""
    record: tuple[str, ...] = ()
    reported: Mapping[str, Reported] = field(default_factory=dict)
    table: TableRef | None = None
    """Which table of the paper it feeds."""
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    """How far its metrics may move from a baseline, by pattern."""
    comparison: Comparison | None = None
    family: tuple[Check, ...] = ()
    """Every comparison of the spec on this subject, this one too: Holm's correction is over all of them, whichever are
    run."""
    rewrite: str | None = None
    """What made the right model of the pair out of the left one."""
    refusal: bool = False
    """Claimed: the method has no rule for an operation, or the rewrite does not apply, and says so."""
    because: str | None = None
    """Why a claim of violation or refusal is made."""
    decides: tuple[str, ...] = ()
    """The claims that stand or fall with it, in words."""
    is_open: bool = False
    """Decides nothing but open claims, and so passes either way."""
    equivalence: tuple[PlacedBound, ...] = ()
    """How far apart the outputs of a pair may be; beyond that no other check of it means anything."""

    added: bool = False
    """Whether its method was added on the command line: the verdict is reported, and nothing is claimed."""

    def but(self, **changes: Any) -> Check:
        """Return the check with other values in some fields; `dataclasses.replace` is slow for thousands of checks."""
        other = object.__new__(Check)
        other.__dict__.update(self.__dict__, **changes)
        return other

    @property
    def optional(self) -> bool:
        """Whether its rewrite was asked for by `all`, so that it may not apply."""
        return self.rewrite is not None and self.subject.pair is not None and self.subject.pair.rewritten[0].optional

    @property
    def function(self) -> str:
        """What pytest puts before the brackets."""
        return self.axiom.name if self.axiom is not None else COMPARE


def plain_check(spec: Spec, document: Document, path: Path_, name: str) -> Check:
    """Return a check that says what the spec says of all of its checks."""
    return Check(
        file=document.file,
        place=document.place(path),
        id=name,
        order=0,
        claim=spec.claim,
        source=spec.source,
        note=spec.note,
        tier=spec.tier,
        subject=spec.subject,
        run=spec.run,
        table=spec.table,
        tolerance=spec.tolerance,
    )
