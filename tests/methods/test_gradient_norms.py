"""Norms of the gradient against finite differences and a plain loop."""

from __future__ import annotations

import torch

import axioms
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.tiny import tiny


def test_features_without_a_width_are_their_own_norm() -> None:
    model = Expression(lambda a, b: a * a * b - 3 * b)
    x = torch.tensor([[2.0, -3.0]], dtype=torch.float64)
    gradient = torch.tensor([[2 * 2 * -3.0, 4.0 - 3.0]], dtype=torch.float64)
    torch.testing.assert_close(axioms.attribute(model, x, method="gradient_l1").scores, gradient.abs())
    torch.testing.assert_close(axioms.attribute(model, x, method="gradient_l2").scores, gradient**2)


def test_norms_over_the_width_of_an_embedding() -> None:
    """Each entry of each embedding moved both ways, one at a time."""
    model = tiny(architecture="gpt2")
    ids = torch.tensor([[5, 7, 11]])
    l1 = axioms.attribute(model, {"input_ids": ids}, target=3, method="gradient_l1").scores
    l2 = axioms.attribute(model, {"input_ids": ids}, target=3, method="gradient_l2").scores
    start, step = model.get_input_embeddings()(ids).detach(), 1e-5  # type: ignore[operator]
    for token in range(3):
        slopes = []
        for entry in range(start.shape[2]):
            move = torch.zeros_like(start)
            move[0, token, entry] = step
            with torch.no_grad():
                up, down = (model(inputs_embeds=start + sign * move).logits[0, -1, 3] for sign in (1, -1))
            slopes.append(float(up - down) / (2 * step))
        assert abs(l1[0, token].item() - sum(abs(slope) for slope in slopes)) < 1e-7
        assert abs(l2[0, token].item() - sum(slope**2 for slope in slopes)) < 1e-7
