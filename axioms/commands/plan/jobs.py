"""The jobs of a check: what it computes, under keys by which checks share what is computed once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axioms.commands.plan.loads import Load, passes
from axioms.commands.plan.measures import COUNTED, OWN, SWEPT, WALKED, WITH_LOO, WITHOUT_METHOD, by_engine, rerun, walks
from axioms.commands.plan.methods import cost_of_method, cost_of_sweep
from axioms.commands.plan.sizes import Size
from axioms.core.registry import AXIOMS
from axioms.core.sweeps import KINDS
from axioms.properties.helpers.accounts import ACCOUNTED
from axioms.run.case import LOO
from axioms.run.examples import EXAMPLES
from axioms.run.requests import CONSERVING, identity, is_made_of_rules
from axioms.spec import Check, MethodRef


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
    if name not in COUNTED:
        uncounted = f"{name} costs no more than the relevance that it looks at: its own passes are not counted"
        yield _job("uncounted", name, loads=[], assumed=uncounted)
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
            loads = walks(size, given)
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
            yield _job(*what, loads=rerun(size.first(EXAMPLES), method))
        if check.function in CONSERVING and is_made_of_rules(method.name):
            yield _job(*what, "accounts", loads=by_engine("ledger", rerun(size.first(ACCOUNTED), method)))
