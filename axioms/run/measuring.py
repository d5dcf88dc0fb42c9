"""An axiom measured on a case: recalled where an earlier check or run has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axioms.core.entries import Axiom
from axioms.core.registry import AXIOMS
from axioms.core.values import Values
from axioms.run.case import Case, identity
from axioms.spec import MethodRef
from axioms.spec.metrics import split_metric
from axioms.subjects.built import ONLY
from axioms.verdict.measure import Measurement


def measure(case: Case, name: str, options: Mapping[str, Any], method: MethodRef | None) -> Measurement:
    """Return everything that an axiom measures of a method on a case."""
    axiom = AXIOMS.get(name)
    key = case.key("measurement", name, dict(options), identity(method))
    recall = case.cache.recall if axiom.timed or is_adapted(method) else case.cache.recall_measured
    values = recall(key, lambda: _measure(case, axiom, options, method))
    kinds = {metric: axiom.metrics[split_metric(axiom, metric)[1]].kind for metric in values}
    return Measurement(values, kinds, case.run.confidence, case.run.seed)


def is_adapted(method: MethodRef | None) -> bool:
    """Tell whether a method is reached by an adapter: it is other people's code, of which there is no digest."""
    return method is not None and ":" in method.name


def _measure(case: Case, axiom: Axiom, options: Mapping[str, Any], method: MethodRef | None) -> Mapping[str, Values]:
    """Measure an axiom, and return its metrics under their full names, those of a side with its prefix."""
    if axiom.scope == "pair":
        return _declared(axiom, axiom.function(case.pair(method), **options))
    measured: dict[str, Values] = {}
    for side in case.subject.sides:
        metrics = _declared(axiom, axiom.function(case.view(method, side), **options))
        prefix = "" if side == ONLY else f"{side}."
        measured |= {f"{prefix}{metric}": values for metric, values in metrics.items()}
    return measured


def _declared(axiom: Axiom, metrics: Mapping[str, Values]) -> Mapping[str, Values]:
    """Return the metrics, which must be those that the axiom declares."""
    if set(metrics) != set(axiom.metrics):
        raise TypeError(f"axiom {axiom.name!r} declared {sorted(axiom.metrics)} and measured {sorted(metrics)}")
    return metrics
