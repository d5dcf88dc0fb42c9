"""Names of metrics: `left.pearson.mean` on a side, `loo_correlation.pearson` with its axiom."""

from __future__ import annotations

from axioms.core.entries import Axiom
from axioms.core.errors import did_you_mean
from axioms.core.registry import AXIOMS
from axioms.spec.bounds import Bound

AGGREGATES = ("mean", "max", "min", "median")
SIDES = ("left", "right")
LISTS = ("vector", "curve")
"""Kinds of metrics that are lists."""
Reported = float | list[float]
"""A number that a paper printed, or one for each layer."""


def split_metric(axiom: Axiom, name: str) -> tuple[str | None, str, str | None]:
    """Split `left.pearson.mean` into (side, metric, aggregate). A bare side means the axiom's first metric."""
    parts = name.split(".")
    side = parts.pop(0) if parts[0] in SIDES else None
    aggregate = parts.pop() if parts and parts[-1] in AGGREGATES else None
    return side, ".".join(parts) or next(iter(axiom.metrics)), aggregate


def metric_problem(axiom: Axiom, name: str, *, aggregated: bool) -> str | None:
    """Return what is wrong with a metric's name, if anything."""
    side, metric, aggregate = split_metric(axiom, name)
    if metric not in axiom.metrics:
        return f"{axiom.name!r} measures no {metric!r}.{did_you_mean(metric, axiom.metrics)}"
    if side is not None and axiom.scope == "pair":
        return f"{axiom.name!r} looks at both sides at once; write {metric!r} without {side!r}."
    if axiom.metrics[metric].kind == "per_example":
        if aggregated and aggregate is None:
            return f"{name!r} has a value for each example; write {name}.mean, .max, .min or .median."
    elif aggregate is not None:
        return f"{metric!r} is one value; write it without .{aggregate}."
    return None


def bound_problem(axiom: Axiom, name: str, bound: Bound) -> str | None:
    """Return what is wrong with a bound: `equals` is for lists, and lists are for `equals`."""
    metric = axiom.metrics.get(split_metric(axiom, name)[1])
    if metric is None or (metric.kind in LISTS) == (bound.equals is not None):
        return None
    return (
        f"{name!r} is a list; use `equals`."
        if bound.equals is None
        else f"{name!r} is a number; `equals` is for lists."
    )


def reported_problem(name: str, value: Reported) -> str | None:
    """Return what is wrong with a reported number, if anything: its name, or a list where the metric is a number."""
    problem = qualified_problem(name)
    if problem is not None:
        return problem
    axiom = AXIOMS.get(name.partition(".")[0])
    kind = axiom.metrics[split_metric(axiom, name.partition(".")[2])[1]].kind
    is_number = kind in ("per_example", "scalar")
    if is_number != isinstance(value, list):
        return None
    return f"{name!r} is {'one number' if is_number else 'a list'}; write what the paper printed as one."


def qualified_problem(name: str) -> str | None:
    """Return what is wrong with `axiom.metric`, if anything."""
    axiom_name, _, metric = name.partition(".")
    if axiom_name not in AXIOMS:
        return f"unknown axiom {axiom_name!r} in {name!r}.{did_you_mean(axiom_name, AXIOMS)}"
    if not metric:
        return f"{name!r} names an axiom; write `axiom.metric`."
    return metric_problem(AXIOMS.get(axiom_name), metric, aggregated=False)
