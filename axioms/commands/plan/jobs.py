"""The jobs of a check: what it computes, under keys by which checks share what is computed once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from axioms.commands.plan.loads import Load, passes, removals
from axioms.commands.plan.methods import cost_of_method, cost_of_sweep
from axioms.commands.plan.sizes import Size
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.sweeps import KINDS
from axioms.properties.helpers.accounts import ACCOUNTED
from axioms.properties.helpers.walks import stops
from axioms.run.case import LOO, identity
from axioms.run.examples import EXAMPLES
from axioms.run.exhibits import CONSERVING, is_made_of_rules
from axioms.spec import Check, MethodRef

REPEATED = 0.5
"""The share of a sweep's questions that another of its settings has put: they rank most features alike."""


@dataclass(frozen=True)
class Job:
    """Work that is done once, however many checks need it."""

    key: str
    loads: Sequence[Load]
    assumed: str = ""


@dataclass(frozen=True)
class Planned:
    """A check with the sizes of its subject's sides."""

    check: Check
    subject: str
    """What tells its subject from others."""
    plain: str
    """The same of the model by itself, of which a rewrite made the pair."""
    sizes: Mapping[str, Size]


def jobs_of(planned: Planned) -> Iterator[Job]:
    """Yield everything that a check computes."""
    check = planned.check
    yield from _building(planned)
    if check.comparison is not None:
        compared = check.comparison
        for method in (compared.better, compared.than):
            yield from _measuring(planned, compared.axiom, compared.options, method)
        return
    assert check.axiom is not None
    yield from _measuring(planned, check.axiom.name, check.axiom.options, check.method)
    yield from _showing(planned)


def _job(*key: Any, loads: Sequence[Load], assumed: str = "") -> Job:
    return Job(json.dumps(key, sort_keys=True, default=str), loads, assumed)


def _building(planned: Planned) -> Iterator[Job]:
    """Every side is run once; a rewrite is tried in float64 on both models first."""
    yield _job("built", planned.plain, loads=[passes(size) for size in planned.sizes.values()])
    if planned.check.rewrite is not None:
        yield _job("rewritten", planned.subject, loads=[passes(planned.sizes["right"], forward=3)])


def _attribution(planned: Planned, side: str, method: MethodRef) -> Job:
    subject, place = planned.subject, side
    if planned.check.rewrite is not None and side == "left":
        subject, place = planned.plain, "model"
    loads, assumed = cost_of_method(method, planned.sizes[side])
    return _job("attribution", subject, place, identity(method), loads=loads, assumed=assumed)


def _measuring(planned: Planned, name: str, options: Mapping[str, Any], method: MethodRef | None) -> Iterator[Job]:
    """Yield what an axiom looks at: relevance that others share, and what it runs for itself."""
    axiom = AXIOMS.get(name)
    tested = method or LOO
    given = {**_defaults(name), **options}
    for side, size in planned.sizes.items():
        if not axiom.methodless and name not in WITHOUT_METHOD:
            yield _attribution(planned, side, tested)
        if name in WITH_LOO:
            yield _attribution(planned, side, LOO)
        if name in SWEPT:
            kinds = [str(kind) for kind in given.get("sweep", KINDS)]
            loads = cost_of_sweep(size, kinds)
            yield _job("sweep", planned.subject, side, identity(tested), kinds, loads=loads)
        if name in WALKED:
            loads = _walks(size, given)
            what = ["walk", planned.subject, side, identity(tested), given.get("step"), given.get("chunk")]
            yield _job(*what, loads=loads)
        if name in OWN:
            loads = OWN[name](size, tested, given)
            yield _job("measured", planned.subject, side, name, dict(options), identity(method), loads=loads)


def _defaults(name: str) -> dict[str, Any]:
    fields = AXIOMS.get(name).options_model().model_fields
    return {option: field.default for option, field in fields.items() if not field.is_required()}


def _showing(planned: Planned) -> Iterator[Job]:
    """Yield what reports show beside the numbers: relevance of the first texts, and accounts of rules."""
    check, method = planned.check, planned.check.method
    if method is None:
        return
    for side, size in planned.sizes.items():
        what = ("shown", planned.subject, side, identity(method))
        if check.function == "loo_correlation" and side == "model" and size.half is not None:
            yield _job(*what, loads=_rerun(size.first(EXAMPLES), method))
        if check.function in CONSERVING and is_made_of_rules(method.name):
            yield _job(*what, "accounts", loads=_by("ledger", _rerun(size.first(ACCOUNTED), method)))


def _rerun(size: Size, method: MethodRef) -> list[Load]:
    """The method, after a forward pass that knows the output."""
    return [passes(size), *cost_of_method(method, size)[0]]


def _by(engine: Any, loads: list[Load]) -> list[Load]:
    return [replace(load, engine=engine) if load.engine == "rules" else load for load in loads]


def _walks(size: Size, options: Mapping[str, Any]) -> list[Load]:
    """Both ways, whose last step is the same; what is removed first may stand anywhere, so that no prefix is kept."""
    chunk, step = options.get("chunk") or 1, options.get("step") or 1
    steps = [len(stops(-(-units // chunk), step)) for units in size.units]
    return [removals(size, [max(0.0, 2.0 * count - 1) for count in steps])]


def _walks_of_sweep(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    from axioms.engine.handlers.sweep import distinct

    settings = len(distinct(options.get("sweep", KINDS), range(1, size.layers + 1)))
    return [load.times(1 + (settings - 1) * (1 - REPEATED)) for load in _walks(size, options)]


def _purity(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [*_rerun(size, method), passes(size)]


def _again(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return _rerun(size, method)


def _alone(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return _rerun(size.with_examples(size.examples, 1), method)


def _padded(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [passes(size), *_rerun(size, method)]


def _precision(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    runs = 2 if size.dtype == "float64" else 3
    return [load.times(runs) for load in _rerun(size, method)]


def _engines(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    takes = METHODS.get(method.name).takes("engine")
    return [passes(size, "rules", 1, 1), passes(size, "explicit", 1, 1)] if takes else []


def _ledger(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return _by("ledger", _alone(size, method, options))


def _cost(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    """On the first batch, between two passes of CP-LRP, and one to warm up."""
    batch, rounds = size.first(size.batch_size), options.get("rounds", 5)
    return [
        passes(batch, "rules", 2 * rounds + 1, 2 * rounds + 1),
        *(load.times(rounds) for load in _rerun(batch, method)),
    ]


def _observed(size: Size, method: MethodRef, options: Mapping[str, Any]) -> list[Load]:
    return [passes(size, "observe", 1)]


Own = Callable[[Size, MethodRef, Mapping[str, Any]], list[Load]]
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
    "bypass_perturbation": _walks_of_sweep,
}
"""What an axiom runs for itself, on one side."""
WITHOUT_METHOD = ("ledger", "cost", "engine_agreement", "bypass_gain", "bypass_perturbation", "attention_flatness")
"""Axioms of a method that do not look at its relevance on all examples."""
WITH_LOO = ("loo_correlation", "bypass_gain", "attention_flatness")
SWEPT = ("bypass_gain", "bypass_perturbation", "attention_flatness")
WALKED = ("perturbation", "insertion_deletion")
