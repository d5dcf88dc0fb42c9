"""Specs to checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from axioms.spec import expand_file

Write = Callable[..., Path]

PAIR = """claim: c
subject:
  pair: {left: product-left, right: product-right}
  data: {points: [[2, 3, 4]]}
methods: [loo, attnlrp]
checks:
  - axiom: implementation_invariance
    expect: {relative_gap.max: {le: 1e-9}}
    violated_by:
      attnlrp: {relative_gap.max: {ge: 0.1}}
  - axiom: loo_correlation
    record: [pearson.mean, left.spearman.mean]
  - axiom: loo_correlation
    methods: [attnlrp]
    expect: {right.mean: {ge: -1}}
compare:
  - {metric: loo_correlation.left.pearson, better: loo, than: attnlrp}
reported:
  attnlrp: {loo_correlation.left: 0.0730, implementation_invariance.pearson: 0.7865}
"""


def test_a_pair(write_spec: Write) -> None:
    checks = {f"{check.function}[{check.id}]": check for check in expand_file(write_spec(PAIR)).checks}
    assert list(checks) == [
        "forward_equivalence[pair]",
        "implementation_invariance[loo]",
        "implementation_invariance[attnlrp]",
        "loo_correlation[loo]",
        "loo_correlation[attnlrp]",
        "loo_correlation[attnlrp-2]",
        "compare[loo-over-attnlrp]",
    ]
    claim = checks["implementation_invariance[attnlrp]"]
    assert claim.violation is not None
    assert claim.violation[0].metric == "relative_gap.max"
    assert claim.place.line == 10
    assert claim.reported == {"pearson.mean": 0.7865}
    assert claim.equivalence[0].metric == "gap.max"
    assert checks["implementation_invariance[loo]"].violation is None
    recorded = checks["loo_correlation[attnlrp]"]
    assert recorded.record == ("left.pearson.mean", "right.pearson.mean", "left.spearman.mean")
    assert recorded.expect == ()
    assert recorded.reported == {"left.pearson.mean": 0.0730}
    assert checks["loo_correlation[attnlrp-2]"].expect[0].metric == "right.pearson.mean"
    compared = checks["compare[loo-over-attnlrp]"]
    assert [bound.metric for bound in compared.expect] == ["left.pearson.mean"]
    assert str(compared.expect[0].bound) == "> 0"
    assert [check.order for check in checks.values()] == list(range(7))


def test_a_stated_forward_equivalence_replaces_the_implied_one(write_spec: Write) -> None:
    text = PAIR.replace("checks:\n", "checks:\n  - axiom: forward_equivalence\n    expect: {gap.max: {le: 1e-3}}\n")
    checks = expand_file(write_spec(text)).checks
    assert [check.function for check in checks].count("forward_equivalence") == 1
    assert {bound.bound.le for check in checks for bound in check.equivalence} == {1e-3}


def test_an_axiom_brings_its_own_bound(write_spec: Write) -> None:
    check = expand_file(write_spec()).checks[0]
    assert [(bound.metric, str(bound.bound)) for bound in check.expect] == [("relative_error.max", "<= 1e-09")]


def test_a_comparison_knows_its_family_and_takes_the_options_of_the_checks(write_spec: Write) -> None:
    text = PAIR.replace(
        "compare:\n",
        "  - {axiom: {perturbation: {step: 2}}, record: [delta.mean]}\n"
        "compare:\n  - {metric: perturbation.delta, better: attnlrp, than: loo}\n",
    )
    checks = expand_file(write_spec(text)).checks
    compared = [check for check in checks if check.comparison is not None]
    assert [check.comparison.options for check in compared if check.comparison] == [{"step": 2}, {}]
    for check in compared:
        assert [each.id for each in check.family] == ["attnlrp-over-loo", "loo-over-attnlrp"]
    assert all(check.family == () for check in checks if check.comparison is None)


def test_a_spec_feeds_a_table(write_spec: Write) -> None:
    checks = expand_file(write_spec(PAIR + "table: {name: table-1, block: scalars}\n")).checks
    assert {(check.table.name, check.table.block) for check in checks if check.table} == {("table-1", "scalars")}
