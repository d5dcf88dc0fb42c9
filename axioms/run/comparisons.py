"""Comparisons of two methods, example by example, and their tests, corrected over a spec."""

from __future__ import annotations

import numpy as np

from axioms.core.values import Values
from axioms.run.address import Address
from axioms.run.answers import Executor
from axioms.run.measuring import measure
from axioms.run.memory import Memory, key_of
from axioms.run.requests import identity
from axioms.spec import Check, Comparison, PlacedBound
from axioms.verdict.measure import Measurement
from axioms.verdict.statistics import PairedTest, claim_p, cohen_d_z, holm, win_share


class Comparisons:
    """Compares methods; p-values are computed once for all comparisons of a spec, whichever of them are run."""

    def __init__(self, executor: Executor) -> None:
        self._executor, self._memory = executor, Memory()

    def difference(self, address: Address, comparison: Comparison) -> Measurement:
        """Return each metric of the one method minus that of the other, example by example."""
        better, than = (
            measure(self._executor, address, comparison.axiom, comparison.options, method)
            for method in (comparison.better, comparison.than)
        )
        differences = {
            name: better.values[name] - than.values[name]
            for name, kind in better.kinds.items()
            if kind == "per_example"
        }
        return Measurement(differences, better.kinds, comparison.confidence, address.run.seed)

    def tests(self, check: Check, address: Address) -> dict[str, PairedTest]:
        """Return the tests of a comparison by metric, corrected over all of its spec's, whichever of them are run."""
        family = [(member, placed) for member in check.family for placed in member.expect]
        p_values = [self._p_value(member, placed, address) for member, placed in family]
        tests = {}
        for (member, placed), p, p_holm in zip(family, p_values, holm(p_values), strict=True):
            if member.order == check.order:
                differences = self._differences(member, placed, address)
                d_z, wins = cohen_d_z(differences), win_share(differences, placed.bound)
                tests[placed.metric] = PairedTest(p, p_holm, len(family), d_z, wins)
        return tests

    def _p_value(self, member: Check, placed: PlacedBound, address: Address) -> float:
        compared = member.comparison
        assert compared is not None
        methods = [identity(compared.better), identity(compared.than)]
        what = [compared.axiom, dict(compared.options), methods, placed.metric, placed.bound.model_dump()]
        return self._memory.recall(
            key_of(address.name, *what),
            lambda: claim_p(self._differences(member, placed, address), placed.bound, seed=address.run.seed),
        )

    def _differences(self, member: Check, placed: PlacedBound, address: Address) -> Values:
        """Return the differences of a comparison, without the examples for which the metric is not defined (masked)."""
        assert member.comparison is not None
        measured = self.difference(address, member.comparison)
        return np.ma.compressed(measured.values[placed.metric.removesuffix(".mean")])
