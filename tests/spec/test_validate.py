"""Every way in which a spec can be wrong gives its line, what was found, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.spec.validate import load_specs

Write = Callable[..., Path]


def problems(file: Path) -> str:
    with pytest.raises(SpecError) as error:
        load_specs(file)
    return str(error.value)


def test_a_good_spec_is_good(write_spec: Write) -> None:
    spec = load_specs(write_spec())[0].spec
    assert [method.label for method in spec.methods] == ["loo", "attnlrp"]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("claim: A sum", "clam: A sum", 2, "clam: unknown key. Did you mean 'claim'?"),
        ("claim: A sum is a sum.", "", 3, "'claim' is missing"),
        ("{dtype: float64}", "{dtpye: float64}", 6, "run.dtpye: unknown key. Did you mean 'dtype'?"),
        ("{dtype: float64}", "{dtype: float8}", 6, "run.dtype: input should be 'float64'"),
        ("{dtype: float64}", "{seed: yes}", 6, "run.seed: input should be a valid integer; found 'yes'"),
        ("attnlrp]", "attnlpr]", 7, "unknown method 'attnlpr'. Did you mean 'attnlrp'?"),
        ("[loo, attnlrp]", "[loo, loo]", 7, "'loo' is listed twice"),
        ("[loo, attnlrp]", "[{attnlrp: {epsilno: 1.0}}]", 7, "no option 'epsilno'. Did you mean 'epsilon'?"),
        ("[loo, attnlrp]", "[{attnlrp: {epsilon: high}}]", 7, "option 'epsilon': Input should be a valid number"),
        ("[loo, attnlrp]", "[]", 7, "at least 1 item"),
        ("claim: A sum is a sum.", 'extends: "\\0"', 2, "must be a file name, not '\\x00'"),
        ("[loo, attnlrp]", "[{attnlrp: {engine: {}}}]", 7, "option 'engine': "),
        ("axiom: conservation", "axiom: conservtion", 9, "unknown axiom 'conservtion'. Did you mean 'conservation'?"),
        ("axiom: conservation", "axiom: loo_correlation", 9, "has no bound of its own"),
        ("{linear: ", "{liner: ", 4, "there is no model 'liner'"),
        ("{points: ", "{pionts: ", 5, "there is no data 'pionts'"),
        ("weight: [[3, -1]]", "wieght: [[3, -1]]", 4, "has no option 'wieght'. Did you mean 'weight'?"),
    ],
)
def test_one_mistake(write_spec: Write, good_spec: str, old: str, new: str, line: int, what: str) -> None:
    assert old in good_spec
    said = problems(write_spec(good_spec.replace(old, new)))
    assert f"mine.yaml:{line}: " in said
    assert what in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("remove: deleet", "subject.remove: input should be 'zero', 'attention_mask', 'delete'"),
        ("remove: {kind: delete, chunks: 3}", "subject.remove.chunks: unknown key. Did you mean 'chunk'?"),
        ("remove: {kind: delete, draws: 3}", "subject.remove: `draws` is an option of kind `resample`."),
        ("remove: {kind: delete, chunk: 0}", "subject.remove.chunk: input should be greater than 0"),
        ("target: predcited", "subject.target: a target is predicted, label, a class number, {probability: "),
        ("target: {logit_difference: [1]}", "found {'logit_difference': [1]}."),
        ("target: {probability: 1.5}", "found {'probability': 1.5}."),
    ],
)
def test_a_wrong_target_or_removal(write_spec: Write, good_spec: str, line: str, what: str) -> None:
    said = problems(write_spec(good_spec.replace("run:", f"  {line}\nrun:")))
    assert "mine.yaml:6: " in said
    assert what in said


@pytest.mark.parametrize(
    "line",
    [
        "remove: attention_mask",
        "remove: {kind: delete, chunk: 16, special_tokens: keep}",
        "remove: {kind: resample, draws: 4, seed: 1}",
        "target: {probability: predicted}",
        "target: {probability: 1}",
        "target: {logit_difference: [1, 0]}",
        "target: {logit_difference: predicted}",
    ],
)
def test_a_right_target_or_removal(write_spec: Write, good_spec: str, line: str) -> None:
    load_specs(write_spec(good_spec.replace("run:", f"  {line}\nrun:")))


@pytest.mark.parametrize(
    ("check", "what"),
    [
        (
            "expect: {relative_error.max: {gte: 1}}",
            "'gte' is not a bound; use lt, le, gt, ge, approx, between or equals",
        ),
        ("expect: {relative_error.max: {ge: 1, le: 2}}", "give exactly one of"),
        ("expect: {relative_error.max: {approx: 1}}", "`approx` needs its tolerance"),
        ("expect: {relative_error.max: {ge: 1, abs: 1}}", "`abs` is a tolerance"),
        ("expect: {relative_error.max: {between: [2, 1]}}", "smaller number first"),
        ("expect: {relative_error.max: {le: .nan}}", "finite number"),
        ("expect: {relative_error.max: 3}", "is not a bound"),
        ("expect: {relative_error.max: {between: }}", "`between` has no value; write a number behind it"),
        ("expect: {relative_error.max: {approx: 0.5, abs: null}}", "`abs` has no value; write a number behind it"),
        ("expect: {relative_error: {le: 1}}", "write relative_error.mean, .max, .min or .median"),
        ("expect: {relative_eror.max: {le: 1}}", "Did you mean 'relative_error'?"),
        ("expect: {left.relative_error.max: {le: 1}}", "names a side, and the subject has no `pair`"),
        ("expect: {relative_error.max: {equals: [1]}}", "is a number; `equals` is for lists"),
        ("methods: [cp_lrp]", "'cp_lrp' is not among this spec's methods"),
        ("violated_by: {cp_lrp: {}}", "'cp_lrp' is not among this spec's methods"),
        ("record: [ratio]", "write ratio.mean"),
    ],
)
def test_a_mistake_in_a_check(write_spec: Write, good_spec: str, check: str, what: str) -> None:
    said = problems(write_spec(good_spec + f"    {check}\n"))
    assert what in said
    assert "mine.yaml:10: " in said or "mine.yaml:9: " in said


def test_all_mistakes_at_once_in_the_order_of_the_file(write_spec: Write, good_spec: str) -> None:
    text = good_spec.replace("float64", "float8").replace("attnlrp]", "attnlpr]").replace("conservation", "conservtion")
    lines = problems(write_spec(text)).splitlines()
    assert [line.split(":")[1] for line in lines] == ["6", "7", "9"]


@pytest.mark.parametrize(
    ("tail", "what"),
    [
        ("compare: [{metric: conservation.ratio, better: loo, than: nope}]", "'nope' is not among"),
        ("compare: [{metric: conservtion.ratio, better: loo, than: attnlrp}]", "unknown axiom 'conservtion'"),
        ("compare: [{metric: relevance.scores, better: loo, than: attnlrp}]", "not measured per example"),
        (
            "compare: [{metric: perturbation.delta, better: loo, than: attnlrp, options: {stp: 2}}]",
            "'perturbation' has no option 'stp'",
        ),
        ("compare: [{metric: conservation.ratio, better: loo, than: attnlrp, by: {equals: [1]}}]", "is for lists"),
        ("table: {name: table-3}", "there is no table 'table-3'. Did you mean"),
        ("reported: {loo: {conservation.ratio: [1, 2]}}", "'conservation.ratio' is one number"),
        ("reported: {loo: {relevance.scores: 1}}", "'relevance.scores' is a list"),
        ("reported: {loo: {conservation: 1.0}}", "names an axiom; write `axiom.metric`"),
        ("reported: {nope: {conservation.ratio: 1.0}}", "'nope' is not among"),
        ("tier: huge", "input should be 'smoke', 'full' or 'paper'; found 'huge'"),
    ],
)
def test_a_mistake_elsewhere(write_spec: Write, good_spec: str, tail: str, what: str) -> None:
    said = problems(write_spec(good_spec + tail + "\n"))
    assert what in said
    assert "mine.yaml:10: " in said


def test_an_axiom_of_pairs_needs_a_pair(write_spec: Write, good_spec: str) -> None:
    said = problems(write_spec(good_spec.replace("conservation", "implementation_invariance")))
    assert "mine.yaml:9: checks[0].axiom: 'implementation_invariance' needs a subject with a `pair`" in said


def test_model_and_pair_together(write_spec: Write, good_spec: str) -> None:
    said = problems(
        write_spec(good_spec.replace("subject:\n", "subject:\n  pair: {left: product-left, right: product-right}\n"))
    )
    assert "give either `model` or `pair`" in said


TWICE = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
methods: [loo, attnlrp]
checks:
  - {axiom: {perturbation: {step: 1}}, record: [delta.mean]}
  - {axiom: {perturbation: {step: 2}}, record: [delta.mean]}
compare:
  - {metric: perturbation.delta, better: loo, than: attnlrp}
"""


def test_a_comparison_must_say_which_options_it_means(write_spec: Write) -> None:
    said = problems(write_spec(TWICE))
    assert "mine.yaml:8: compare[0]: the checks have 'perturbation' with different options" in said
    spec = load_specs(write_spec(TWICE.replace("than: attnlrp", "than: attnlrp, options: {step: 2}")))[0].spec
    assert spec.compare[0].options == {"step": 2}
