"""Subjects of one session share what costs most: the model, and leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from axioms.methods import removal
from axioms.run.address import Address
from axioms.run.memory import RECENT
from axioms.run.models import MOST
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject: {{model: {{tiny: {{architecture: bert, seed: {seed}}}}}, data: {{random-tokens: {{n: 4, length: {length}}}}}}}
run: {{dtype: {dtype}}}
methods: [{method}]
checks: [{{axiom: loo_correlation, record: [pearson.mean]}}]
"""


def check(write: Write, seed: int = 0, length: int = 6, dtype: str = "float64", method: str = "attnlrp") -> Check:
    text = SPEC.format(seed=seed, length=length, dtype=dtype, method=method)
    return expand_file(write(text)).checks[0]


def module_of(runner: Runner, check: Check) -> torch.nn.Module:
    worker = runner.executor.worker  # type: ignore[attr-defined]
    (model,) = worker.cases.source(Address(check.subject, check.run, check.file)).models.values()
    module: torch.nn.Module = model.module
    return module


def test_subjects_with_other_data_share_a_model(write_spec: Write) -> None:
    runner = Runner()
    module = module_of(runner, check(write_spec))
    assert module_of(runner, check(write_spec, length=5)) is module
    assert module_of(Runner(), check(write_spec)) is not module, "another session loads its own"


@pytest.mark.parametrize("other", [{"seed": 1}, {"dtype": "float32"}])
def test_what_changes_the_weights_makes_another_model(write_spec: Write, other: dict[str, object]) -> None:
    runner = Runner()
    module = module_of(runner, check(write_spec))
    assert module_of(runner, check(write_spec, **other)) is not module  # type: ignore[arg-type]
    assert next(module.parameters()).dtype == torch.float64


def test_few_models_are_remembered(write_spec: Write) -> None:
    runner = Runner()
    first = module_of(runner, check(write_spec))
    for seed in range(1, MOST + 1):
        module_of(runner, check(write_spec, seed=seed))
    assert module_of(runner, check(write_spec, length=5)) is not first


def test_leave_one_out_outlives_its_subject(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, calls = Runner(), []
    left_out = removal.left_out

    def counted(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        return left_out(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(removal, "left_out", counted)
    first = runner.run(check(write_spec))
    assert len(calls) == 1
    for seed in range(1, RECENT + 1):
        module_of(runner, check(write_spec, seed=seed))
    again = runner.run(check(write_spec, method="cp_lrp"))
    assert len(calls) == 1, "of the same subject, which was forgotten and built again"
    assert first.measurement.values["pearson"].shape == again.measurement.values["pearson"].shape
