"""A data source, a subject and a rewrite of somebody else's: one file each, named in a spec, nothing else changed."""

from __future__ import annotations

import pytest

from axioms.core.registry import DATA as DATA_SOURCES
from axioms.core.registry import REWRITES, SUBJECTS

DATA = '''
"""Points on a line."""
import axioms
from axioms.subjects import Data

@axioms.data("test-ramp")
def ramp(*, n: int = 3, step: float = 1.0) -> Data:
    """Points (step, 2 step), (2 step, 3 step), ..."""
    import torch

    first = torch.arange(1, n + 1, dtype=torch.float64)
    return Data(step * torch.stack([first, first + 1], dim=1))
'''
SUBJECT = '''
"""A model of one layer."""
import axioms

@axioms.subject("test-weighted")
def weighted(*, weights: list[float]):
    """The weighted sum of the features."""
    import torch

    layer = torch.nn.Linear(len(weights), 1, bias=False).double()
    layer.weight.data[:] = torch.tensor(weights)
    return torch.nn.Sequential(layer)
'''
REWRITE = '''
"""Twice the weights, half the sum."""
import axioms

@axioms.rewrite("test_halved")
def halved(model, *, factor: float = 2.0):
    """W x = (factor W) x / factor."""
    import torch

    model[0].weight.data *= factor
    last = torch.nn.Linear(1, 1, bias=False).double()
    last.weight.data[:] = 1 / factor
    return torch.nn.Sequential(*model, last)
'''
SPEC = """claim: What others register is used like our own.
subject:
  {subject}
  data: {{test-ramp: {{n: 2, step: 0.5}}}}
run: {{dtype: float64}}
methods: [loo, attnlrp]
checks:
"""
MODEL = "model: {test-weighted: {weights: [3, -1]}}"


@pytest.fixture(autouse=True)
def files(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(my_data=DATA, my_subject=SUBJECT, my_rewrite=REWRITE)
    pytester.makeconftest("import my_data, my_rewrite, my_subject")
    monkeypatch.syspath_prepend(pytester.path)
    for registry in (DATA_SOURCES, SUBJECTS, REWRITES):  # other tests go through all that is registered
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def run(pytester: pytest.Pytester, text: str) -> pytest.RunResult:
    specs = pytester.path / "specs"
    specs.mkdir()
    (specs / "mine.yaml").write_text(text)
    return pytester.runpytest("specs")


def test_a_data_source_and_a_subject(pytester: pytest.Pytester) -> None:
    checks = "  - axiom: relevance\n    expect: {scores: {equals: [[1.5, -1.0], [3.0, -1.5]]}}\n"
    run(pytester, SPEC.format(subject=MODEL) + checks).assert_outcomes(passed=2)


def test_a_rewrite(pytester: pytest.Pytester) -> None:
    pair = "pair: {model: {test-weighted: {weights: [3, -1]}}, rewrite: {test_halved: {factor: 4}}}"
    run(pytester, SPEC.format(subject=pair) + "  - axiom: implementation_invariance\n").assert_outcomes(passed=3)


def test_a_misspelt_option_of_theirs_is_found_like_one_of_ours(pytester: pytest.Pytester) -> None:
    text = SPEC.format(subject=MODEL).replace("step:", "steps:") + "  - axiom: conservation\n"
    result = run(pytester, text)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*mine.yaml:4: *steps*mean 'step'*"])
