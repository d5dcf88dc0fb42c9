"""`--axioms-no-code` refuses everything that would import what a spec, an option or pytest's settings name."""

from __future__ import annotations

import pytest

SPEC = """
claim: A sum is a sum.
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: [[1, 1], [2, 5]]}
run: {dtype: float64}
methods:
  - attnlrp
  - METHOD
checks: [{axiom: purity}]
"""
MODULE = """
from pathlib import Path

Path("it_ran").touch()

def plain(model, inputs, target):
    return inputs.features

class Plain:
    def __init__(self, forward_func):
        pass

    def attribute(self, inputs, target=None):
        return inputs
"""


@pytest.fixture
def repository(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a module that leaves a trace when it is imported."""
    pytester.makepyfile(someones=MODULE)
    (pytester.path / "specs").mkdir()
    return pytester


def write(repository: pytest.Pytester, method: str) -> None:
    (repository.path / "specs" / "a.yaml").write_text(SPEC.replace("METHOD", method))


@pytest.mark.parametrize(
    "method",
    ["python:someones.plain", "captum:someones.Plain", "zennit:someones.Plain", "{python:someones.plain: {as: p}}"],
)
def test_a_spec_that_names_code_is_refused_with_its_line(repository: pytest.Pytester, method: str) -> None:
    write(repository, method)
    done = repository.runpytest("--axioms-no-code")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(
        ["specs/a.yaml:9: methods[[]1[]]: cannot import 'someones': importing it runs its code, which --axioms-no-*"]
    )
    assert not (repository.path / "it_ran").exists()


def test_the_same_spec_runs_without_the_option(repository: pytest.Pytester) -> None:
    write(repository, "python:someones.plain")
    assert repository.runpytest("--collect-only").ret == 0
    assert (repository.path / "it_ran").exists()


def test_a_spec_without_code_runs(repository: pytest.Pytester) -> None:
    write(repository, "captum:Saliency")
    repository.runpytest("--axioms-no-code").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--axioms-import", "someones"], "--axioms-import: cannot import 'someones': importing it runs its code*"),
        (["--axioms-method", "someones:plain"], "cannot import 'someones': importing it runs its code*"),
        (["-o", "axioms_import=someones"], "axioms_import: cannot import 'someones': importing it runs its code*"),
    ],
)
def test_options_and_settings_that_name_code(repository: pytest.Pytester, options: list[str], sentence: str) -> None:
    write(repository, "captum:Saliency")
    done = repository.runpytest("--axioms-no-code", *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*{sentence}"])
    assert not (repository.path / "it_ran").exists()


def test_a_module_that_cannot_be_imported_is_an_error_of_the_spec(repository: pytest.Pytester) -> None:
    write(repository, "python:nowhere.plain")
    done = repository.runpytest()
    done.stdout.fnmatch_lines(["specs/a.yaml:9: methods[[]1[]]: cannot import 'nowhere': there is no such module*"])
