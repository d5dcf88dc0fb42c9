"""Agreement with leave-one-out, example by example, by scipy on the tokens that are there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats
import torch

import axioms
from axioms.core.values import Values
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.subjects.data import random_tokens
from axioms.subjects.models.tiny import tiny

Write = Callable[..., Path]

SPEC = """claim: c
subject:
  model: {{tiny: {{architecture: modernbert}}}}
  data: {{random-tokens: {{n: 6, length: 8}}}}
  remove: attention_mask
run: {{dtype: float64, batch_size: 4}}
methods: [attnlrp]
checks: [{{axiom: {axiom}, record: [pearson.mean]}}]
"""


def measured(write_spec: Write, axiom: str) -> dict[str, Values]:
    (check,) = expand_file(write_spec(SPEC.format(axiom=axiom))).checks
    return dict(Runner().run(check).measurement.values)


def scores_of(method: str) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = dict(random_tokens(n=6, length=8).inputs)
    return axioms.attribute(tiny(architecture="modernbert"), inputs, method=method).scores, inputs[
        "attention_mask"
    ] != 0


def by_scipy(left: torch.Tensor, right: torch.Tensor, there: torch.Tensor) -> dict[str, list[float]]:
    rows = [(a[places].numpy(), b[places].numpy()) for a, b, places in zip(left, right, there, strict=True)]
    largest = [max(np.abs(a).max(), np.abs(b).max()) for a, b in rows]
    plain = [scipy.stats.pearsonr(a, b).statistic for a, b in rows]
    divided = [scipy.stats.pearsonr(a / a.sum(), b / b.sum()).statistic for a, b in rows]
    return {
        "pearson": plain,
        "pearson_sum_normalized": divided,
        "division_change": [two - one for one, two in zip(plain, divided, strict=True)],
        "spearman": [scipy.stats.spearmanr(a, b).statistic for a, b in rows],
        "sign_flipped": [float(a.sum() * b.sum() < 0) for a, b in rows],
        "relative_gap": [np.abs(a - b).max() / size for (a, b), size in zip(rows, largest, strict=True)],
        "undefined": [0.0] * len(rows),
    }


def test_loo_correlation_is_scipys(write_spec: Write) -> None:
    (scores, there), (loo, _) = scores_of("attnlrp"), scores_of("loo")
    assert not there.all(), "some texts are shorter"
    wanted = by_scipy(scores, loo, there)
    assert 0 < sum(wanted["sign_flipped"]) < 6, "both signs occur"
    found = measured(write_spec, "loo_correlation")
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(np.ma.filled(found[name], np.nan), values, rtol=1e-9, atol=1e-10, err_msg=name)
