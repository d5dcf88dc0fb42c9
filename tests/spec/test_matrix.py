"""`subjects`: one spec, several subjects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file

Write = Callable[..., Path]

MATRIX = """claim: c
subject:
  data: {points: [[1, 1], [2, 5]]}
subjects:
  - as: small
    model: {linear: {weight: [[3, -1]]}}
  - as: large
    model: {linear: {weight: [[300, -100]]}}
    note: of its own
    tier: full
    run: {seed: 1}
    tolerance: {attnlrp/conservation.*: {abs: 1}}
    add:
      methods: [gradient_x_input]
      checks: [{axiom: relevance, record: [scores]}]
      not_defined: [{methods: [loo], axiom: conservation, because: it is not}]
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - axiom: conservation
compare:
  - {metric: conservation.ratio, better: loo, than: attnlrp, record: true}
"""


def named(checks: list[Check]) -> dict[str, Check]:
    return {f"{check.function}[{check.id}]": check for check in checks}


def test_every_subject_has_all_checks(write_spec: Write) -> None:
    expanded = expand_file(write_spec(MATRIX))
    checks = named(expanded.checks)
    assert list(checks) == [
        "conservation[small-loo]",
        "conservation[small-attnlrp]",
        "compare[small-loo-over-attnlrp]",
        "conservation[large-loo]",
        "conservation[large-attnlrp]",
        "conservation[large-gradient_x_input]",
        "relevance[large-loo]",
        "relevance[large-attnlrp]",
        "relevance[large-gradient_x_input]",
        "compare[large-loo-over-attnlrp]",
    ]
    assert [check.order for check in expanded.checks] == list(range(10))
    assert [spec.tier for spec in expanded.specs] == ["smoke", "full"]
    small, large = checks["conservation[small-loo]"], checks["conservation[large-loo]"]
    assert (small.label, large.label) == ("small", "large")
    assert (small.run.seed, large.run.seed, large.run.dtype) == (0, 1, "float64")
    assert (small.note, large.note) == (None, "of its own")
    assert (small.refusal, large.refusal, large.because) == (False, True, "it is not")
    assert large.subject.data == small.subject.data
    assert checks["relevance[large-loo]"].place.line == 15


def test_a_family_of_comparisons_is_that_of_one_subject(write_spec: Write) -> None:
    checks = named(expand_file(write_spec(MATRIX)).checks)
    assert [member.id for member in checks["compare[large-loo-over-attnlrp]"].family] == ["large-loo-over-attnlrp"]


def test_a_tolerance_names_checks_without_their_subject(write_spec: Write) -> None:
    checks = named(expand_file(write_spec(MATRIX)).checks)
    assert list(checks["conservation[large-attnlrp]"].tolerance) == ["large-attnlrp/conservation.*"]
    assert checks["conservation[small-attnlrp]"].tolerance == {}


def test_each_subject_is_measured(write_spec: Write) -> None:
    text = MATRIX.replace("weight: [[300, -100]]", "weight: [[2, 2]]")
    text = text.replace("record: [scores]", "expect: {scores: {equals: [[2, 2], [4, 10]]}}")
    checks = named(expand_file(write_spec(text)).checks)
    runner = Runner()
    for name in ("conservation[small-loo]", "relevance[large-loo]"):
        assert runner.run(checks[name]).judgement.verdict == "holds"


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("{linear: {weight: [[3, -1]]}}", "linear"),
        ("product-left", "product-left"),
        ("openai-community/gpt2", "gpt2"),
        ("'./a model'", "a-model"),
    ],
)
def test_the_model_gives_the_label(write_spec: Write, model: str, label: str) -> None:
    text = MATRIX.replace("as: small\n    model: {linear: {weight: [[3, -1]]}}", f"model: {model}")
    assert expand_file(write_spec(text)).checks[0].label == label


def test_a_pair_gives_the_label(write_spec: Write) -> None:
    text = """claim: c
subject: {data: {points: [[2, 3, 4]]}}
subjects:
  - pair: {left: product-left, right: product-right}
  - pair: {model: {linear: {weight: [[3, -1, 2]]}}, rewrites: [split_linear]}
