"""The outcome of a check does not depend on which checks ran before it, nor on what an earlier run measured."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axioms.report.write import Written

PAIR = """claim: Regrouping must not matter.
subject: {pair: {left: product-left, right: product-right}, data: {points: [[2, 3, 4], [1, -2, 5]]}}
run: {dtype: float64}
methods: [loo, attnlrp, random]
checks:
  - {axiom: implementation_invariance, violated_by: {attnlrp: {}}}
  - {axiom: conservation, methods: [attnlrp, loo]}
"""
TEXT = """claim: A few axioms that share attributions, walks and copies of the model.
subject:
  model: {tiny: {architecture: bert}}
  data: {tokens: [[5, 6, 7, 8, 9], [12, 13, 14, 3], [15, 16, 17, 18]]}
run: {dtype: float64, batch_size: 2}
methods: [attnlrp, random]
checks:
  - {axiom: loo_correlation, record: [pearson.mean, spearman.mean]}
  - {axiom: perturbation, methods: [attnlrp], record: [delta.mean]}
  - {axiom: insertion_deletion, methods: [attnlrp], record: [difference.mean]}
  - {axiom: purity, methods: [attnlrp]}
  - {axiom: precision, methods: [attnlrp]}
  - {axiom: backend_invariance, methods: [attnlrp]}
  - {axiom: bypass_gain, methods: [attnlrp], record: [total_gain.mean]}
sweep: {bypass: softmax, layers: [single]}
compare:
  - {metric: loo_correlation.pearson, better: attnlrp, than: random, by: {gt: -3}}
  - {metric: perturbation.delta, better: attnlrp, than: random, by: {gt: -99}}
"""
CUSTOM = """claim: Whether a function of somebody else's is refused is a matter of the method alone.
subject: {model: foreign-gate, data: {points: [[2, 3, 4], [1, -2, 5]]}}
run: {dtype: float64}
methods: [cp_lrp, attnlrp, gradient_x_input, loo]
checks:
  - {axiom: conservation, record: [ratio.mean]}
"""
AGREEMENT = """claim: Two checks that show examples of the same relevance, all of it and the first by themselves.
subject:
  model: agreement-llama
  data: {agreement-sentences: {n: 5}}
  target: {logit_difference: forms}
run: {dtype: float32, batch_size: 4}
methods: [attnlrp, gradient_x_input]
checks:
  - {axiom: ground_truth, record: [mrr.mean]}
  - {axiom: loo_correlation, record: [pearson.mean]}
"""
MODEL = '''
import axioms


@axioms.subject("foreign-gate")
def foreign_gate():
    """softmax(f(x)) x with an f that no rule knows: CP-LRP's graph does not contain it, AttnLRP's does."""
    import torch

    class Foreign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient

    class Gate(torch.nn.Module):
        def forward(self, x):
            return (torch.softmax(Foreign.apply(x), dim=-1) * x).sum(dim=1, keepdim=True)

    return Gate()
'''
Arrange = Callable[[list[pytest.Item]], None]
Outcomes = dict[str, tuple[str, str, Any]]


class Session:
    """A plugin that puts checks into an order and notes what becomes of them."""

    def __init__(self, arrange: Arrange) -> None:
        self._arrange = arrange
        self.outcomes: Outcomes = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._arrange(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            record: Any = getattr(report, "axioms_record", None)
            plain = json.loads(record) if isinstance(record, str) else record
            numbers = plain and {name: value for name, value in plain.items() if name != "seconds"}
            self.outcomes[report.nodeid] = (report.outcome, str(report.longrepr or ""), numbers)


def only(nodeid: str) -> Arrange:
    def arrange(items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid == nodeid]

    return arrange


@pytest.mark.parametrize("spec", [PAIR, TEXT, CUSTOM, AGREEMENT], ids=["pair", "text", "custom", "agreement"])
def test_every_order_gives_the_same(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, root: Path, spec: str
) -> None:
    nothing = Written(pytester.path / "index.html", [], [], [], [])
    monkeypatch.setattr("axioms.report.write.write_report", lambda *arguments: nothing)  # figures take their time
    pytester.makepyfile(mymodel=MODEL)
    (pytester.path / "fixtures").symlink_to(root / "fixtures")
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(spec)

    def run(arrange: Arrange) -> Outcomes:
        session = Session(arrange)
        arguments = ("specs", "--axioms-import", "mymodel", "--axioms-reuse", "-p", "no:cacheprovider")
        pytester.inline_run(*arguments, plugins=[session])
        return session.outcomes

    in_order = run(lambda items: None)
    assert len(in_order) > 3
    assert run(lambda items: items.reverse()) == in_order
    assert run(random.Random(0).shuffle) == in_order
    for nodeid, outcome in in_order.items():
        assert run(only(nodeid)) == {nodeid: outcome}
    monkeypatch.delenv("AXIOMS_FRESH")
    monkeypatch.setenv("AXIOMS_CACHE", str(pytester.path / "cache"))
    assert run(random.Random(1).shuffle) == in_order, "measured, and written to the disk"
    assert run(random.Random(2).shuffle) == in_order, "read from the disk"
