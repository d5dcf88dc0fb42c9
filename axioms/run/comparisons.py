"""Comparisons of two methods, example by example, and their tests, corrected over a spec."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from axioms.core.values import Values
from axioms.run.case import Case, identity
from axioms.run.measuring import measure
from axioms.spec import Check, Comparison, PlacedBound
from axioms.verdict.measure import Measurement
from axioms.verdict.statistics import PairedTest, claim_p, cohen_d_z, holm, win_share


def measure_difference(case: Case, comparison: Comparison) -> Measurement:
    """Return each metric of the one method minus that of the other, example by example."""
    better, than = (
        measure(case, comparison.axiom, comparison.options, method) for method in (comparison.better, comparison.than)
    )
    differences = {
        name: better.values[name] - than.values[name] for name, kind in better.kinds.items() if kind == "per_example"
    }
    return Measurement(differences, better.kinds, comparison.confidence, case.run.seed)


def paired_tests(check: Check, case_of: Callable[[Check], Case]) -> dict[str, PairedTest]:
    """Return the tests of a comparison by metric, corrected over all of its spec's, whichever of them are run."""
    family = [(member, placed) for member in check.family for placed in member.expect]
    p_values = [_p_value(member, placed, case_of(member)) for member, placed in family]
    tests = {}
    for (member, placed), p, p_holm in zip(family, p_values, holm(p_values), strict=True):
        if member.order == check.order:
            differences = _differences(member, placed, case_of(check))
            d_z, wins = cohen_d_z(differences), win_share(differences, placed.bound)
            tests[placed.metric] = PairedTest(p, p_holm, len(family), d_z, wins)
    return tests


def _p_value(member: Check, placed: PlacedBound, case: Case) -> float:
    compared = member.comparison
    assert compared is not None
    methods = [identity(compared.better), identity(compared.than)]
    what = [compared.axiom, dict(compared.options), methods, placed.metric, placed.bound.model_dump()]
    return case.cache.recall(
        case.key("p", *what),
        lambda: claim_p(_differences(member, placed, case), placed.bound, seed=case.run.seed),
    )


def _differences(member: Check, placed: PlacedBound, case: Case) -> Values:
    """Return the differences of a comparison, without the examples for which the metric is not defined (masked)."""
    assert member.comparison is not None
    measured = measure_difference(case, member.comparison)
    return np.ma.compressed(measured.values[placed.metric.removesuffix(".mean")])
