"""Every rule against an independent plain re-implementation in float64 that carries relevance itself.

The engine never sees relevance: it changes gradients. The oracles below know no gradients: they are equations (1) and
(3) to (5) of You et al. 2025 with numpy loops and sums.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor, nn

import axioms
from axioms.core.errors import UncoveredOperation
from axioms.core.registry import RULES
from axioms.engine.composite import Composite, RuleRef
from axioms.engine.handlers.propagate import Propagation
from axioms.engine.mode import Mode
from axioms.engine.where import Where

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
numbers = st.floats(-3, 3, allow_subnormal=False).filter(lambda number: number == 0 or abs(number) > 1e-3)


def matrix(rows: int, columns: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (rows, columns), elements=numbers)


def engine(rules: dict[str, RuleRef], function: object, relevance: Array, *operands: Array) -> list[Array]:
    """Relevance at the operands when `relevance` arrives at the function's output."""
    leaves = [torch.tensor(operand, requires_grad=True) for operand in operands]
    with Mode(Propagation(Composite.of(rules), Where())):
        output = function(*leaves)  # type: ignore[operator]
    # R = z * g, so that the gradient which stands for the relevance R is R / z.
    safe = torch.where(output == 0, 1.0, output.detach())
    gradient = torch.where(output == 0, 0.0, torch.tensor(relevance) / safe)
    gradients = torch.autograd.grad(output, leaves, gradient, allow_unused=True)
    return [
        leaf.detach().numpy() * (np.zeros(leaf.shape) if found is None else found.numpy())
        for leaf, found in zip(leaves, gradients, strict=True)
    ]


def sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0


def linear_oracle(x: Array, weight: Array, bias: Array, relevance: Array, epsilon: float) -> Array:
    """Equation (1), entry by entry."""
    result = np.zeros_like(x)
    for b in range(x.shape[0]):
        for j in range(weight.shape[0]):
            z = sum(x[b, k] * weight[j, k] for k in range(x.shape[1])) + bias[j]
            if z == 0:
                continue
            for i in range(x.shape[1]):
                result[b, i] += x[b, i] * weight[j, i] / (z + epsilon * sign(z)) * relevance[b, j]
    return result


def product_oracle(a: Array, v: Array, relevance: Array, epsilon: float) -> tuple[Array, Array]:
    """Equations (3a) and (3b), entry by entry."""
    output = a @ v
    to_a, to_v = np.zeros_like(a), np.zeros_like(v)
    for j in range(a.shape[0]):
        for p in range(v.shape[1]):
            if output[j, p] == 0:
                continue
            for i in range(a.shape[1]):
                share = a[j, i] * v[i, p] / (2 * output[j, p] + epsilon * sign(output[j, p])) * relevance[j, p]
                to_a[j, i] += share
                to_v[i, p] += share
    return to_a, to_v


def softmax_oracle(logits: Array, relevance: Array) -> Array:
    """Equation (5), entry by entry."""
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return logits * (relevance - weights * relevance.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3])
@given(x=matrix(2, 3), weight=matrix(4, 3), bias=arrays(np.float64, 4, elements=numbers), relevance=matrix(2, 4))
def test_epsilon(epsilon: float, x: Array, weight: Array, bias: Array, relevance: Array) -> None:
    rules = {"linear": RuleRef("epsilon", {"epsilon": epsilon})}
    w, b = torch.tensor(weight), torch.tensor(bias)
    (found,) = engine(rules, lambda leaf: torch.nn.functional.linear(leaf, w, b), relevance, x)
    wanted = linear_oracle(x, weight, bias, relevance, epsilon)
    _close(found, wanted, x @ weight.T + bias)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("spelling", ["matmul", "operator", "einsum", "bmm"])
@given(a=matrix(3, 2), v=matrix(2, 3), relevance=matrix(3, 3))
def test_uniform(epsilon: float, spelling: str, a: Array, v: Array, relevance: Array) -> None:
    spellings = {
        "matmul": torch.matmul,
        "operator": lambda left, right: left @ right,
        "einsum": lambda left, right: torch.einsum("ij,jk->ik", left, right),
        "bmm": lambda left, right: torch.bmm(left.unsqueeze(0), right.unsqueeze(0)).squeeze(0),
    }
    rules = {"product": RuleRef("uniform", {"epsilon": epsilon})}
    found = engine(rules, spellings[spelling], relevance, a, v)
    for mine, wanted in zip(found, product_oracle(a, v, relevance, epsilon), strict=True):
        _close(mine, wanted, a @ v)


@given(a=matrix(2, 3), b=matrix(2, 3), relevance=matrix(2, 3))
def test_uniform_element_by_element(a: Array, b: Array, relevance: Array) -> None:
    found = engine({"product": RuleRef("uniform")}, lambda left, right: left * right, relevance, a, b)
    half = np.where(a * b == 0, 0.0, relevance / 2)
    np.testing.assert_allclose(found[0], half, atol=1e-12)
    np.testing.assert_allclose(found[1], half, atol=1e-12)


