"""The card of AttnLRP says what the papers' scorecard and the matrix of rewrites say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from axioms.commands.card import measure as measuring
from axioms.commands.card import parts as parting
from axioms.commands.card.content import MODELS, card_of
from axioms.commands.card.measure import Measured
from axioms.commands.card.parts import Part
from axioms.record import ClaimRecord, RunRecord, read_record
from axioms.report.rewrites import GAP
from axioms.spec import expand_file
from axioms.spec.added import read_method
from tests.commands.card.test_measure import measured_of

MATRICES = tuple(Part(spec, ("implementation_invariance",)) for spec in MODELS)
SMALL = """
extends: suite:linear_attention.yaml
subject:
  name: MNIST
  pair: {left: {mnist-linear-attention: {order: left}}, right: {mnist-linear-attention: {order: right}}}
  data: {mnist14: {split: test, n: 4}}
  target: predicted
"""
MNIST = (
    Part("linear_attention", ("implementation_invariance",)),
    Part("linear_attention", ("loo_correlation", "perturbation"), is_compared=True, is_judged=False),
)


@pytest.fixture(autouse=True)
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a counterexample has tests of its own."""
    monkeypatch.setattr(measuring, "falsify", lambda *given, **options: None)


def test_every_rewrite_has_the_verdict_and_the_gap_of_the_matrix(root: Path) -> None:
    measured = measured_of("attnlrp", parts=MATRICES)
    said = {(cell.model, cell.rewrite): (cell.verdict, cell.gap) for cell in card_of(measured, *ASKED).rewrites}
    baseline = json.loads((root / "reports" / "baseline.json").read_text())["checks"]
    compared = 0
    for part in MATRICES:
        for check in expand_file(part.file).checks:
            if check.method is None or check.method.label != "attnlrp" or check.function != "implementation_invariance":
                continue
            claimed = "refused" if check.refusal else "violated" if check.violation is not None else "holds"
            verdict, gap = said.pop((part.name, str(check.rewrite)), ("does not apply", None))
            if verdict == "does not apply":
                assert check.optional, "only what `rewrites: all` names may not apply"
                continue
            assert verdict == claimed, (part.spec, check.rewrite)
            saved = baseline.get(f"{part.name}::{check.function}[{check.id}]", {})
            number = saved.get("metrics", saved).get(GAP)
            if gap is not None and number is not None:
                assert gap == pytest.approx(number, rel=1e-4, abs=1e-9), (part.spec, check.rewrite)
                compared += 1
    assert not said, "the card has no rewrite that the matrix has not"
    assert compared >= 60


ASKED = (read_method("attnlrp"), "attnlrp", "")


@pytest.fixture
def both(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> tuple[RunRecord, Measured]:
    """The run of pytest on four digits, and the card of the same spec."""
    folder = pytester.path / "specs"
    folder.mkdir()
    (folder / "linear_attention.yaml").write_text(SMALL)
    pytester.runpytest("specs/", "-q", "-k", "attnlrp or forward or cp_lrp")
    run = read_record(pytester.path / "reports" / "latest")
    monkeypatch.setattr(parting, "suite_specs", lambda: folder)
    return run, measured_of("attnlrp", "cp_lrp", parts=MNIST)


def test_the_numbers_on_mnist_are_those_of_the_scorecard(both: tuple[RunRecord, Measured]) -> None:
    run, measured = both
    by_id = {check.id: check for check in run.checks}
    compared = 0
    for check in measured.records:
        if check.id not in by_id:
            assert check.axiom == "perturbation", "which the spec asks of other methods, and a card of each"
            continue
        for metric, quantity in check.metrics.items():
            assert quantity.value == by_id[check.id].metrics[metric].value, (check.id, metric)
            compared += 1
    assert compared >= 10
    claims = {claim.row.key: claim for claim in run.claims if claim.row is not None}
    card = card_of(measured, *ASKED)
    (verdict,) = card.verdicts
    assert (claims["C2"].verdict, verdict.verdict) == ("shown", "violated"), "AttnLRP tells (QK')V from Q(K'V)"
    assert verdict.places == (f"(QK')V against Q(K'V), MNIST: r {_number(claims['C2'], 'pearson.mean'):.2f}",)
    for side, title in (("left", "MNIST, (QK')V"), ("right", "MNIST, Q(K'V)")):
        (table,) = (table for table in card.subjects if table.title == title)
        estimate = table.own_estimate("LOO r")
        assert estimate is not None
        measured_by_pytest = by_id["specs/linear_attention.yaml::loo_correlation[attnlrp]"]
        assert estimate.mean == pytest.approx(measured_by_pytest.metrics[f"{side}.pearson.mean"].number, abs=1e-12)
        if side == "left":  # what the scorecard shows
            assert estimate.mean == pytest.approx(_number(claims["C15"], "left.pearson.mean"), abs=1e-12)


def _number(claim: ClaimRecord, metric: str) -> float:
    (number,) = {number.value for number in claim.numbers if number.metric.endswith(f".{metric}")}
    assert isinstance(number, float)
    return number
