"""Pairs that rewrites make, in specs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import InputError, NotApplicable, SpecError
from axioms.core.registry import rewrites_of_all
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.verdict.judge import Verdict

SPEC = """
claim: Rewriting changes nothing.
subject:
  pair: {model: relu-net, PAIR}
  data: {random-points: {n: 2, features: 16}}
run: {dtype: float64}
methods: [gradient_x_input, lrp_gamma]
checks:
  - axiom: implementation_invariance
"""

Write = Callable[..., Path]


def ids(file: Path) -> list[str]:
    return [f"{check.function}[{check.id}]" for check in expand_file(file).checks]


def test_one_rewrite(write_spec: Write) -> None:
    assert ids(write_spec(SPEC.replace("PAIR", "rewrite: permute_neurons"))) == [
        "forward_equivalence[permute_neurons]",
        "implementation_invariance[gradient_x_input-permute_neurons]",
        "implementation_invariance[lrp_gamma-permute_neurons]",
    ]


def test_some_with_options_and_claims(write_spec: Write) -> None:
    text = SPEC.replace(
        "PAIR", "rewrites: [permute_neurons, {relu_rearranged: {shift: 2.0}}], not_applicable: [fold_vo]"
    )
    text += """\
    on:
      relu_rearranged: {because: biases, violated_by: {lrp_gamma: {relative_gap.max: {gt: 0.01}}}}
