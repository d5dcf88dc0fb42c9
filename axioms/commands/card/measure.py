"""Run the parts of a card for one method and those that it is compared with, within the time that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from axioms.commands.card.deadline import Deadline, OutOfTime
from axioms.commands.card.parts import PARTS, Part, checks_of, label_of
from axioms.core.errors import (
    AssetMissing,
    AxiomsError,
    MissingPackage,
    NotApplicable,
    NotDefined,
    UncoveredOperation,
    said,
)
from axioms.record import CheckRecord
from axioms.run.cache import Cache
from axioms.run.case import Report
from axioms.run.records import record
from axioms.run.requests import is_made_of_rules
from axioms.run.runner import Runner
from axioms.search.falsify import Counterexample, falsify
from axioms.spec import Check, MethodRef

EXAMPLES = 300
"""Of the search for a counterexample."""
OF_RULES = ("engine_agreement", "ledger")
"""Axioms that say something of methods that are made of rules, and of no others."""
FALSIFIER = "the smallest counterexample"


@dataclass(frozen=True)
class Absence:
    """A check that has no number, and why."""

    spec: str
    axiom: str
    method: str
    on: str
    """The rewrite, or the label of the subject."""
    why: str


@dataclass
class Measured:
    """What was measured in the time that there was."""

    method: str
    against: tuple[str, ...]
    judged: list[CheckRecord] = field(default_factory=list)
    """Checks of axioms."""
    shown: list[CheckRecord] = field(default_factory=list)
    """Numbers without a verdict."""
    counterexample: Counterexample | None = None
    undefined: list[Absence] = field(default_factory=list)
    """What a method has no rule for, or is not defined for."""
    failed: list[Absence] = field(default_factory=list)
    """What raised."""
    missing: dict[str, str] = field(default_factory=dict)
    """What could not be had, by spec."""
    left_out: list[Check] = field(default_factory=list)
    """What there was no time for, or what an interruption left."""
    is_searched: bool = False
    """Whether the search for a counterexample came to its end."""
    search_refusal: str = ""
    """Why the search shows nothing of this method."""
    is_interrupted: bool = False
    seconds: float = 0.0

    @property
    def records(self) -> list[CheckRecord]:
        """Every check that was measured, once."""
        return list({check.id: check for check in (*self.judged, *self.shown)}.values())

    def of(self, method: str, axiom: str, spec: str = "") -> Iterator[CheckRecord]:
        """Yield the records of a method and an axiom, of all specs or of one."""
        for check in self.records:
            if (check.method, check.axiom) == (method, axiom) and check.spec.endswith(f"/{spec}.yaml" if spec else ""):
                yield check


Progress = Callable[[str, int, int], None]
"""Called with what is measured now, its number, and how many there are."""
After = Callable[[Measured], object]


def measure(
    method: MethodRef,
    against: Sequence[MethodRef],
    *,
    deadline: Deadline,
    cache: Cache,
    progress: Progress,
    report: Report | None = None,
    after: After | None = None,
    parts: Sequence[Part] = PARTS,
) -> Measured:
    """Run the parts in their order until the time is over; `after` is called when a part is done.

    What runs when the time is over, or when the user interrupts, is left out; everything before it stays.
    """
    measured = Measured(method.label, tuple(other.label for other in against))
    runner = Runner(cache=cache, report=report)
    work = [(part, checks_of(part, [method, *(against if part.is_compared else ())])) for part in parts]
    waiting = [check for _, checks in work for check in checks]
    try:
        with deadline.kept():
            progress(FALSIFIER, 0, len(work))
            _search(method, measured)
            for number, (part, checks) in enumerate(work, start=1):
                for check in checks:
                    progress(f"{part.spec}: {check.function}[{check.id}]", number, len(work))
                    _run(runner, check, part, measured)
                    waiting.pop(0)
                measured.seconds = deadline.spent
                if after is not None and checks:
                    after(measured)
    except OutOfTime:
        pass
    except KeyboardInterrupt:
        measured.is_interrupted = True
    measured.left_out = waiting
    measured.seconds = deadline.spent
    return measured


def _search(method: MethodRef, measured: Measured) -> None:
    try:
        measured.counterexample = falsify(method.name, examples=EXAMPLES, options=method.options)
        measured.is_searched = True
    except NotDefined as error:
        measured.search_refusal = str(error)
    except AxiomsError as error:
        measured.failed.append(Absence("falsify", "implementation_invariance", method.label, FALSIFIER, str(error)))


def _run(runner: Runner, check: Check, part: Part, measured: Measured) -> None:
    """Measure a check; what goes wrong is noted, and the others go on."""
    where = check.rewrite or check.label or check.subject.name or part.spec
    absence = Absence(part.spec, check.function, label_of(check), where, "")
    if check.function in OF_RULES and check.method is not None and not is_made_of_rules(check.method.name):
        measured.undefined.append(_because(absence, "it is not made of rules"))
        return
    try:
        result = runner.run(check.but(refusal=False))
    except NotApplicable:
        return
    except (NotDefined, UncoveredOperation) as error:
        measured.undefined.append(_because(absence, error))
        return
    except (AssetMissing, MissingPackage) as error:
        measured.missing.setdefault(part.spec, str(error))
        return
    except AxiomsError as error:
        measured.failed.append(_because(absence, error))
        return
    except Exception as error:
        measured.failed.append(_because(absence, said(error)))
        return
    records = measured.judged if part.is_judged and absence.method == measured.method else measured.shown
    records.append(record(result, f"{part.name}::{check.function}[{check.id}]"))


def _because(absence: Absence, why: object) -> Absence:
    return Absence(absence.spec, absence.axiom, absence.method, absence.on, " ".join(str(why).split()))
