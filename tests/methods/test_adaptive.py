"""Exact leave-one-out where an estimate is largest, the estimate elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import axioms
from axioms.core.errors import InputError
from axioms.methods.gates import best_order, shared, slopes
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.removals import Removal
from axioms.model.targets import Target
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.tiny import tiny

BERT = tiny(architecture="bert")
IDS = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
TEXT = {"input_ids": IDS, "attention_mask": MASK}


def scores(method: str, **options: Any) -> Tensor:
    return axioms.attribute(BERT, TEXT, target=torch.tensor([0, 1]), method=method, **options).scores


@pytest.mark.parametrize("remove", [None, "zero_embedding", {"kind": "attention_mask", "chunk": 2}])
@pytest.mark.parametrize("estimate", ["removal_taylor", "removal_grouped"])
@pytest.mark.parametrize("exact", [0, 1, 3, 99])
def test_the_largest_are_exact(exact: int, estimate: str, remove: Any) -> None:
    removal = remove or "attention_mask"
    chunk = removal.get("chunk", 1) if isinstance(removal, dict) else 1
    by_mask = removal != "zero_embedding"
    rough = scores(estimate, remove=removal, order="exact_block" if by_mask else "first")
    loo = scores("loo", remove=removal)
    found = scores("loo_adaptive", exact=exact, estimate=estimate, remove=removal, rows=2)
    for row, count in enumerate((6, 4)):
        sums = rough[row, :count].reshape(-1, chunk).sum(1).abs()
        largest = set(sums.argsort(descending=True, stable=True)[:exact].tolist())
        for place in range(6):
            wanted = loo if place < count and place // chunk in largest else rough
            assert float(found[row, place]) == pytest.approx(float(wanted[row, place]), rel=1e-9, abs=1e-12)


def test_what_cannot_be() -> None:
    wrong: dict[str, Any]
    for wrong in ({"exact": -1}, {"rows": 0}):
        with pytest.raises(InputError, match="exact >= 0 and rows >= 1"):
            scores("loo_adaptive", **wrong)
    torch.testing.assert_close(scores("loo_adaptive", rows=1), scores("loo_adaptive"))
    for wrong in ({"groups": 0}, {"level": 0.0}, {"level": 1.5}):
        with pytest.raises(InputError, match=r"at least one group and a level in \(0, 1\]"):
            scores("removal_grouped", **wrong)
    with pytest.raises(InputError, match="at least one row"):
        scores("loo", rows=0)
    torch.testing.assert_close(scores("removal_grouped", groups=1, level=1.0, order="first"), scores("removal_taylor"))
    torch.testing.assert_close(scores("loo", rows=1), scores("loo"))


def test_groups_are_lowered_together() -> None:
    """Of a b + c d at (2, 3, 5, 7): features 0 and 2 are one group, 1 and 3 another."""
    x = torch.tensor([[2.0, 3.0, 5.0, 7.0]], dtype=torch.float64)
    model = Expression(lambda a, b, c, d: a * b + c * d + a * c)
    found = axioms.attribute(model, x, method="removal_grouped", groups=2, level=0.5).scores
    first = torch.tensor([2 * (3 + 2.5), 0, 5 * (7 + 1), 0])
    second = torch.tensor([0, 3 * 2, 0, 7 * 5])
    torch.testing.assert_close(found, (first + second)[None].double())


def test_orders() -> None:
    features = torch.ones(1, 2)
    assert best_order(Inputs(features, removal=Removal(kind="attention_mask"))) == "exact_block"
    assert best_order(Inputs(features)) == "first"


def test_the_features_of_a_unit_share_its_score() -> None:
    rough = torch.tensor([[1.0, 2.0, 4.0, 8.0, 16.0]])
    assert shared(Inputs(torch.zeros(1, 5)), rough) is rough
    candidates = torch.tensor([[True, False, True, True, True]])
    found = shared(Inputs(torch.zeros(1, 5), removal=Removal(kind="zero", chunk=2), candidates=candidates), rough)
    assert found.tolist() == [[2.5, 0.0, 2.5, 12.0, 12.0]]


def test_slopes_are_means_over_draws_and_numbers() -> None:
    inputs = read_inputs(BERT, {**TEXT}, {"kind": "resample", "draws": 3, "seed": 1})
    model, target = Model(BERT), Target(torch.tensor([0, 1]))
    gates = torch.full((2, 6), 0.5, dtype=torch.float64)
    with model.at_rest():
        slope, value = slopes(model, inputs, target, gates)
        assert inputs.drawn is not None
        each = [
            slopes(model, Inputs(**{**vars(inputs), "drawn": inputs.drawn[:, [draw]]}), target, gates)
            for draw in range(3)
        ]
    torch.testing.assert_close(slope, torch.stack([one for one, _ in each]).mean(0))
    torch.testing.assert_close(value, torch.stack([one for _, one in each]).mean(0))
    assert not any(tensor.requires_grad for tensor in (gates, slope, value, inputs.features))


def test_the_order_of_an_estimate_matters() -> None:
    for estimate in ("removal_taylor", "removal_grouped"):
        first, exact = (scores(estimate, order=order) for order in ("first", "exact_block"))
        assert not torch.allclose(first, exact)
    torch.testing.assert_close(scores("removal_grouped"), scores("removal_grouped", order="exact_block"))


@pytest.mark.parametrize("method", ["atp", "atp_qk"])
def test_at_the_input_a_patch_of_zeros_takes_gradient_x_input(method: str) -> None:
    torch.testing.assert_close(scores(method), scores("gradient_x_input"))
