"""Accounts are of the first sixteen examples."""

from __future__ import annotations

import pytest
import torch

from axioms.core.registry import METHODS
from axioms.model.inputs import Inputs
from axioms.properties.helpers.accounts import accounts_of
from tests.properties.sides import Three, make_side


@pytest.mark.parametrize("count", [1, 16, 20])
def test_accounts_are_of_sixteen_examples_or_of_all_there_are(count: int) -> None:
    features = torch.randn(count, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    target = [number % 3 for number in range(count)]
    side, _ = make_side(Three(), Inputs(features), target, METHODS.get("attnlrp").function, batch_size=7)
    shown = accounts_of(side)
    first = min(count, 16)
    assert shown is not None
    assert shown["n"] == first
    outputs = side.outputs[range(count), target]
    assert shown["output"] == pytest.approx(outputs[:first].sum())
    assert shown["features"] == pytest.approx(side.scores[:first].sum())
    kept = sum(value for row in shown["rows"] for name, value in row.items() if name not in NAMES)
    assert shown["features"] + kept == pytest.approx(shown["output"])
    assert abs(shown["unexplained"]) < 1e-9


NAMES = ("layer", "operation", "in", "out")
