"""What is read of a call is the call: put together again, an operation computes what torch computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from axioms.engine.kinds import ACTIVATION, CLAMP, GATE, LINEAR, NORM, NORMALIZER, PRODUCT, SOFTMAX, SUM
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Linear, Norm, Operation, Pointwise, Product, Softmax, Sum
from axioms.engine.parse import Call
from axioms.engine.where import Where


class Reading(Interpreter):
    """Keeps the operations that it sees, and the names of calls that nothing explains."""

    def __init__(self) -> None:
        super().__init__(Where())
        self.operations: list[Operation] = []
        self.unexplained: list[str] = []

    def operate(self, operation: Operation, call: Call) -> Any:
        self.operations.append(operation)
        return call.run()

    def uncovered(self, call: Call) -> Any:
        self.unexplained.append(call.name)
        return call.run()


def read(call: Callable[[], Any]) -> tuple[Reading, Any]:
    reading = Reading()
    with Mode(reading):
        value = call()
    return reading, value


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1


def variable(*shape: int, seed: int = 0) -> Tensor:
    return drawn(*shape, seed=seed).requires_grad_()


def again(operation: Operation) -> Tensor | None:
    """Return the value of an operation, from its parts; None for a sum over entries, which has none."""
    if isinstance(operation, Linear):
        value = operation.apply(operation.input, operation.weight)
        return value if operation.bias is None else value + operation.bias
    if isinstance(operation, Product):
        return operation.multiply(*operation.factors)
    if isinstance(operation, Sum):
        signed = [term * sign for term, sign in zip(operation.terms, operation.signs, strict=True)]
        return sum(signed[1:], signed[0]) if signed else None
    if isinstance(operation, Norm):
        groups = operation.grouped(operation.input)
        if operation.centered:
            groups = groups - groups.mean(operation.dims, keepdim=True)
        normed = groups / (groups.square().mean(operation.dims, keepdim=True) + operation.eps).sqrt()
        normed = normed.reshape(operation.input.shape)
        normed = normed if operation.weight is None else normed * operation.weight
        return normed if operation.bias is None else normed + operation.bias
    assert isinstance(operation, Pointwise)
    return operation.function(operation.input)


x, y, m = variable(2, 6, 4), variable(2, 6, 4, seed=1), variable(2, 6)
small = (drawn(3, 4) * 1e-2).requires_grad_()
image, sound = variable(2, 4, 5, 5), variable(2, 4, 9)
w, b = drawn(3, 4), drawn(3)
mean, var, gain, shift = drawn(4), drawn(4, seed=1), drawn(4, seed=2), drawn(4, seed=3)

CALLS: dict[str, tuple[str, Callable[[], Any]]] = {
    "linear": (LINEAR, lambda: F.linear(x, w, b)),
    "linear by name": (LINEAR, lambda: F.linear(input=x, weight=w, bias=b)),
    "linear without bias": (LINEAR, lambda: F.linear(x, w)),
    "conv1d": (LINEAR, lambda: F.conv1d(sound, drawn(3, 4, 2), b, 2, 1)),
    "conv1d without bias": (LINEAR, lambda: F.conv1d(sound, drawn(3, 4, 2))),
    "conv2d": (LINEAR, lambda: F.conv2d(image, drawn(4, 2, 3, 3), shift, stride=2, padding=1, groups=2)),
    "conv2d by name": (LINEAR, lambda: F.conv2d(input=image, weight=drawn(3, 4, 2, 2), bias=b, dilation=2)),
    "conv3d": (LINEAR, lambda: F.conv3d(variable(1, 2, 3, 3, 3), drawn(3, 2, 2, 2, 2), b)),
    "addmm": (LINEAR, lambda: torch.addmm(b, x[0], w.T)),
    "addmm by name": (LINEAR, lambda: torch.addmm(input=b, mat1=x[0], mat2=w.T)),
    "x @ W": (LINEAR, lambda: x @ w.T),
    "W @ x": (LINEAR, lambda: drawn(3, 6) @ x),
    "matmul by name": (LINEAR, lambda: torch.matmul(x, other=w.T)),
    "mm": (LINEAR, lambda: torch.mm(x[0], w.T)),
    "bmm": (PRODUCT, lambda: torch.bmm(x, y.transpose(1, 2))),
    "rmatmul": (PRODUCT, lambda: y.transpose(1, 2).__rmatmul__(x)),
    "einsum of two variables": (PRODUCT, lambda: torch.einsum("bik,bjk->bij", x, y)),
    "einsum of a list": (PRODUCT, lambda: torch.einsum("bik,bjk->bij", [x, y])),
    "einsum of three": (PRODUCT, lambda: torch.einsum("bik,jk,bjk->bij", x, drawn(6, 4), y)),
    "einsum with a constant": (LINEAR, lambda: torch.einsum("bik,ok->bio", x, w)),
    "einsum with a constant first": (LINEAR, lambda: torch.einsum("ok,bik->bio", w, x)),
    "x * y": (PRODUCT, lambda: x * y),
    "mul by name": (PRODUCT, lambda: torch.mul(input=x, other=y)),
    "square": (PRODUCT, lambda: x.square()),
    "pow": (PRODUCT, lambda: x**3),
    "pow by name": (PRODUCT, lambda: torch.pow(x, exponent=2.0)),
    "root": (NORMALIZER, lambda: x**0.5),
    "inverse root": (NORMALIZER, lambda: x.pow(-0.5)),
    "division": (PRODUCT, lambda: x / y),
    "reflected division": (PRODUCT, lambda: y.__rdiv__(x)),
    "x + y": (SUM, lambda: x + y),
    "add with alpha": (SUM, lambda: torch.add(x, y, alpha=3)),
    "add a number": (SUM, lambda: x + 2),
    "x - y": (SUM, lambda: x - y),
    "sub with alpha": (SUM, lambda: torch.sub(x, other=y, alpha=3)),
    "reflected sub": (SUM, lambda: 2 - x),
    "rsub with alpha": (SUM, lambda: torch.rsub(x, y, alpha=3)),
    "sum": (SUM, lambda: x.sum(1)),
    "mean": (SUM, lambda: x.mean()),
    "softmax": (SOFTMAX, lambda: torch.softmax(x, 1)),
    "softmax by name": (SOFTMAX, lambda: F.softmax(input=x, dim=0)),
    "clamp": (ACTIVATION, lambda: torch.clamp(x - 0.5, -0.2, 0.1)),
    "clamp by name": (ACTIVATION, lambda: (x - 0.5).clamp(max=0.2)),
    "clamp by tensors": (ACTIVATION, lambda: torch.clamp(x - 0.5, min=torch.tensor(-0.1), max=torch.zeros(4))),
    "leaky_relu": (ACTIVATION, lambda: F.leaky_relu(x - 0.5, 0.3)),
    "elu by name": (ACTIVATION, lambda: F.elu(input=x - 0.5, alpha=2.0)),
    "sigmoid": (GATE, lambda: torch.sigmoid(x)),
    "softplus": (GATE, lambda: F.softplus(x, 2)),
    "std": (NORMALIZER, lambda: x.std(-1, keepdim=True)),
    "norm": (NORMALIZER, lambda: torch.linalg.vector_norm(x, dim=-1)),
    "layer_norm": (NORM, lambda: F.layer_norm(small, (4,), gain, shift, 1e-2)),
    "layer_norm by name": (NORM, lambda: F.layer_norm(input=small, normalized_shape=(3, 4), eps=0.1)),
    "layer_norm by default": (NORM, lambda: F.layer_norm(small, (4,))),
    "rms_norm": (NORM, lambda: F.rms_norm(small, (4,), gain, 1e-2)),
    "rms_norm by name": (NORM, lambda: F.rms_norm(input=small, normalized_shape=(3, 4), weight=None, eps=0.1)),
    "rms_norm by default": (NORM, lambda: F.rms_norm(1e-6 * small, (4,))),
    "group_norm": (NORM, lambda: F.group_norm(image * 1e-2, 2, gain, shift, 1e-2)),
    "group_norm by name": (NORM, lambda: F.group_norm(input=sound, num_groups=4, eps=0.1)),
    "group_norm by default": (NORM, lambda: F.group_norm(small, 2)),
    "torch.layer_norm": (NORM, lambda: torch.layer_norm(small, (4,), gain, shift, 1e-2)),
    "torch.rms_norm": (NORM, lambda: torch.rms_norm(small, (4,), gain, 1e-2)),
    "torch.group_norm": (NORM, lambda: torch.group_norm(small, 2, gain, shift, 1e-2)),
    "torch.batch_norm": (
        LINEAR,
        lambda: torch.batch_norm(small, gain, shift, mean, var, False, 0.1, 0.2, False),
    ),
    "batch_norm": (LINEAR, lambda: F.batch_norm(image, mean, var, gain, shift, False, 0.1, 0.2)),
    "batch_norm by name": (LINEAR, lambda: F.batch_norm(sound, running_mean=mean, running_var=var, eps=0.3)),
    "batch_norm by default": (LINEAR, lambda: F.batch_norm(small, mean, var * 1e-4, bias=shift)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_operation_put_together_again_is_the_call(name: str) -> None:
    kind, call = CALLS[name]
    reading, value = read(call)
    operation = reading.operations[-1]
    assert operation.kind == kind
    assert reading.unexplained == []
    torch.testing.assert_close(operation.forward(), value)
    if isinstance(operation, Linear):
        assert operation.input.requires_grad
        assert not operation.weight.requires_grad
    built = again(operation)
    if built is not None:
        torch.testing.assert_close(built, value, rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_one_input_is_the_same_of_another(name: str) -> None:
    operation = read(CALLS[name][1])[0].operations[-1]
    if isinstance(operation, Pointwise):
        other = (operation.input * 0.7 - 0.1).detach().abs()
        assert not torch.allclose(operation.function(other), operation.forward())
        if isinstance(operation, Softmax):
            torch.testing.assert_close(operation.function(other), other.softmax(operation.dim))


def test_a_quotient_holds_its_denominator_constant() -> None:
    (operation,) = read(lambda: x / y)[0].operations
    assert isinstance(operation, Product)
    assert operation.is_division
    (gradient,) = torch.autograd.grad(operation.forward().sum(), y, allow_unused=True)
    assert gradient is None
    (operation,) = read(lambda: x * y)[0].operations
    assert isinstance(operation, Product)
    assert not operation.is_division


def test_products_that_sum_over_an_index_say_so() -> None:
    for name, contracts in (("bmm", True), ("einsum of three", True), ("x * y", False), ("pow", False)):
        operation = read(CALLS[name][1])[0].operations[-1]
        assert isinstance(operation, Product)
        assert operation.contracts == contracts
    assert read(CALLS["clamp"][1])[0].operations[-1].name == CLAMP


PASSIVE: dict[str, Callable[[], Any]] = {
    "times a constant": lambda: x * 3,
    "over a constant": lambda: x / w[0],
    "to the power of one": lambda: x**1,
    "a transpose by einsum": lambda: torch.einsum("bij->bji", x),
    "a variable and two constants": lambda: torch.einsum("bik,k,k->bi", x, gain, shift),
    "relu of a constant": lambda: torch.relu(gain),
}


@pytest.mark.parametrize("name", PASSIVE)
def test_what_the_plain_gradient_crosses_is_no_operation(name: str) -> None:
    reading, _ = read(PASSIVE[name])
    assert reading.operations == []
    assert reading.unexplained == []


UNEXPLAINED: dict[str, Callable[[], Any]] = {
    "a constant over a variable": lambda: 2 / x,
    "a division that rounds": lambda: torch.div(x, y, rounding_mode="floor"),
    "a power that is none": lambda: x**1.5,
    "an inverse": lambda: x**-1,
    "no power at all": lambda: x**0,
    "a variable exponent": lambda: x**y,
    "a clamp away from zero": lambda: x.clamp(min=0.1),
    "a clamp below zero": lambda: x.clamp(max=-0.1),
    "a clamp of which one bound is wrong": lambda: torch.clamp(x, min=torch.tensor([-1.0, 0.5, -1.0, -1.0])),
    "a clamp by a variable": lambda: torch.clamp(x, min=-y),
    "a clamp by a variable above": lambda: torch.clamp(x, max=y),
    "a batch norm that trains": lambda: F.batch_norm(small, mean.clone(), var.clone(), gain, shift, True),
    "a batch norm without statistics": lambda: F.batch_norm(small, None, None, training=True),
    "a convolution by a variable": lambda: F.conv1d(sound, variable(3, 4, 2)),
    "a convolution with a variable bias": lambda: F.conv1d(sound, drawn(3, 4, 2), variable(3)),
}


@pytest.mark.parametrize("name", UNEXPLAINED)
def test_what_nothing_explains_is_not_read(name: str) -> None:
    reading, _ = read(UNEXPLAINED[name])
    assert len(reading.unexplained) == 1


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        (lambda: torch.addmm(b, x[0], w.T, beta=2.0), [LINEAR, SUM]),
        (lambda: torch.addmm(b, x[0], w.T, alpha=2.0), [LINEAR, SUM]),
        (lambda: torch.addmm(m, y[:, 0], drawn(4, 6)), [LINEAR, SUM]),
        (lambda: F.linear(x, variable(3, 4)), [PRODUCT]),
        (lambda: F.linear(x, w, variable(3)), [LINEAR, SUM]),
    ],
)
def test_what_is_several_operations_is_read_as_these(call: Callable[[], Any], kinds: list[str]) -> None:
    reading, value = read(call)
    assert [operation.kind for operation in reading.operations] == kinds
    torch.testing.assert_close(value, call())
