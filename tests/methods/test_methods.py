"""Methods against plain re-implementations, and the properties that make them what they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import axioms
from axioms.core.errors import InputError
from axioms.subjects.models.modules import Expression, LinearAttention

cubic = Expression(lambda a, b, c: a * a * b + 2 * b * c - c)


def points(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def test_gradient_and_gradient_x_input() -> None:
    x = points([2, 3, 5])
    wanted = points([2 * 2 * 3, 4 + 10, 6 - 1])
    torch.testing.assert_close(axioms.attribute(cubic, x, method="gradient").scores, wanted)
    torch.testing.assert_close(axioms.attribute(cubic, x, method="gradient_x_input").scores, x * wanted)


def test_loo_is_the_difference_in_the_output_one_by_one() -> None:
    torch.manual_seed(0)
    model = LinearAttention(order="left", position=True, embed=True, pool="mean", length=6, width=4, classes=3).double()
    x = torch.rand(5, 6, dtype=torch.float64)
    target = torch.tensor([0, 1, 2, 1, 0])
    found = axioms.attribute(model, x, target=target, method="loo", rows=4).scores
    for example in range(5):
        for feature in range(6):
            cut = x[example].clone()
            cut[feature] = 0
            wanted = model(x[example : example + 1])[0, target[example]] - model(cut[None])[0, target[example]]
            assert found[example, feature].item() == pytest.approx(wanted.item(), abs=1e-12)


@pytest.mark.parametrize("steps", [2, 5, 20])
def test_gauss_legendre_is_exact_on_polynomials(steps: int) -> None:
    """The gradient of a cubic on a straight path is a quadratic: two nodes do."""
    found = axioms.attribute(cubic, points([2, 3, 5]), method="integrated_gradients", steps=steps)
    wanted = points([2 * 12 / 3, 12 / 3 + 2 * 15 / 2, 2 * 15 / 2 - 5])
    torch.testing.assert_close(found.scores, wanted)
    torch.testing.assert_close(found.total, found.output)


def test_midpoint_converges_and_a_baseline_changes_the_total() -> None:
    x = points([2, 3, 5])
    errors = []
    for steps in (10, 20):
        rough = axioms.attribute(cubic, x, method="integrated_gradients", steps=steps, nodes="midpoint", baseline=1.0)
        exact = axioms.attribute(cubic, x, method="integrated_gradients", baseline=1.0)
        errors.append((rough.scores - exact.scores).abs().max().item())
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)
    torch.testing.assert_close(exact.total, exact.output - cubic(points([1, 1, 1])))
    torch.testing.assert_close(exact.scores.sum(1), exact.total)


def test_integrated_gradients_needs_a_step() -> None:
    with pytest.raises(InputError, match="at least one step"):
        axioms.attribute(cubic, points([1, 1, 1]), method="integrated_gradients", steps=0)


def test_random_depends_on_seed_and_example_and_nothing_else() -> None:
    x = torch.rand(7, 3)
    whole = axioms.attribute(cubic, x, method="random", seed=3).scores
    assert torch.equal(whole, axioms.attribute(cubic, x.double(), method="random", seed=3, batch_size=2).scores.float())
    assert not torch.equal(whole, axioms.attribute(cubic, x, method="random", seed=4).scores)
    assert len({tuple(row) for row in whole.tolist()}) == 7


@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.lists(st.floats(-2, 2), min_size=4, max_size=4), min_size=2, max_size=3),
)
def test_on_a_linear_map_lrp_and_gradient_x_input_and_loo_are_one(x: list[float], weight: list[list[float]]) -> None:
    from axioms.subjects.models.modules import fixed_linear

    model = fixed_linear(weight, None)
    wanted = np.array(x) * np.array(weight[0])
    for method in ("loo", "gradient_x_input", "attnlrp", "cp_lrp", "integrated_gradients"):
        found = axioms.attribute(model, points(x), target=0, method=method).scores[0].numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("order", ["left", "right"])
def test_cp_lrp_sends_everything_to_the_values(order: str) -> None:
    """CP-LRP on linear attention: Gradient x Input with Q and K held fixed, whichever way the product is grouped."""
    torch.manual_seed(0)
    model = LinearAttention(order=order, position=True, embed=True, pool="mean", length=5, width=4, classes=3).double()
    x = torch.rand(2, 5, dtype=torch.float64, requires_grad=True)
    found = axioms.attribute(model, x.detach(), target=1, method="cp_lrp").scores
    assert model.embed is not None
    tokens = model.embed(x.unsqueeze(-1)) + model.position
    weights = (model.query(tokens) @ model.key(tokens).transpose(1, 2)).detach()
    output = model.out((weights @ model.value(tokens)).mean(1))[:, 1].sum()
    (gradient,) = torch.autograd.grad(output, x)
    torch.testing.assert_close(found, (x * gradient).detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_random_numbers_are_the_same_in_every_version_and_dtype(dtype: torch.dtype) -> None:
    """Normal numbers in float64 from the seed times a million and three, and the example's place."""
    found = axioms.attribute(cubic, torch.ones(3, 3, dtype=dtype), method="random", seed=5).scores
    for place in range(3):
        generator = torch.Generator().manual_seed(5 * 1_000_003 + place)
        assert torch.equal(found[place], torch.randn(3, generator=generator, dtype=torch.float64).to(dtype))
