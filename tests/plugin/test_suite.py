"""The suite that ships: run from any folder, built upon from any spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.core.suite import suite_folder
from axioms.spec.files import is_spec

EXTENDING = """extends: suite:scalar_product.yaml
claim: The suite's spec with a method more.
add: {methods: [gradient_l1]}
"""
USING = """claim: A fixture that ships with the package.
subject: {model: agreement-llama, data: {agreement-sentences: {n: 2}}, target: {logit_difference: forms}}
methods: [attnlrp]
checks: [{axiom: ground_truth, record: [mrr.mean]}]
"""


def test_the_suite_of_a_checkout_is_its_own(root: Path) -> None:
    assert suite_folder() == root


def test_the_suite_runs_in_any_folder(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine(): ...")
    done = pytester.runpytest("--axioms-suite", "-k", "scalar_product and attnlrp", "-q")
    assert done.parseoutcomes()["passed"] >= 3
    assert done.parseoutcomes()["deselected"] > 1000
    beside = pytester.runpytest("--axioms-suite", "test_mine.py", "-k", "mine", "-q")
    assert beside.parseoutcomes()["passed"] == 1


def test_specs_of_ones_own_build_on_the_suite(pytester: pytest.Pytester) -> None:
    specs = pytester.mkdir("specs")
    (specs / "extending.yaml").write_text(EXTENDING)
    (specs / "using.yaml").write_text(USING)
    done = pytester.runpytest("-q", "--axioms-methods", "*l*")
    outcomes = done.parseoutcomes()
    assert outcomes.get("failed", 0) <= 2, "of gradient_l1, about which the suite's spec claims nothing"
    assert outcomes["passed"] >= 5
    (specs / "extending.yaml").write_text(EXTENDING.replace("scalar_product", "scalar"))
    wrong = pytester.runpytest("-q")
    wrong.stdout.fnmatch_lines(["*extending.yaml:1: extends: there is no file *scalar.yaml*"])


def test_only_specs_are_collected(pytester: pytest.Pytester, good_spec: str) -> None:
    specs = pytester.mkdir("specs")
    (specs / "mine.yaml").write_text(good_spec)
    (specs / "openapi.yaml").write_text("openapi: 3.0.0\ninfo: {title: t}\npaths: {}\n")
    (specs / "several.yaml").write_text("kind: Pod\n---\nkind: Pod\n")
    done = pytester.runpytest("-v")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["axioms: specs/openapi.yaml has no `claim` and is no spec; left alone"])
    assert "left alone" not in pytester.runpytest().stdout.str()
    assert pytester.runpytest("specs/openapi.yaml").ret == 2, "named on the command line, it is meant"


def test_specs_elsewhere_are_not_collected_in_silence(pytester: pytest.Pytester, good_spec: str) -> None:
    elsewhere = pytester.mkdir("elsewhere")
    (elsewhere / "mine.yaml").write_text(good_spec)
    (elsewhere / "openapi.yaml").write_text("openapi: 3.0.0\n")
    done = pytester.runpytest("elsewhere")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["axioms: elsewhere/mine.yaml looks like a spec and was not collected, because*specs*"])
    pytester.runpytest("elsewhere", "-o", "axioms_specs=specs elsewhere").assert_outcomes(passed=2)
    pytester.runpytest("elsewhere/mine.yaml").assert_outcomes(passed=2)
    pytester.makepyfile("def test_one(): pass")
    assert "looks like a spec" not in pytester.runpytest().stdout.str(), "something else was meant"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("claim: c\n", True),
        ("{claim: c, checks: []}\n", True),
        ("extends: other.yaml\n", True),
        ("clam: c\nsubject: {}\nchecks: []\n", True),
        ("checks: []\n", False),
        ("info:\n  claim: c\n", False),
        ("", False),
    ],
)
def test_what_is_meant_as_a_spec(tmp_path: Path, text: str, meant: bool) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert is_spec(tmp_path / "a.yaml") is meant
