"""A result as the record of its check, with every number that a table or a figure shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from axioms.core.errors import display_path
from axioms.core.lazy import np
from axioms.core.registry import AXIOMS, METHODS, TABLES
from axioms.record import (
    Account,
    AccountRow,
    CheckRecord,
    Comparison,
    Curve,
    Decision,
    Interval,
    MethodRecord,
    Metric,
    Numbers,
    Place,
    Quantity,
    RuleRecord,
    Setting,
    TablePlace,
    Tolerance,
)
from axioms.spec.deciding import subject_name
from axioms.spec.pairs import FORWARD
from axioms.spec.tolerance import tolerance_of
from axioms.verdict.measure import bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from axioms.core.source import Place as SourcePlace
    from axioms.engine.composite import Composite
    from axioms.papers.layouts import Layout
    from axioms.run.runner import Result
    from axioms.spec import Check
    from axioms.verdict import measure
    from axioms.verdict.judge import Finding

LARGEST_GAPS = {"implementation_invariance": "relative_gap.max", FORWARD: "gap.max"}
"""What the matrix of rewrites shows, by axiom."""


def record(result: Result, nodeid: str) -> CheckRecord:
    """Return the record of a check."""
    check, judgement, measurement = result.check, result.judgement, result.measurement
    stated = [placed.metric for placed in (*check.expect, *(check.violation or ()))]
    names = list(dict.fromkeys([*stated, *check.record, *check.reported]))
    return CheckRecord(
        **identified(check, nodeid),
        source=check.source,
        note=check.note,
        about="method" if check.method is not None else "model" if check.subject.pair is None else "pair",
        axiom_options={} if check.axiom is None else dict(check.axiom.options),
        options={} if check.method is None else dict(check.method.options),
        removal=None if check.subject.remove is None else check.subject.remove.kind,
        because=check.because,
        violation_claimed=check.violation is not None,
        verdict=judgement.verdict.value,
        passed=judgement.passed,
        shows=judgement.shows if check.decides else None,
        reason=judgement.reason,
        bounds=[_decision(finding) for finding in judgement.findings],
        metrics={name: _metric(result, name) for name in names},
        extra_metrics=_extra_metrics(result, names),
        curves=_curves(result),
        values={
            name: plain(values)
            for name, values in measurement.values.items()
            if measurement.kinds[name] in ("per_example", "curve")
        },
        paired={name: _comparison(result, name) for name in result.tests},
        reported=dict(check.reported),
        table=None if check.table is None else TablePlace(name=check.table.name, block=check.table.block),
        worst=result.worst,
        notes=list(measurement.notes),
        examples=list(result.examples),
        accounts={side: _account(account) for side, account in result.accounts.items()},
        run=Setting(**result.run.model_dump()),
        seconds=round(result.seconds, 3),
    )


def identified(check: Check, nodeid: str) -> dict[str, Any]:
    """Return what the record of a check says of it whether or not it was measured."""
    return {
        "id": nodeid,
        "spec": nodeid.partition("::")[0],
        "label": check.label,
        "order": check.order,
        "place": _place(check.place),
        "claim": check.claim,
        "tier": check.tier,
        "subject": subject_name(check.subject),
        "axiom": _axiom(check),
        "method": None if check.method is None else check.method.label,
        "method_name": None if check.method is None else check.method.name,
        "than": None if check.comparison is None else check.comparison.than.label,
        "rewrite": check.rewrite,
    }


def method_records(labels: Iterable[str]) -> dict[str, MethodRecord]:
    """What these methods are made of, as far as methods are registered under these labels."""
    methods = {label: METHODS.get(label) for label in labels if label in METHODS}
    return {
        label: MethodRecord(
            passes=method.passes, rules=None if method.composite is None else _rules(method.composite())
        )
        for label, method in methods.items()
    }


def _rules(composite: Composite) -> dict[str, RuleRecord | None]:
    """By kind of operation the rule that holds for the kind as such, not only in some modules or layers."""
    rules = {entry.kind: composite.rule(entry.kind, "", "") for entry in composite.entries}
    return {
        kind: None if rule is None else RuleRecord(name=rule.name, options=dict(rule.options))
        for kind, rule in rules.items()
    }


def plain(values: Any) -> Any:
    """An array as lists of numbers; None where it is masked."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def _axiom(check: Check) -> str:
    return check.function if check.comparison is None else check.comparison.axiom


