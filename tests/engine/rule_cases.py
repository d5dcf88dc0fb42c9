"""Operations under rules, one by one: what arrives at the inputs of each, and what was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from axioms.core.registry import RULES
from axioms.engine.composite import RuleRef
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Operation
from axioms.engine.parse import Call
from axioms.engine.where import Where


class _Last(Interpreter):
    """Keeps the last operation of a few calls."""

    def __init__(self) -> None:
        super().__init__(Where())
        self.operation: Operation | None = None

    def operate(self, operation: Operation, call: Call) -> Any:
        self.operation = operation
        return call.run()


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(100 * seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@dataclass(frozen=True)
class Case:
    """A call on some variables, and the rule that it gets; the plain gradient without one."""

    call: Callable[..., Any]
    variables: tuple[Tensor, ...]
    rule: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    """What keeps relevance back."""

    @property
    def reference(self) -> RuleRef | None:
        return None if self.rule is None else RuleRef(self.rule, self.options)

    def operation(self, variables: Sequence[Tensor]) -> Operation:
        reader = _Last()
        with Mode(reader):
            self.call(*variables)
        assert reader.operation is not None
        return reader.operation

    def value(self, operation: Operation) -> Tensor:
        """Return the operation's value under its rule."""
        if self.rule is None:
            return operation.forward()
        value: Tensor = RULES.get(self.rule).function(operation, **self.options)
        return value

    def leaves(self) -> list[Tensor]:
        return [variable.clone().requires_grad_() for variable in self.variables]


