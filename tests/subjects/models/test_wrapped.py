"""Models around a model."""

from __future__ import annotations

import torch
from torch import nn

from axioms.subjects.models.modules.wrapped import Combined


def test_a_model_with_a_weight_of_its_own_is_combined() -> None:
    inner, weight = nn.Linear(2, 3), torch.tensor([[1.0, -2.0, 0.5]])
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
    combined = Combined(inner, weight)
    torch.testing.assert_close(combined(x), inner(x) @ weight.T)
    assert combined.bias is inner.bias
    assert [name for name, _ in combined.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