methods: [loo]
checks: [{axiom: implementation_invariance}]
"""
    checks = named(expand_file(write_spec(text)).checks)
    assert list(checks) == [
        "forward_equivalence[product-left-product-right-pair]",
        "implementation_invariance[product-left-product-right-loo]",
        "forward_equivalence[linear-split_linear]",
        "implementation_invariance[linear-loo-split_linear]",
    ]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("as: large", "as: small", r":7: subjects\[1\]: two subjects are called 'small'; give one .* `as: other_name`"),
        ("as: large", "as: a/b", r":7: subjects\[1\]\.as: a name of letters, digits, .*; found 'a/b'"),
        ("as: large", "as: 3", r":7: subjects\[1\]\.as: a name of letters"),
        ("    note: of", "    nite: of", r":9: subjects\[1\]\.nite: unknown key\. Did you mean 'note'\?"),
        ("    note: of", "    claim: of", r":9: subjects\[1\]\.claim: unknown key"),
        ("seed: 1", "sed: 1", r":11: subjects\[1\]\.run\.sed: unknown key\. Did you mean 'seed'\?"),
        ("gradient_x_input]", "gradient_x]", r":14: subjects\[1\]\.add\.methods\[0\]: unknown method 'gradient_x'"),
        ("weight: [[300", "wieght: [[300", r":8: subjects\[1\]\.model: .* has no option 'wieght'"),
        ("{methods: [loo], ax", "{methods: [lo], ax", r":16: subjects\[1\]\.add\.not_defined\[0\]\.methods\[0\]: 'lo'"),
        ("methods: [loo, attnlrp]", "methods: [loo, attnlpr]", r"^[^\n]*:18: methods\[1\]: unknown method 'attnlpr'"),
        ("  data: {points: [[1, 1], [2, 5]]}", "  target: 0", r":5: subjects\[0\]: 'data' is missing"),
        (
            "  - as: small\n",
            "  - small\n  - as: small\n",
            r":5: subjects\[0\]: a subject is a mapping .*; found 'small'",
        ),
    ],
)
def test_a_mistake_has_its_line(write_spec: Write, old: str, new: str, what: str) -> None:
    assert old in MATRIX
    with pytest.raises(SpecError, match=what):
        expand_file(write_spec(MATRIX.replace(old, new)))


@pytest.mark.parametrize("subjects", ["[]", "3", "{model: a}"])
def test_what_is_no_list_of_subjects(write_spec: Write, good_spec: str, subjects: str) -> None:
    with pytest.raises(SpecError, match=r":10: subjects: must be a list of subjects; found"):
        expand_file(write_spec(good_spec + f"subjects: {subjects}\n"))


def test_a_line_that_is_wrong_for_one_subject_says_for_which(write_spec: Write) -> None:
    text = """claim: c
subject: {data: {points: [[2, 3, 4]]}}
subjects:
  - {as: two, pair: {left: product-left, right: product-right}}
  - {as: one, model: product-left}
methods: [loo]
checks: [{axiom: implementation_invariance}]
"""
    with pytest.raises(SpecError) as error:
        expand_file(write_spec(text))
    assert "needs a subject with a `pair`. (of the subjects: one)" in str(error.value)


def test_a_base_may_have_the_subjects(write_spec: Write) -> None:
    write_spec(MATRIX, "_base.yaml")
    file = write_spec("extends: _base.yaml\nmethods: [attnlrp]\nadd: {checks: [{axiom: purity}]}\ncompare: []\n")
    with pytest.raises(SpecError, match=r"_base\.yaml:16: subjects\[1\]\.add\.not_defined\[0\]\.methods\[0\]: 'loo'"):
        expand_file(file)
    write_spec(MATRIX.replace("      not_defined", "      #"), "_base.yaml")
    assert [f"{check.function}[{check.id}]" for check in expand_file(file).checks][:2] == [
        "conservation[small-attnlrp]",
        "purity[small-attnlrp]",
    ]


def test_ids_that_would_collide_are_numbered(write_spec: Write) -> None:
    text = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1]]}}
subjects: [{as: a}, {as: a-b}]
methods: [loo, {loo: {as: b-loo}}, {loo: {as: loo-2}}]
checks: [{axiom: conservation}, {axiom: conservation}]
"""
    names = [check.id for check in expand_file(write_spec(text)).checks]
    assert len(set(names)) == len(names) == 12
