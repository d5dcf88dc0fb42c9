"""What computes: opens subjects, and answers requests on their shards. A run has one, or a cluster has many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack

import numpy as np

from axioms.core.entries import Axiom
from axioms.core.errors import ModelChanged
from axioms.core.registry import AXIOMS
from axioms.core.values import Values
from axioms.methods.running import leaving_alone
from axioms.model.notes import taking_notes
from axioms.run.address import Address, Opened
from axioms.run.answers import NOTES
from axioms.run.case import Case, Report
from axioms.run.cases import Cases
from axioms.run.exhibits import accounts, shown_examples
from axioms.run.ours import is_our_subject
from axioms.run.requests import Request
from axioms.subjects.built import ONLY


class Worker:
    """Computes in this process; holds the recent subjects with their attributions, and no answer."""

    def __init__(self, report: Report) -> None:
        self.cases = Cases(report)

    def open(self, address: Address) -> Opened:
        """Load a subject, and say what it is made of. Raises where its assets are missing."""
        source = self.cases.source(address)
        data = source.data
        return Opened(
            digest=self.cases.digest(address),
            shards=len(source.shards),
            names=tuple(data.name(index) for index in range(data.count)),
            has_texts=bool(data.texts),
            has_images=data.shape is not None,
            is_ours=is_our_subject(address, source),
        )

    def compute(self, address: Address, shard: int, request: Request) -> Mapping[str, Values]:
        """Answer a request on one shard. Errors in a model or a method are raised."""
        try:
            return self._compute(self.cases.case(address, shard), request)
        except ModelChanged:
            self.cases.rebuild()  # what was put back may not be all that was changed
            raise

    def _compute(self, case: Case, request: Request) -> Mapping[str, Values]:
        if request.what == "measurement":
            with taking_notes() as notes:
                measured = _measure(case, AXIOMS.get(request.axiom), request)
            return {**measured, NOTES: np.array(json.dumps(list(notes)))} if notes else measured
        assert request.method is not None
        if request.what == "examples":
            return shown_examples(case, request.axiom, request.method)
        return accounts(case, request.method)

    def forget(self, address: Address, shard: int) -> None:
        """Let go of a shard that nothing more will be asked of."""
        self.cases.forget(address, shard)


def _measure(case: Case, axiom: Axiom, request: Request) -> Mapping[str, Values]:
    """Measure an axiom, and return its metrics under their full names, those of a side with its prefix."""
    method, options = request.method, request.options
    if axiom.scope == "pair":
        with ExitStack() as guards:
            for at in case.subject.sides.values():
                guards.enter_context(leaving_alone(axiom, at.model, at.inputs))
            return _declared(axiom, axiom.function(case.pair(method), **options))
    view = case.view_of_all if axiom.once else case.view
    measured: dict[str, Values] = {}
    for side, at in case.subject.sides.items():
        with leaving_alone(axiom, at.model, at.inputs):
            metrics = _declared(axiom, axiom.function(view(method, side), **options))
        prefix = "" if side == ONLY else f"{side}."
        measured |= {f"{prefix}{metric}": values for metric, values in metrics.items()}
    return measured


def _declared(axiom: Axiom, metrics: Mapping[str, Values]) -> Mapping[str, Values]:
    """Return the metrics, which must be those that the axiom declares."""
    if set(metrics) != set(axiom.metrics):
        raise TypeError(f"axiom {axiom.name!r} declared {sorted(axiom.metrics)} and measured {sorted(metrics)}")
    return metrics