"""
    checks = expand_file(write_spec(text)).checks
    runner = Runner()
    results = {(check.function, check.id): runner.run(check) for check in checks}
    assert all(result.judgement.passed for result in results.values())
    assert results["forward_equivalence", "fold_vo"].judgement.verdict is Verdict.REFUSED
    broken = results["implementation_invariance", "lrp_gamma-relu_rearranged"]
    assert broken.judgement.verdict is Verdict.VIOLATED
    assert broken.check.because == "biases"
    assert broken.check.place.line == 11


def test_a_claim_that_a_rewrite_does_not_apply_can_fail(write_spec: Write) -> None:
    text = SPEC.replace("PAIR", "rewrite: permute_neurons, not_applicable: [fold_batch_norm]")
    check = next(each for each in expand_file(write_spec(text)).checks if each.id == "fold_batch_norm")
    judgement = Runner().run(check).judgement
    assert not judgement.passed
    assert "no longer shown" in judgement.reason


def test_a_claimed_refusal_can_fail(write_spec: Write) -> None:
    text = SPEC.replace("PAIR", "rewrite: permute_neurons") + "    refused_by: [lrp_gamma]\n"
    check = next(each for each in expand_file(write_spec(text)).checks if each.id.startswith("lrp_gamma"))
    assert not Runner().run(check).judgement.passed


def test_a_wrong_option_and_a_rewrite_that_does_not_apply_are_no_refusals(write_spec: Write) -> None:
    one = SPEC.replace("lrp_gamma]", "{integrated_gradients: {steps: 0}}]")
    one += "    refused_by: [integrated_gradients]\n"
    for pair, error in (("rewrite: permute_neurons", InputError), ("rewrite: fold_vo", NotApplicable)):
        checks = expand_file(write_spec(one.replace("PAIR", pair))).checks
        with pytest.raises(error):
            Runner().run(next(each for each in checks if each.refusal))


def test_all_skips_what_does_not_apply_and_a_list_does_not(write_spec: Write, pytester: pytest.Pytester) -> None:
    every = expand_file(write_spec(SPEC.replace("PAIR", "rewrites: all"))).checks
    assert {check.rewrite for check in every} == set(rewrites_of_all())
    chosen = next(check for check in every if check.rewrite == "fold_vo")
    assert chosen.optional
    listed = expand_file(write_spec(SPEC.replace("PAIR", "rewrites: [fold_vo]"))).checks[0]
    assert not listed.optional
    with pytest.raises(NotApplicable, match="no attention block"):
        Runner().run(listed)


def test_the_plugin_says_why_it_skips(pytester: pytest.Pytester) -> None:
    text = SPEC.replace("PAIR", "rewrites: all").replace(
        "  - axiom: implementation_invariance", "  - axiom: implementation_invariance\n    rewrites: [fold_vo]"
    )
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(text)
    result = pytester.runpytest_inprocess("specs/mine.yaml", "-rs", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*fold_vo does not apply: the model has no attention block*"])
    summary = (pytester.path / "reports/latest/tables/rewrites.md").read_text()
    assert "no: the model has no attention block" in summary


@pytest.mark.parametrize(
    ("pair", "check", "said"),
    [
        ("rewrite: permute_neuron", "", "Did you mean 'permute_neurons'?"),
        ("rewrites: [{relu_rearranged: {shfit: 1}}]", "", "has no option 'shfit'"),
        ("rewrites: [permute_neurons], rewrite: split_linear", "", "not both"),
        ("not_applicable: [fold_vo]", "", "a pair is"),
        (
            "rewrites: [permute_neurons]",
            "    on: {split_linear: {refused_by: [lrp_gamma]}}",
            "not among the pair's rewrites",
        ),
        ("rewrites: [permute_neurons]", "    rewrites: [split_linear]", "not among the pair's rewrites"),
        (
            "rewrites: [permute_neurons]",
            "    on: {permute_neurons: {violated_by: {attnlrp: {}}}}",
            "'attnlrp' is not among",
        ),
        ("rewrites: [permute_neurons]", "  - axiom: conservation", "is not about two models"),
    ],
)
def test_mistakes_have_a_line(write_spec: Write, pair: str, check: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        expand_file(write_spec(SPEC.replace("PAIR", pair) + check + "\n"))
    assert said in str(error.value)


def test_the_matrix_claims_nothing_against_methods_of_the_function(root: Path) -> None:
    specs = sorted((root / "specs").glob("invariance_matrix*.yaml"))
    assert len(specs) >= 5
    for spec in specs:
        checks = expand_file(spec).checks
        of_the_function = [
            check
            for check in checks
            if check.method is not None and check.method.name in ("loo", "gradient_x_input", "integrated_gradients")
        ]
        assert of_the_function
        assert not any(check.violation is not None or check.refusal for check in of_the_function)
        assert all(check.because for check in checks if check.violation is not None), "a reason for each violation"


def test_a_pair_takes_relevance_back_to_where_it_was(write_spec: Write) -> None:
    """Seeded fault: a method that sees the order of the batch is caught by reordering it."""
    from axioms.core.entries import Method
    from axioms.core.registry import METHODS

    text = SPEC.replace("PAIR", "rewrite: reorder_batch").replace("lrp_gamma", "by_place")

    def by_place(model: object, inputs: object, target: object) -> object:
        """Relevance that is the place in the batch."""
        features = inputs.features  # type: ignore[attr-defined]
        places = features.new_tensor(range(1, len(features) + 1)).unsqueeze(1)
        return places.expand_as(features)

    METHODS._entries["by_place"] = Method("by_place", by_place)
    try:
        results = [Runner().run(check) for check in expand_file(write_spec(text)).checks]
    finally:
        del METHODS._entries["by_place"]
    assert [result.judgement.passed for result in results] == [True, True, False]


REMOVED = """claim: c
subject:
  pair: {model: {tiny: {architecture: bert}}, rewrites: [pad_batch, reorder_batch, permute_heads]}
  data: {random-tokens: {n: 3, length: 6}}
run: {dtype: float32, batch_size: 2}
methods: [loo]
checks:
  - axiom: implementation_invariance
    remove: [delete, {kind: resample, draws: 2}]
    expect: {relative_gap.max: {le: 1e-3}}
"""


def test_each_removal_is_a_check_of_each_rewrite_and_what_is_drawn_moves_along(write_spec: Write) -> None:
    checks = [each for each in expand_file(write_spec(REMOVED)).checks if each.method is not None]
    assert [check.id for check in checks] == [
        f"loo-{rewrite}-{kind}"
        for rewrite in ("pad_batch", "reorder_batch", "permute_heads")
        for kind in ("delete", "resample")
    ]
    runner = Runner()
    assert [str(runner.run(check).judgement.verdict) for check in checks] == ["holds"] * 6