def relevance(value: Tensor, gradient: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Return Gradient x Input of each leaf, where a gradient arrives at the value."""
    found = torch.autograd.grad(value, leaves, gradient, allow_unused=True, materialize_grads=True)
    return [(leaf * slope).detach() for leaf, slope in zip(leaves, found, strict=True)]


x, y, z, w, b = drawn(2, 3, 4), drawn(2, 3, 4, seed=1), drawn(2, 4, 3), drawn(5, 4), drawn(5)
scores = drawn(2, 3, 4, 4)
image = drawn(1, 2, 3, 3)
gain, shift = drawn(4), drawn(4, seed=1)
with_zeros = x * (drawn(2, 3, 4, seed=5) > 0)
LITTLE = torch.tensor([[2.0**-52, 1 + 2.0**-52]], dtype=torch.float64)
"""Its two entries differ by one exactly: the first is the rounding of the difference."""
BIAS, EPSILON = frozenset(("bias",)), frozenset(("epsilon",))


def held(a: Tensor, v: Tensor) -> Tensor:
    """A V where the second head of A is held constant."""
    from axioms.engine.rules import stop

    weights = Case(lambda s: torch.softmax(s, -1), ()).operation([a])
    return stop(weights, heads=(2,)) @ v


def _linear(rule: str | None, kept: frozenset[str], **options: Any) -> dict[str, Case]:
    name = f"{rule} {options or ''}"
    return {
        f"linear, {name}": Case(lambda x: F.linear(x, w, b), (x,), rule, options, kept | BIAS),
        f"linear without bias, {name}": Case(lambda x: F.linear(x, w), (x,), rule, options, kept),
        f"convolution, {name}": Case(
            lambda x: F.conv2d(x, drawn(3, 2, 2, 2), drawn(3), padding=1), (image,), rule, options, kept | BIAS
        ),
        f"W @ x, {name}": Case(lambda x: drawn(2, 3) @ x, (x,), rule, options, kept),
        f"batch norm, {name}": Case(
            lambda x: F.batch_norm(x, drawn(3), drawn(3).exp(), drawn(3, seed=2), drawn(3, seed=3)),
            (x,),
            rule,
            options,
            kept | BIAS,
        ),
    }


CASES: dict[str, Case] = {
    **_linear(None, frozenset()),
    **_linear("epsilon", frozenset()),
    **_linear("epsilon", EPSILON, epsilon=0.3),
    **_linear("gamma", frozenset()),
    **_linear("gamma", frozenset(), gamma=2.0),
    "linear, alpha1_beta0": Case(lambda x: F.linear(x, w, b), (x,), "alpha1_beta0", kept=BIAS | EPSILON),
    "linear without bias, alpha1_beta0": Case(lambda x: F.linear(x, w.abs()), (x.abs(),), "alpha1_beta0"),
    "as little that is positive as is passed on, alpha1_beta0": Case(
        lambda x: F.linear(x, torch.tensor([[1.0, -1.0]], dtype=x.dtype)), (LITTLE,), "alpha1_beta0"
    ),
    "x + y": Case(lambda x, y: x + y, (x, y)),
    "x + y, epsilon": Case(lambda x, y: x + y, (x, y), "epsilon", {"epsilon": 0.3}, EPSILON),
    "x + y with zeros, epsilon": Case(lambda x, y: x + y, (with_zeros, y), "epsilon", {"epsilon": 0.3}, EPSILON),
    "x + position": Case(lambda x: x + gain, (x,), kept=frozenset(("position",))),
    "x + position, epsilon": Case(
        lambda x: x + gain, (x,), "epsilon", {"epsilon": 0.3}, frozenset(("position", "epsilon"))
    ),
    "position - x": Case(lambda x: gain - x, (x,), kept=frozenset(("position",))),
    "x - position": Case(lambda x: torch.sub(x, gain, alpha=2), (x,), kept=frozenset(("position",))),
    "x + 0, epsilon": Case(lambda x: x + 0, (x,), "epsilon", {"epsilon": 0.3}),
    "sum over entries": Case(lambda x: x.sum(1), (x,)),
    "sum over entries, epsilon": Case(lambda x: x.sum(1), (x,), "epsilon", {"epsilon": 0.3}, EPSILON),
    "x * y": Case(lambda x, y: x * y, (x, y), kept=frozenset(("gradient",))),
    "x * y, uniform": Case(lambda x, y: x * y, (x, y), "uniform"),
    "x * y, uniform with epsilon": Case(lambda x, y: x * y, (x, y), "uniform", {"epsilon": 0.3}, EPSILON),
    "x y', uniform": Case(lambda x, z: x @ z, (x, z), "uniform"),
    "x y', uniform with epsilon": Case(lambda x, z: x @ z, (x, z), "uniform", {"epsilon": 0.3}, EPSILON),
    "x ** 3": Case(lambda x: x**3, (x,), kept=frozenset(("gradient",))),
    "x ** 3, uniform": Case(lambda x: x**3, (x,), "uniform", {"epsilon": 0.3}, EPSILON),
    "three, uniform": Case(lambda x, y, z: torch.einsum("bik,bik,bkj->bij", x, y, z), (x, y, z), "uniform"),
    "held heads, uniform": Case(held, (scores, scores), "uniform", {"epsilon": 0.3}, EPSILON),
    "x / y, uniform": Case(lambda x, y: x / y, (x, y), "uniform", {"epsilon": 0.3}),
    "x * y, degree": Case(lambda x, y: x * y, (x, y), "degree", {"epsilon": 0.3}, EPSILON),
    "x / y, degree": Case(lambda x, y: x / y, (x, y), "degree", {"epsilon": 0.3}),
    "x * y, signal": Case(lambda x, y: x * y, (x, y), "signal_take_all"),
    "x * y, first signal": Case(lambda x, y: x * y, (x, y), "signal_take_all", {"signal": 0}),
    "x * act(y), signal": Case(lambda x, y: x * y.relu(), (x, y), "signal_take_all"),
    "x y', scan": Case(lambda x, z: x @ z, (x, z), "scan_product"),
    "x * y, scan": Case(lambda x, y: x * y, (x, y), "scan_product"),
    "softmax, taylor": Case(lambda s: s.softmax(-1), (scores,), "taylor", kept=frozenset(("softmax",))),
    "softmax of queries, taylor": Case(lambda s: s.softmax(2), (scores,), "taylor", kept=frozenset(("softmax",))),
    "softmax": Case(lambda s: s.softmax(-1), (scores,), kept=frozenset(("softmax",))),
    "softmax, heads": Case(lambda s: s.softmax(-1), (scores,), "stop", {"heads": (1, 3)}, frozenset(("softmax",))),
    "linear, heads": Case(lambda x: F.linear(x, w, b), (x,), "stop", {"heads": (3,)}, BIAS | {"gradient"}),
    "softmax, epsilon": Case(
        lambda s: s.softmax(-1), (scores,), "epsilon", {"epsilon": 0.3}, frozenset(("softmax", "epsilon"))
    ),
    "layer norm": Case(lambda x: F.layer_norm(x, (4,), gain, shift, 0.5), (x,), kept=BIAS | {"norm"}),
    "layer norm, linear": Case(lambda x: F.layer_norm(x, (4,), gain, shift, 0.5), (x,), "norm_as_linear", kept=BIAS),
    "layer norm of all, linear": Case(lambda x: F.layer_norm(x, (3, 4), eps=0.5), (x,), "norm_as_linear"),
    "rms norm": Case(lambda x: F.rms_norm(x, (4,), gain, 0.5), (x,), kept=frozenset(("norm",))),
    "rms norm, linear": Case(lambda x: F.rms_norm(x, (4,), gain, 0.5), (x,), "norm_as_linear"),
    "group norm": Case(lambda x: F.group_norm(x, 1, drawn(2), drawn(2, seed=1), 0.5), (image,), kept=BIAS | {"norm"}),
    "group norm, linear": Case(
        lambda x: F.group_norm(x, 2, drawn(2), drawn(2, seed=1), 0.5), (image,), "norm_as_linear", kept=BIAS
    ),
    "std": Case(lambda x: x.std(-1), (x,)),
    "norm of x": Case(lambda x: torch.linalg.vector_norm(x, dim=-1), (x,)),
    "norm of all of x": Case(lambda x: x.norm(), (x,)),
    "norm of all of x, epsilon": Case(
        lambda x: torch.linalg.vector_norm(x), (x,), "epsilon", {"epsilon": 0.3}, EPSILON
    ),
    "x to one half": Case(lambda x: x**0.5, (x.abs(),), kept=frozenset(("norm",))),
    "x to minus one half": Case(lambda x: x**-0.5, (x.abs(),), "taylor", kept=frozenset(("norm",))),
    "var": Case(lambda x: x.var(-1), (x,), "taylor", kept=frozenset(("norm",))),
    "root": Case(lambda x: x.sqrt(), (x.abs(),), kept=frozenset(("norm",))),
    "inverse root": Case(lambda x: x.rsqrt(), (x.abs(),), "epsilon", kept=frozenset(("norm",))),
    "gelu": Case(lambda x: F.gelu(x), (x,), kept=frozenset(("gradient",))),
    "gelu, identity": Case(lambda x: F.gelu(x), (x,), "identity"),
    "relu, identity": Case(lambda x: x.relu(), (x,), "identity"),
    "gelu, epsilon": Case(lambda x: F.gelu(x), (x,), "epsilon", {"epsilon": 0.3}, frozenset(("gradient", "epsilon"))),
    "sigmoid, taylor": Case(lambda x: x.sigmoid(), (x,), "taylor", kept=frozenset(("gradient",))),
}
