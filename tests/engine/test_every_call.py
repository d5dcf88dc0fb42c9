"""Each way to call a torch function that the engine reads: the value is torch's, both engines agree, the ledger closes.

The rules are tested in test_rules.py; here it is how arguments are read, given by place or by name or left out, and how
calls are written out in simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import axioms
from axioms.core.errors import UncoveredOperation

METHODS: dict[str, dict[str, Any]] = {
    "attnlrp": {},
    "cp_lrp": {},
    "lrp_epsilon": {"epsilon": 0.1},
    "lrp_gamma": {"gamma": 0.5},
    "lrp_alpha1_beta0": {},
}


def constant(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


X = constant(2, 3, 4, seed=7)
"""Two examples of three tokens with four channels."""
SQUARE, WEIGHT, BIAS = constant(4, 4), constant(5, 4, seed=1), constant(5, seed=2)
FOUR, THREE = constant(4, seed=3), constant(3, seed=4)
POSITIVE = constant(3, seed=5).exp()
KEEP = torch.tensor([[True, False, True], [True, True, False], [False, False, False]])
HEADS = constant(4, 4, seed=6), constant(4, 4, seed=8), constant(4, 4, seed=9)


def heads(x: Tensor, groups: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Queries of two heads, and as many keys and values, or of one head for both."""
    parts = [(x @ weight).unflatten(-1, (2, 2)).transpose(1, 2) for weight in HEADS]
    return parts[0], parts[1][:, ::groups], parts[2][:, ::groups]


CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: F.linear(x, WEIGHT, BIAS),
    "linear without bias": lambda x: F.linear(x, WEIGHT),
    "linear by names": lambda x: F.linear(input=x, weight=WEIGHT, bias=BIAS),
    "linear of variables": lambda x: F.linear(x, x.flatten(0, 1), x.sum((0, 2)).repeat(2)),
    "linear of variables without bias": lambda x: F.linear(x, x.flatten(0, 1)),
    "conv1d": lambda x: F.conv1d(x, constant(5, 3, 2), BIAS, 2, 1),
    "conv1d by names": lambda x: F.conv1d(x, constant(3, 1, 2), stride=2, bias=THREE, groups=3),
    "conv2d": lambda x: F.conv2d(x.unsqueeze(1), constant(5, 1, 2, 2), BIAS),
    "conv2d without bias": lambda x: F.conv2d(x.unsqueeze(1), constant(5, 1, 2, 2), padding=1),
    "addmm": lambda x: torch.addmm(BIAS, x[:, 0], WEIGHT.T),
    "addmm by names": lambda x: torch.addmm(input=BIAS, mat1=x[:, 0], mat2=WEIGHT.T),
    "addmm scaled": lambda x: torch.addmm(BIAS, x[:, 0], WEIGHT.T, beta=2, alpha=3),
    "addmm with beta": lambda x: torch.addmm(BIAS, x[:, 0], WEIGHT.T, beta=2),
    "addmm with alpha": lambda x: torch.addmm(BIAS, x[:, 0], WEIGHT.T, alpha=3),
    "addmm of variables": lambda x: torch.addmm(x[:, 0, :3], x[:, 0], x[0].T, beta=2, alpha=3),
    "baddbmm": lambda x: torch.baddbmm(x[..., :3], x, x.transpose(1, 2), beta=2, alpha=3),
    "addcmul": lambda x: torch.addcmul(x, x, x.flip(1), value=3),
    "outer": lambda x: torch.outer(x[:, 0, 0], x[0, 1]),
    "matmul": lambda x: torch.matmul(x, SQUARE),
    "matmul by name": lambda x: torch.matmul(x, other=SQUARE),
    "matmul from the left": lambda x: constant(5, 3) @ x,
    "matmul reflected": lambda x: x.__rmatmul__(constant(5, 3)),
    "matmul reflected of variables": lambda x: x.__rmatmul__(x.transpose(1, 2)),
    "bmm of variables": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "einsum": lambda x: torch.einsum("btd,ed->bte", x, WEIGHT),
    "einsum from the left": lambda x: torch.einsum("ed,btd->bte", WEIGHT, x),
    "einsum of a list": lambda x: torch.einsum("btd,ed->bte", [x, WEIGHT]),
    "einsum of one": lambda x: torch.einsum("btd->bdt", x) @ constant(3, 3),
    "einsum with two constants": lambda x: torch.einsum("btd,ed,e->bte", x, WEIGHT, BIAS) @ WEIGHT,
    "einsum of variables": lambda x: torch.einsum("btd,bsd,ts->bt", x, x.tanh(), constant(3, 3)),
    "mul by names": lambda x: torch.mul(input=x, other=x.flip(1)),
    "mul by a number": lambda x: x * 3 @ SQUARE,
    "square": lambda x: torch.square(x),
    "power of three": lambda x: torch.pow(x, exponent=3),
    "power of one": lambda x: x**1 @ SQUARE,
    "power of a half": lambda x: x / ((x * x).sum(-1, keepdim=True)) ** 0.5,
    "power of minus a half": lambda x: x * ((x * x).sum(-1, keepdim=True)) ** -0.5,
    "add with alpha": lambda x: torch.add(x, x.flip(1), alpha=2) @ SQUARE,
    "add a constant with alpha": lambda x: torch.add(x, FOUR, alpha=2) @ SQUARE,
    "sub with alpha": lambda x: torch.sub(x, FOUR, alpha=2) @ SQUARE,
    "sub from": lambda x: (FOUR - x) @ SQUARE,
    "sub from a number": lambda x: (2 - x) @ SQUARE,
    "rsub with alpha": lambda x: torch.rsub(x, FOUR, alpha=2) @ SQUARE,
    "add by names": lambda x: torch.add(input=x, other=FOUR) @ SQUARE,
    "division": lambda x: x / x.norm(dim=-1, keepdim=True) @ SQUARE,
    "division by names": lambda x: torch.div(input=x, other=x.norm(dim=-1, keepdim=True)) @ SQUARE,
    "division by a number": lambda x: x / 3 @ SQUARE,
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax by name": lambda x: torch.softmax(input=x, dim=1),
    "softmax of functional": lambda x: F.softmax(x, dim=2),
    "layer norm": lambda x: F.layer_norm(x, (4,), FOUR, constant(4), 0.5),
    "layer norm by names": lambda x: F.layer_norm(x, normalized_shape=(4,), weight=FOUR, bias=constant(4), eps=0.5),
    "layer norm without affine part": lambda x: F.layer_norm(x, (4,)),
    "layer norm over two dimensions": lambda x: F.layer_norm(x, (3, 4), constant(3, 4), constant(3, 4, seed=1)),
    "rms norm": lambda x: F.rms_norm(x, (4,), FOUR, 0.5),
    "rms norm by names": lambda x: F.rms_norm(input=x, normalized_shape=(4,), weight=FOUR, eps=0.5),
    "rms norm without affine part": lambda x: F.rms_norm(x * 1e-7, (4,)),
    "rms norm over two dimensions": lambda x: F.rms_norm(x, (3, 4)),
    "group norm": lambda x: F.group_norm(x.transpose(1, 2), 2, FOUR, constant(4), 0.5),
    "group norm by names": lambda x: F.group_norm(x.mT, num_groups=2, weight=FOUR, bias=constant(4), eps=0.5),
    "group norm without affine part": lambda x: F.group_norm(x.transpose(1, 2), 2),
    "group norm of an image": lambda x: F.group_norm(x.mT.unsqueeze(-1), 4, FOUR, constant(4)),
    "batch norm": lambda x: F.batch_norm(x, THREE, POSITIVE, constant(3), constant(3, seed=9), eps=0.5),
    "batch norm without affine part": lambda x: F.batch_norm(x, THREE, POSITIVE),
    "batch norm with a weight": lambda x: F.batch_norm(x, THREE, POSITIVE, weight=constant(3)),
    "batch norm with a bias": lambda x: F.batch_norm(x, THREE, POSITIVE, bias=constant(3)),
    "batch norm of an image": lambda x: F.batch_norm(x.unsqueeze(-1), THREE, POSITIVE, THREE, POSITIVE),
    "var_mean": lambda x: _normed(x, *torch.var_mean(x, -1, keepdim=True)),
    "var_mean by names": lambda x: _normed(x, *torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)),
    "var_mean with correction": lambda x: _normed(x, *torch.var_mean(x, dim=1, correction=0, keepdim=True)),
    "std_mean": lambda x: (x - torch.std_mean(x, 1, keepdim=True)[1]) / torch.std_mean(x, 1, keepdim=True)[0],
    "std_mean of everything": lambda x: (x - torch.std_mean(x, False)[1]) / torch.std_mean(x, False)[0],
    "iteration": lambda x: torch.stack([row * row for row in x]),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.3),
    "clamp by names": lambda x: torch.clamp(input=x, max=0.3, min=-0.5),
    "clamp from below": lambda x: torch.clamp(x, min=0),
    "leaky relu": lambda x: F.leaky_relu(x, 0.3),
    "elu by names": lambda x: F.elu(input=x, alpha=2),
    "relu in place": lambda x: F.relu(x @ SQUARE, inplace=True),
    "in place": lambda x: (x @ SQUARE).mul_(x).add_(FOUR).sub_(x, alpha=2).relu_() @ SQUARE,
    "in place by operator": lambda x: _in_place(x) @ SQUARE,
    "a part in place": lambda x: _part_in_place(x) @ SQUARE,
    "attention": lambda x: F.scaled_dot_product_attention(*heads(x)),
    "attention with a scale": lambda x: F.scaled_dot_product_attention(*heads(x), scale=2.0),
    "causal attention": lambda x: F.scaled_dot_product_attention(*heads(x), is_causal=True),
    "causal attention of fewer queries": lambda x: F.scaled_dot_product_attention(
        heads(x)[0][:, :, :2], *heads(x)[1:], None, 0.0, True
    ),
    "attention with what to keep": lambda x: F.scaled_dot_product_attention(*heads(x), KEEP),
    "attention with what to add": lambda x: F.scaled_dot_product_attention(*heads(x), attn_mask=constant(3, 3)),
    "attention of groups": lambda x: F.scaled_dot_product_attention(*heads(x, groups=2), enable_gqa=True),
}


