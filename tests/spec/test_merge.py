"""`add`: what an extending spec adds to its base."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.core.errors import SpecError
from axioms.core.source import Document
from axioms.spec import expand_file
from axioms.spec.load import load
from axioms.spec.merge import merge

Write = Callable[..., Path]

BASE = """claim: c
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: [[1, 1], [2, 5]]}
methods: [loo, {attnlrp: {as: lrp}}]
checks:
  - axiom: conservation
    expect: {relative_error.max: {le: 1e-3}, ratio.mean: {ge: 0}}
    violated_by: {loo: {}}
    record: [ratio.mean]
  - {axiom: {perturbation: {step: 1}}, methods: [loo], record: [delta.mean]}
  - {axiom: {perturbation: {step: 1}}, methods: [lrp], record: [delta.mean]}
compare:
  - {metric: conservation.ratio, better: loo, than: lrp}
reported: {loo: {conservation.ratio: 1.0}, lrp: {conservation.ratio: 1.0}}
tolerance: {conservation.*: {abs: 1}}
"""


@pytest.fixture
def extend(write_spec: Write) -> Callable[[str], Path]:
    """Write a spec that extends BASE."""

    def write(text: str) -> Path:
        write_spec(BASE, "_base.yaml")
        return write_spec(f"extends: _base.yaml\n{text}")

    return write


def value(file: Path, section: str) -> Any:
    return load(file).value[section]


def test_a_check_is_merged_over_that_of_its_axiom(extend: Callable[[str], Path]) -> None:
    checks = value(
        extend(
            "add:\n  checks:\n    - axiom: conservation\n      expect: {ratio.mean: {le: 2}}\n"
            "      violated_by: {lrp: {}}\n      because: why\n      record: [ratio.max, ratio.mean]\n"
        ),
        "checks",
    )
    assert checks[0] == {
        "axiom": "conservation",
        "expect": {"relative_error.max": {"le": 1e-3}, "ratio.mean": {"le": 2}},
        "violated_by": {"loo": {}, "lrp": {}},
        "because": "why",
        "record": ["ratio.mean", "ratio.max"],
    }
    assert len(checks) == 3


def test_claims_for_a_rewrite_are_merged_by_rewrite_and_method(extend: Callable[[str], Path], tmp_path: Path) -> None:
    extend("")
    middle = tmp_path / "specs" / "_middle.yaml"
    middle.write_text(
        "extends: _base.yaml\nchecks:\n  - axiom: a\n    on: {r: {violated_by: {m: {}}, refused_by: [x]}, q: {}}\n"
    )
    top = tmp_path / "specs" / "top.yaml"
    top.write_text(
        "extends: _middle.yaml\nadd:\n  checks:\n"
        "    - axiom: a\n      on: {r: {violated_by: {n: {}}, refused_by: [y]}}\n"
    )
    (check,) = value(top, "checks")
    assert check["on"] == {"r": {"violated_by": {"m": {}, "n": {}}, "refused_by": ["x", "y"]}, "q": {}}


def test_methods_tell_checks_of_one_axiom_apart(extend: Callable[[str], Path]) -> None:
    text = "add:\n  checks: [{axiom: {perturbation: {step: 1}}, methods: [lrp], record: [lerf.mean]}]\n"
    assert [check.get("record") for check in value(extend(text), "checks")[1:]] == [
        ["delta.mean"],
        ["delta.mean", "lerf.mean"],
    ]
    with pytest.raises(
        SpecError,
        match=r"mine\.yaml:4: add\.checks\[0\]: 2 checks have this axiom with these options; "
        r"say by `methods` which is meant: \['loo'\] or \['lrp'\]",
    ):
        load(extend("add:\n  checks:\n    - {axiom: {perturbation: {step: 1}}, record: [lerf.mean]}\n"))


@pytest.mark.parametrize(
    "check",
    ["{axiom: relevance}", "{axiom: {perturbation: {step: 2}}}", "{axiom: conservation, methods: [loo]}", "{axiom: 3}"],
)
def test_what_the_base_does_not_have_is_appended(extend: Callable[[str], Path], check: str) -> None:
    checks = value(extend(f"add: {{checks: [{check}]}}\n"), "checks")
    assert len(checks) == 4


def test_two_changes_of_one_check(extend: Callable[[str], Path]) -> None:
    text = "add:\n  checks:\n    - {axiom: conservation, because: a}\n    - {axiom: conservation, because: b}\n"
    with pytest.raises(SpecError, match=r"mine\.yaml:5: add\.checks\[1\]: an entry above changes the same check"):
        load(extend(text))


def test_methods_are_merged_by_label(extend: Callable[[str], Path]) -> None:
    text = "add: {methods: [cp_lrp, {attnlrp: {as: lrp, epsilon: 0.1}}]}\n"
    assert value(extend(text), "methods") == ["loo", {"attnlrp": {"as": "lrp", "epsilon": 0.1}}, "cp_lrp"]


def test_other_sections(extend: Callable[[str], Path]) -> None:
    file = extend(
        "add:\n  compare: [{metric: conservation.ratio, better: lrp, than: loo}]\n"
        "  not_defined: [{methods: [loo], because: x}]\n"
        "  reported: {lrp: {conservation.relative_error: 2.0}, loo: {conservation.ratio: 3.0}}\n"
        "  tolerance: {conservation.ratio: {abs: 2}}\n"
    )
    assert len(value(file, "compare")) == 2
    assert value(file, "not_defined") == [{"methods": ["loo"], "because": "x"}]
    assert value(file, "reported") == {
        "loo": {"conservation.ratio": 3.0},
        "lrp": {"conservation.ratio": 1.0, "conservation.relative_error": 2.0},
    }
    assert list(value(file, "tolerance")) == ["conservation.ratio", "conservation.*"], "the first that matches counts"


def test_sections_replace_before_others_are_added(extend: Callable[[str], Path]) -> None:
    text = "checks: [{axiom: relevance, record: [scores]}]\nadd: {checks: [{axiom: purity}]}\n"
    assert [check["axiom"] for check in value(extend(text), "checks")] == ["relevance", "purity"]


def test_a_mistake_has_the_line_and_the_path_of_its_own_file(extend: Callable[[str], Path]) -> None:
    text = "add:\n  checks:\n    - axiom: conservation\n      expect: {ratio.mena: {le: 2}}\n    - axiom: conservtion\n"
    with pytest.raises(SpecError) as error:
        expand_file(extend(text))
    said = str(error.value)
    assert "mine.yaml:4: add.checks[0]: 'conservation' measures no 'ratio.mena'" in said
    assert "mine.yaml:6: add.checks[1].axiom: unknown axiom 'conservtion'" in said


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("add: 3\n", r":2: add: must be a mapping with checks, methods, .*; found 3"),
        ("add: {run: {seed: 1}}\n", r":2: add\.run: nothing can be added to 'run'; write it beside `add`"),
        ("add: {cheks: []}\n", r":2: add\.cheks: .* Did you mean 'checks'\?"),
        ("add: {checks: 3}\n", r":2: add\.checks: .*valid list; found 3"),
        ("add: {methods: [3]}\n", r":2: add\.methods\[0\]: a method is a name or a mapping"),
    ],
)
def test_a_wrong_addition(extend: Callable[[str], Path], text: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        expand_file(extend(text))


def test_nothing_to_add_to(write_spec: Write, good_spec: str) -> None:
    with pytest.raises(SpecError, match=r"mine\.yaml:10: add: adds to what a spec `extends`, and this one extends"):
        load(write_spec(good_spec + "add: {methods: [cp_lrp]}\n"))


values = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
sections = st.dictionaries(st.sampled_from(["run", "subject", "checks", "methods", "claim", "compare"]), values)


@given(base=sections, upper=sections)
def test_without_add_sections_replace_and_two_are_merged(base: dict[str, Any], upper: dict[str, Any]) -> None:
    """What `extends` has always meant."""
    expected = {**base, **upper}
    for key in ("run", "subject"):
        if isinstance(base.get(key), dict) and isinstance(upper.get(key), dict):
            expected[key] = {**base[key], **upper[key]}
    assert merge(Document(Path("a"), base), Document(Path("b"), upper)).value == expected


@given(base=sections, upper=sections)
def test_adding_any_values_to_any_values_is_a_result_or_a_sentence(base: dict[str, Any], upper: dict[str, Any]) -> None:
    with suppress(SpecError):
        merged = merge(Document(Path("a"), base), Document(Path("b"), {"add": upper}))
        assert set(merged.value) == {*base, *upper}