def _place(place: SourcePlace) -> Place:
    return Place(file=display_path(place.file), line=place.line)


def _decision(finding: Finding) -> Decision:
    return Decision(
        metric=finding.metric,
        bound=str(finding.bound),
        place=_place(finding.stated.place),
        verdict=finding.verdict.value,
        **_fields(finding.quantity),
    )


def _metric(result: Result, name: str) -> Metric:
    check = result.check
    tolerance = tolerance_of(check.tolerance, AXIOMS.get(_axiom(check)), check.id, name, result.run.dtype)
    allowed = None if tolerance is None else Tolerance(**tolerance.model_dump())
    return Metric(**_fields(result.measurement.quantity(name)), tolerance=allowed)


def _fields(quantity: measure.Quantity) -> dict[str, Any]:
    return {"value": plain(quantity.value), "n": quantity.n, "interval": quantity.interval}


def _layout(check: Check) -> Layout | None:
    """The layout of the table that a check feeds; comparisons feed none."""
    return None if check.table is None or check.comparison is not None else TABLES.get(check.table.name)


def _extra_metrics(result: Result, known: list[str]) -> dict[str, Quantity]:
    """What the check's table, or the matrix of rewrites, shows and the spec does not ask for."""
    check, measurement = result.check, result.measurement
    layout = _layout(check)
    names = [] if layout is None else layout.metrics(_axiom(check))
    names += [LARGEST_GAPS[_axiom(check)]] if check.rewrite is not None and _axiom(check) in LARGEST_GAPS else []
    measured = [name for name in names if name not in known and name.rpartition(".")[0] in measurement.values]
    return {name: Quantity(**_fields(measurement.quantity(name))) for name in measured}


def _curves(result: Result) -> dict[str, Curve]:
    """The means of all curves, with intervals where the check's table shows them."""
    layout, measurement = _layout(result.check), result.measurement
    shown = [] if layout is None else layout.curves(_axiom(result.check))
    curves = {}
    for name, kind in measurement.kinds.items():
        if kind == "curve" and result.check.comparison is None:
            quantity = measurement.quantity(name)
            if isinstance(quantity.value, list):
                intervals = _intervals(result, name) if name in shown else None
                curves[name] = Curve(mean=quantity.value, n=quantity.n, intervals=intervals)
    return curves


def _intervals(result: Result, name: str) -> list[Interval | None]:
    """The interval of the mean at each point of a curve, of the examples for which it is a number."""
    values = np.ma.filled(result.measurement.values[name], np.nan)
    numbers = [column[np.isfinite(column)] for column in values.T]
    run = result.run
    return [bootstrap_interval(column, confidence=run.confidence, seed=run.seed) for column in numbers]


def _comparison(result: Result, name: str) -> Comparison:
    test, quantity = result.tests[name], result.measurement.quantity(name)
    difference: Numbers = plain(quantity.value)
    return Comparison(
        difference=difference,
        interval=quantity.interval,
        n=quantity.n,
        p=test.p,
        p_holm=test.p_holm,
        hypotheses=test.hypotheses,
        d_z=test.d_z,
        wins=test.wins,
    )


def _account(account: Mapping[str, Any]) -> Account:
    sums = {name: account[name] for name in ("n", "output", "features", "unexplained")}
    rows = []
    for row in account["rows"]:
        absorbed = {name: value for name, value in row.items() if name not in ("layer", "operation", "in", "out")}
        rows.append(
            AccountRow(
                layer=row["layer"],
                operation=row["operation"],
                came_in=row["in"],
                went_out=row["out"],
                absorbed=absorbed,
            )
        )
    names = dict.fromkeys(name for row in rows for name in row.absorbed)
    absorbed = {name: sum(row.absorbed.get(name, 0.0) for row in rows) for name in names}
    return Account(**sums, absorbed=absorbed, rows=rows)