def _normed(x: Tensor, variance: Tensor, mean: Tensor) -> Tensor:
    return (x - mean) * torch.rsqrt(variance + 0.5)


def _in_place(x: Tensor) -> Tensor:
    value = x @ SQUARE
    value += x
    value *= x
    value -= FOUR
    value /= 2
    return value


def _part_in_place(x: Tensor) -> Tensor:
    value = x @ SQUARE
    value[:, 1:] *= x[:, 1:]
    value[:, 0].relu_()
    return value


class Calls(nn.Module):
    """A function of the tokens, read in all of its outputs."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x).reshape(len(x), -1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CALLS)
def test_every_call(name: str, method: str) -> None:
    model, options = Calls(CALLS[name]), METHODS[method]
    target = int(model(X).sum(0).argmax())
    fast = axioms.attribute(model, X, target, method, ledger=True, **options)
    torch.testing.assert_close(fast.output, model(X)[:, target], rtol=1e-12, atol=1e-12)
    slow = axioms.attribute(model, X, target, method, engine="explicit", **options)
    torch.testing.assert_close(fast.scores, slow.scores, rtol=1e-6, atol=1e-8)
    assert fast.ledger is not None
    assert fast.ledger.unexplained == pytest.approx(0, abs=1e-9 * float(fast.output.abs().sum()))


CURVED: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrt": lambda x: torch.sqrt(x * x + 1) @ SQUARE,
    "rsqrt": lambda x: torch.rsqrt(x * x + 1) @ SQUARE,
    "std": lambda x: x.std(-1) @ constant(3, 2),
    "var": lambda x: x.var(dim=-1, unbiased=False) @ constant(3, 2),
    "norm": lambda x: x.norm(dim=-1) @ constant(3, 2),
    "vector norm": lambda x: torch.linalg.vector_norm(x, dim=-1) @ constant(3, 2),
    "glu": lambda x: F.glu(x),
    "glu of tokens": lambda x: F.glu(torch.cat([x, x.flip(1)], 1), dim=1),
    "exp": lambda x: torch.exp(x) @ SQUARE,
    "sigmoid": lambda x: torch.sigmoid(x) @ SQUARE,
    "gelu": lambda x: F.gelu(x, approximate="tanh") @ SQUARE,
}
"""Functions that only some composites cover."""


@pytest.mark.parametrize("name", [*CALLS, *CURVED])
def test_the_plain_gradient_is_gradient_x_input(name: str) -> None:
    """Without any rule: then the ledger says what each operation keeps because it is not linear."""
    model, target = Calls((CALLS | CURVED)[name]), 1
    plain = axioms.attribute(model, X, target, "lrp", base="plain", rules=[], ledger=True, strict=False)
    wanted = axioms.attribute(model, X, target, "gradient_x_input").scores
    if not name.startswith(("division", "power of a half", "std_mean")):  # to the engine a denominator is a constant
        torch.testing.assert_close(plain.scores, wanted, rtol=1e-9, atol=1e-12)
    assert plain.ledger is not None
    assert plain.ledger.unexplained == pytest.approx(0, abs=1e-9 * float(plain.output.abs().sum()))


@pytest.mark.parametrize("name", [*CALLS, *CURVED])
def test_the_epsilon_rule_everywhere(name: str) -> None:
    """Both engines agree on it for every kind of operation, with an epsilon that matters, and the ledger closes."""
    kinds = "linear sum product softmax norm normalizer activation gate".split()
    rules = [{"on": kind, "rule": {"epsilon": {"epsilon": 0.1}}} for kind in kinds]
    model = Calls((CALLS | CURVED)[name])
    fast = axioms.attribute(model, X, 1, "lrp", base="plain", rules=rules, ledger=True)
    slow = axioms.attribute(model, X, 1, "lrp", base="plain", rules=rules, engine="explicit")
    torch.testing.assert_close(fast.scores, slow.scores, rtol=1e-6, atol=1e-8)
    assert fast.ledger is not None
    assert fast.ledger.unexplained == pytest.approx(0, abs=1e-9 * float(fast.output.abs().sum()))


REFUSED: dict[str, Callable[[Tensor], Tensor]] = {
    "one over a variable": lambda x: 1 / x,
    "a quotient that is rounded": lambda x: torch.div(x, x.abs(), rounding_mode="floor"),
    "a negative power": lambda x: x**-1,
    "a power of zero": lambda x: x**0,
    "a broken power": lambda x: x.abs() ** 2.5,
    "a power of a variable": lambda x: x.abs() ** x,
    "a clamp above zero": lambda x: torch.clamp(x, min=0.1),
    "a clamp below zero": lambda x: torch.clamp(x, -2, -0.1),
    "a clamp by a variable": lambda x: torch.clamp(x, max=x.flip(1).abs()),
    "a clamp from a variable": lambda x: torch.clamp(x, min=-x.flip(1).abs()),
    "a batch norm of the batch's own statistics": lambda x: F.batch_norm(x, None, None, training=True),
    "a batch norm that trains": lambda x: F.batch_norm(x, THREE.clone(), POSITIVE.clone(), training=True),
    "a convolution with a variable": lambda x: F.conv1d(x, x[:, :, :2]),
    "a convolution with a variable bias": lambda x: F.conv1d(x, constant(3, 3, 2), x[0, :, 0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_reader_understands_is_refused(name: str) -> None:
    with pytest.raises(UncoveredOperation):
        axioms.attribute(Calls(REFUSED[name]), X)