@given(a=matrix(3, 2), v=matrix(2, 3), relevance=matrix(3, 3))
def test_signal_take_all(a: Array, v: Array, relevance: Array) -> None:
    to_a, to_v = engine({"product": RuleRef("signal_take_all")}, torch.matmul, relevance, a, v)
    assert not to_a.any()
    # D.4: the whole relevance goes to the signal, so twice what (3b) gives it.
    _close(to_v, 2 * product_oracle(a, v, relevance, 0.0)[1], a @ v)


@given(logits=matrix(2, 4), relevance=matrix(2, 4))
def test_taylor(logits: Array, relevance: Array) -> None:
    (found,) = engine({"softmax": RuleRef("taylor")}, lambda z: torch.softmax(z, dim=1), relevance, logits)
    np.testing.assert_allclose(found, softmax_oracle(logits, relevance), atol=1e-9)


def test_stop() -> None:
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    with Mode(Propagation(Composite.of({"softmax": RuleRef("stop")}), Where())):
        weights = torch.softmax(x, dim=1)
    assert not weights.requires_grad
    torch.testing.assert_close(weights, torch.softmax(x, dim=1).detach())


@pytest.mark.parametrize("strength", [0.0, 0.25, 3.0])
@given(x=matrix(2, 3), weight=matrix(4, 3), bias=arrays(np.float64, 4, elements=numbers), relevance=matrix(2, 4))
def test_gamma(strength: float, x: Array, weight: Array, bias: Array, relevance: Array) -> None:
    """Contributions with the output's sign count 1 + gamma times, in the numerator and in the denominator."""
    w, b = torch.tensor(weight), torch.tensor(bias)
    rules = {"linear": RuleRef("gamma", {"gamma": strength})}
    (found,) = engine(rules, lambda leaf: torch.nn.functional.linear(leaf, w, b), relevance, x)
    output = x @ weight.T + bias
    wanted = np.zeros_like(x)
    for e in range(len(x)):
        for j in range(len(weight)):
            parts = [*(x[e] * weight[j]), bias[j]]
            favoured = [part * (1 + strength * (part * output[e, j] > 0)) for part in parts]
            if output[e, j] != 0:
                wanted[e] += np.array(favoured[:-1]) / sum(favoured) * relevance[e, j]
    _close(found, wanted, output)


@given(x=matrix(2, 3), weight=matrix(4, 3), bias=arrays(np.float64, 4, elements=numbers), relevance=matrix(2, 4))
def test_alpha1_beta0(x: Array, weight: Array, bias: Array, relevance: Array) -> None:
    w, b = torch.tensor(weight), torch.tensor(bias)
    rules = {"linear": RuleRef("alpha1_beta0")}
    (found,) = engine(rules, lambda leaf: torch.nn.functional.linear(leaf, w, b), relevance, x)
    output = x @ weight.T + bias
    wanted = np.zeros_like(x)
    for e in range(len(x)):
        for j in range(len(weight)):
            positive = np.maximum(x[e] * weight[j], 0)
            total = positive.sum() + max(bias[j], 0)
            if output[e, j] != 0 and total > 0:
                wanted[e] += positive / total * relevance[e, j]
    _close(found, wanted, output)


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "tanh", "elu", "leaky_relu"])
@given(x=matrix(2, 4), relevance=matrix(2, 4))
def test_identity(name: str, x: Array, relevance: Array) -> None:
    function = getattr(torch.nn.functional, name)
    (found,) = engine({"activation": RuleRef("identity")}, function, relevance, x)
    value = function(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, np.where((x == 0) | (value == 0), 0.0, relevance), atol=1e-9)


@pytest.mark.parametrize("spelling", ["layer_norm", "rms_norm", "written_layer_norm", "written_rms_norm", "division"])
@given(x=matrix(2, 4), weight=arrays(np.float64, 4, elements=numbers), relevance=matrix(2, 4))
def test_norm_as_linear(spelling: str, x: Array, weight: Array, relevance: Array) -> None:
    """With its deviation fixed a norm is the linear map (x - mean) w / deviation, to which equation (1) applies."""
    eps, w = 1e-3, torch.tensor(weight)
    spellings = {
        "layer_norm": lambda t: torch.nn.functional.layer_norm(t, (4,), w, eps=eps),
        "rms_norm": lambda t: torch.nn.functional.rms_norm(t, (4,), w, eps=eps),
        "written_layer_norm": lambda t: (
            (t - t.mean(-1, keepdim=True))
            * torch.rsqrt((t - t.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True) + eps)
            * w
        ),
        "written_rms_norm": lambda t: w * (t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + eps)),
        "division": lambda t: w * t / torch.sqrt((t * t).mean(-1, keepdim=True) + eps),
    }
    rules = {"norm": RuleRef("norm_as_linear"), "normalizer": RuleRef("stop"), "product": RuleRef("uniform")}
    (found,) = engine(rules, spellings[spelling], relevance, x)
    centered = "layer_norm" in spelling
    wanted, outputs = np.zeros_like(x), np.zeros_like(x)
    for e in range(len(x)):
        mixing = np.eye(4) - (np.full((4, 4), 0.25) if centered else 0)
        deviation = np.sqrt(((mixing @ x[e]) ** 2).mean() + eps)
        matrix_of_it = weight[:, None] * mixing / deviation
        outputs[e] = matrix_of_it @ x[e]
        wanted[e] = linear_oracle(x[e : e + 1], matrix_of_it, np.zeros(4), relevance[e : e + 1], 0.0)[0]
    exact_zero = np.isclose(outputs, 0, atol=1e-14)
    if not (exact_zero & (relevance != 0)).any():  # there the engine and the oracle disagree on what zero is
        _close(found, wanted, outputs)


