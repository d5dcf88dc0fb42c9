"""What each axiom runs for itself, on one side, beside the relevance that all axioms share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from axioms.commands.plan.loads import Engine, Load, passes, removals
from axioms.commands.plan.methods import cost_of_method
from axioms.commands.plan.sizes import Size
from axioms.core.registry import METHODS
from axioms.core.sweeps import KINDS
from axioms.properties.helpers.probing import DRAWS
from axioms.properties.helpers.walks import stops
from axioms.spec import MethodRef

Own = Callable[[Size, MethodRef, Mapping[str, Any]], list[Load]]
REPEATED = 0.5
"""The share of a sweep's questions that another of its settings has put: they rank most features alike."""


def rerun(size: Size, method: MethodRef) -> list[Load]:
    """Return the cost of a method, after a forward pass where none of its own tells the output."""
    known = [] if METHODS.get(method.name).settles else [passes(size)]
    return [*known, *cost_of_method(method, size)[0]]


def by_engine(engine: Engine, loads: list[Load]) -> list[Load]:
    """Return the loads with what runs by rules run by this engine."""
    return [replace(load, engine=engine) if load.engine == "rules" else load for load in loads]


def walks(size: Size, options: Mapping[str, Any]) -> list[Load]:
    """Return the removals of both ways, whose last step is the same; no prefix is kept, since any token goes first."""
    chunk, step = options.get("chunk") or 1, options.get("step") or 1
    steps = [len(stops(-(-units // chunk), step)) for units in size.units]
    return [removals(size, [max(0.0, 2.0 * count - 1) for count in steps])]


def _walks_of_sweep(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    from axioms.engine.handlers.sweep import distinct

    settings = len(distinct(options.get("sweep", KINDS), range(1, size.layers + 1)))
    return [load.times(1 + (settings - 1) * (1 - REPEATED)) for load in walks(size, options)]


def _purity(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [*rerun(size, method), passes(size)]


def _again(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return rerun(size, method)


def _alone(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return rerun(size.with_examples(size.examples, 1), method)


def _padded(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [passes(size), *rerun(size, method)]


def _precision(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    runs = 2 if size.dtype == "float64" else 3
    return [load.times(runs) for load in rerun(size, method)]


def _engines(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    takes = METHODS.get(method.name).takes("engine")
    return [passes(size, "rules", 1, 1), passes(size, "explicit", 1, 1)] if takes else []


def _ledger(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return by_engine("ledger", _alone(size, method, options))


def _cost(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    """On the first batch, between two passes of CP-LRP, and one to warm up."""
    batch, rounds = size.first(size.batch_size), options.get("rounds", 5)
    return [
        passes(batch, "rules", 2 * rounds + 1, 2 * rounds + 1),
        *(load.times(rounds) for load in rerun(batch, method)),
    ]


def _observed(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [passes(size, "observe", 1)]


def _reruns(count: int) -> Own:
    def cost(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
        return [load.times(count) for load in rerun(size, method)]

    return cost


def _started(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [passes(size)]


def _each_feature(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    """Every feature by itself, as an example of its own."""
    features = size.with_examples(size.examples * size.padded, size.batch_size)
    return [passes(features), *rerun(features, method)]


def _contexts(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    """All subsets of the features, or each feature in so many contexts."""
    if options.get("by") == "removal":
        return [removals(size, [2.0**units for units in size.units])]
    return [passes(size, forward=DRAWS * (1 + size.padded))]


def _targets(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    """Two outputs, and leave-one-out of both at once."""
    return [*_reruns(2)(size, method, options), removals(size, [float(units) for units in size.units])]


OWN: dict[str, Own] = {
    "purity": _purity,
    "backend_invariance": _again,
    "batch_invariance": _alone,
    "padding_invariance": _padded,
    "precision": _precision,
    "engine_agreement": _engines,
    "ledger": _ledger,
    "cost": _cost,
    "attention_flatness": _observed,
    "sink_share": _observed,
    "bypass_perturbation": _walks_of_sweep,
    "antisymmetry": _reruns(2),
    "linearity": _reruns(3),
    "scale": _reruns(2),
    "completeness": _started,
    "path_antisymmetry": _alone,
    "sensitivity": _each_feature,
    "null_player": _contexts,
    "symmetry": _contexts,
    "target_sensitivity": _targets,
}
"""What an axiom runs for itself, on one side."""
WITHOUT_METHOD = (
    *("ledger", "cost", "engine_agreement", "bypass_gain", "bypass_perturbation", "attention_flatness"),
    *("antisymmetry", "linearity", "scale", "sensitivity", "target_sensitivity"),
)
"""Axioms of a method that do not look at its relevance on all examples."""
WITH_LOO = ("loo_correlation", "bypass_gain", "attention_flatness", "sink_share")
SWEPT = ("bypass_gain", "bypass_perturbation", "attention_flatness")
WALKED = ("perturbation", "insertion_deletion", "normalized_aopc")
NOTHING_MORE = (
    *(
        "conservation",
        "relevance",
        "ground_truth",
        "implementation_invariance",
        "forward_equivalence",
        "task",
        "chance",
    ),
    *("known_answer", "loo_correlation", "bypass_gain"),
)
"""Axioms that need no pass but those of the relevance that they look at."""
COUNTED = {*OWN, *WALKED, *NOTHING_MORE}
