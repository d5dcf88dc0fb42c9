"""What changed between two saved runs, metric by metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from axioms.record import Drift, Numbers
from axioms.report.baseline import FALLBACK, Allowed, Saved, spec_of

Kind = Literal["claim", "drift", "gone", "new"]
HEADER = ["", "check", "metric", "before", "after", "allowed"]


@dataclass(frozen=True)
class Change:
    """A claim with another verdict, a metric that moved further than it may, or what is gone or new."""

    kind: Kind
    check: str
    """Its id, or that of a claim."""
    metric: str = ""
    """Empty where it is the whole check; of a claim what it says."""
    before: str = ""
    after: str = ""
    allowed: str = ""

    @property
    def row(self) -> list[str]:
        """The change as a row under `HEADER`."""
        return [self.kind, self.check, self.metric or "-", self.before or "-", self.after or "-", self.allowed or "-"]


@dataclass(frozen=True)
class Difference:
    """Everything that changed from one run to another."""

    changes: Sequence[Change]
    compared: int
    """Metrics that both have and that are gated."""
    not_run: int
    """Checks that only the first has, because the second skipped, deselected or never met them."""
    versions: Sequence[str]
    """`torch 2.14.0 -> 2.15.0`, for each package whose version differs."""

    @property
    def drifted(self) -> list[Change]:
        """What fails the gate."""
        return [change for change in self.changes if change.kind != "new"]

    @property
    def new(self) -> list[Change]:
        """What the first does not have: listed, never failed."""
        return [change for change in self.changes if change.kind == "new"]

    @property
    def failed(self) -> bool:
        """Whether anything drifted."""
        return bool(self.drifted)

    def rows(self) -> list[list[str]]:
        """Under `HEADER`: everything that fails, one by one; of what is new, the specs."""
        grouped = groupby(self.new, key=lambda change: spec_of(change.check))
        added = [(spec, len(list(changes))) for spec, changes in grouped]
        new = [["new", spec, f"{count} of its checks or metrics", "-", "-", "-"] for spec, count in added]
        return [*(change.row for change in self.drifted), *new]

    def in_words(self) -> list[str]:
        """What was compared, what was found, and whether the versions explain it; one sentence each."""
        kinds = Counter(change.kind for change in self.changes)
        counts = {"drifted": kinds["drift"], "gone": kinds["gone"], "new": kinds["new"]}
        changed = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        said = [f"{self.compared} metrics compared: {changed or 'none drifted'}."]
        for change in (change for change in self.changes if change.kind == "claim"):
            verdicts = f"was {change.before} and is {change.after}"
            said.append(f"a claim of {spec_of(change.check)} {verdicts}: {change.metric}")
        if self.not_run:
            said.append(f"{self.not_run} checks of the first were not run in the second.")
        if self.versions:
            excuse = ": the drift may be theirs, not the code's" if self.failed else ""
            said.append(f"versions differ: {', '.join(self.versions)}{excuse}.")
        return said

    def record(self) -> Drift:
        """What results.json says of it."""
        return Drift(
            compared=self.compared,
            failed=self.failed,
            versions=list(self.versions),
            said=self.in_words(),
            header=HEADER,
            rows=self.rows(),
        )


def difference(before: Saved, after: Saved, gone: Iterable[str] | None = None) -> Difference:
    """Compare every metric of `after` with `before`, under the tolerances of `after` (of `before` where it has none).

    `gone` are checks of `before` that no longer exist; by default those that `after` neither ran nor left out, of the
    specs that it ran.
    """
    missing = [check for check in before.checks if check not in after.checks]
    if gone is None:
        gone = [check for check in missing if check not in after.absent and spec_of(check) in after.specs]
    gone = set(gone)
    tolerances = after.tolerances or before.tolerances
    changes = [Change("gone", check) for check in missing if check in gone]
    compared = 0
    for check, metrics in after.checks.items():
        if check not in before.checks:
            changes.append(Change("new", check))
            continue
        gated = {name: tolerances.get((check, name), FALLBACK) for name in (*before.checks[check], *metrics)}
        compared += sum(name in metrics and name in before.checks[check] and gated[name] is not None for name in gated)
        changes += _changes(check, before.checks[check], metrics, gated)
    changes += _claim_changes(before, after)
    order = {"claim": 0, "drift": 1, "gone": 2, "new": 3}
    changes.sort(key=lambda change: (order[change.kind], change.check))
    return Difference(changes, compared, len(missing) - len(gone), version_changes(before.versions, after.versions))


def _claim_changes(before: Saved, after: Saved) -> Iterator[Change]:
    """Yield the claims whose verdict is another one; those that one of the two did not run are not compared."""
    for name, verdict in after.claims.items():
        was = before.claims.get(name)
        if was is not None and verdict != was and "not_run" not in (was, verdict):
            sentence = after.sentences.get(name, "")
            yield Change("claim", name, sentence, was.replace("_", " "), verdict.replace("_", " "))
    for name, was in before.claims.items():
        if after.claims and name not in after.claims and spec_of(name) in after.specs:
            yield Change("gone", name, "", was.replace("_", " "))


def _changes(
    check: str, before: Mapping[str, Numbers], after: Mapping[str, Numbers], gated: Mapping[str, Allowed | None]
) -> Iterator[Change]:
    for name, tolerance in gated.items():
        if tolerance is None:
            continue
        if name not in after:
            yield Change("gone", check, name, shown(before[name]))
        elif name not in before:
            yield Change("new", check, name, "", shown(after[name]))
        else:
            yield from _drift(check, name, before[name], after[name], tolerance)


def _drift(check: str, name: str, before: Numbers, after: Numbers, tolerance: Allowed) -> Iterator[Change]:
    olds, news = dict(flat(before)), dict(flat(after))
    if olds.keys() != news.keys():
        yield Change("drift", check, name, shape(before), shape(after), "the same shape")
        return
    off = {place: excess(olds[place], news[place], tolerance) for place in olds}
    worst = max(off, key=lambda place: off[place], default=())
    if off.get(worst, 0.0) > 1.0:
        old, new = olds[worst], news[worst]
        where = f"{name}{''.join(f'[{index}]' for index in worst)}"
        allowed = "finite" if old is None or new is None else f"+-{allowance(old, tolerance):.2g}"
        yield Change("drift", check, where, shown(old), shown(new), allowed)


def allowance(before: float, tolerance: Allowed) -> float:
    """Return by how much a number may move."""
    return max(tolerance[0], tolerance[1] * abs(before))


def excess(before: float | None, after: float | None, tolerance: Allowed) -> float:
    """Return how far a number moved in units of what it may; becoming finite, or ceasing to be, is infinitely far."""
    if before is None or after is None:
        return 0.0 if before is after else float("inf")
    allowed = allowance(before, tolerance)
    moved = abs(after - before)
    if allowed == 0:
        return float("inf") if moved else 0.0
    return moved / allowed


def flat(value: Numbers, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], float | None]]:
    """Yield every number with its place in the lists, None where it is not finite; a single number has the place ()."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from flat(item, (*place, index))
    else:
        yield place, value if value is not None and math.isfinite(value) else None


def shape(value: Numbers) -> str:
    """`2 x 3 numbers`."""
    sizes = []
    while isinstance(value, list):
        sizes.append(str(len(value)))
        value = value[0] if value else None
    return f"{' x '.join(sizes) or 'one'} number{'s' if sizes else ''}"


def shown(value: Numbers) -> str:
    """A number with the digits that tell two of them apart; a list by its shape."""
    if isinstance(value, list):
        return shape(value)
    return "not finite" if value is None or not math.isfinite(value) else f"{value:.8g}"


def version_changes(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[str]:
    """`torch 2.14.0 -> 2.15.0`, for each package that differs."""
    names = dict.fromkeys([*before, *after])
    pairs = [(name, before.get(name) or "none", after.get(name) or "none") for name in names]
    return [f"{name} {old} -> {new}" for name, old, new in pairs if old != new]