def test_scan_product() -> None:
    """Half and half with a gate; else all to the sequence, which is the first factor of a matmul."""
    a, b = torch.rand(3, 3, dtype=torch.float64), torch.rand(3, 3, dtype=torch.float64)
    relevance = np.ones((3, 3))
    rules = {"product": RuleRef("scan_product"), "activation": RuleRef("identity")}
    to_state, to_c = engine(rules, torch.matmul, relevance, a.numpy(), b.numpy())
    assert to_state.sum() == pytest.approx(9)
    assert not to_c.any()
    to_b, to_x = engine(rules, torch.mul, relevance, a.numpy(), b.numpy())
    assert not to_b.any()
    assert to_x.sum() == pytest.approx(9)
    to_y, to_z = engine(rules, lambda y, z: y * torch.nn.functional.silu(z), relevance, a.numpy(), b.numpy())
    assert to_y.sum() == pytest.approx(4.5)
    assert to_z.sum() == pytest.approx(4.5)


def test_a_gate_is_never_the_signal() -> None:
    rules = {"product": RuleRef("signal_take_all"), "activation": RuleRef("identity")}
    up, gate = np.full((1, 2), 2.0), np.ones((1, 2))
    for product in (lambda u, g: u * torch.relu(g), lambda u, g: torch.relu(g) * u):
        to_up, to_gate = engine(rules, product, np.ones((1, 2)), up, gate)
        assert to_up.sum() == pytest.approx(2)
        assert not to_gate.any()


def test_stop_in_one_head_alone() -> None:
    """A head whose weights are constant gives everything to its values; the other splits in half."""
    rules = {"softmax": RuleRef("stop", {"heads": (2,)}), "product": RuleRef("uniform")}
    z, v = np.random.default_rng(0).normal(size=(1, 2, 3, 3)), np.ones((1, 2, 3, 1))
    relevance = np.ones((1, 2, 3, 1))
    to_z, to_v = engine(rules, lambda a, b: torch.softmax(a, -1) @ b, relevance, z, v)
    assert to_v[0, 0].sum() == pytest.approx(1.5)
    assert to_v[0, 1].sum() == pytest.approx(3)
    assert not to_z[0, 1].any()


def test_every_rule_has_an_oracle() -> None:
    tested = "epsilon gamma alpha1_beta0 identity uniform signal_take_all taylor norm_as_linear stop scan_product"
    elsewhere = {"aumann_shapley", "degree"}  # test_blocks.py, test_degrees.py
    assert set(RULES) - elsewhere == set(tested.split())


def _close(found: Array, wanted: Array, output: Array) -> None:
    """Equal up to rounding, which grows where an output is nearly zero: both sides divide by it."""
    smallest = np.abs(output[output != 0]).min(initial=1.0)
    assume(smallest > 1e-6)  # below that an output is what rounding left of a cancellation
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11 / smallest)


def test_a_clamp_that_leaves_zero_alone_passes_relevance_on_and_gates_nothing() -> None:
    x = torch.tensor([[-3.0, -0.5, 0.0, 0.5, 3.0]], dtype=torch.float64)
    weight = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]], dtype=torch.float64)

    class Clamped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nn.functional.linear(torch.clamp(x, min=-1, max=1), weight)

    class Gated(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x.clamp(-1, 1) * x.flip(1).clamp(-1, 1)) @ weight.T

    for method in ("attnlrp", "cp_lrp"):
        scores = axioms.attribute(Clamped(), x, 0, method).scores
        torch.testing.assert_close(scores, weight * x.clamp(-1, 1))
    signal = axioms.attribute(Gated(), x, 0, "cp_lrp").scores  # all relevance to the last factor
    torch.testing.assert_close(signal, ((x.clamp(-1, 1) * x.flip(1).clamp(-1, 1)) * weight).flip(1))


@pytest.mark.parametrize("bounds", [(1.0, 2.0), (-2.0, -1.0), (None, -1.0)])
def test_a_clamp_that_moves_zero_has_no_rule(bounds: tuple[float | None, float]) -> None:
    class Clamped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.clamp(*bounds)

    with pytest.raises(UncoveredOperation, match="clamp"):
        axioms.attribute(Clamped(), torch.ones(1, 2))
