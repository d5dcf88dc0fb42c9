"""The ledger: where relevance went that did not reach the input.

"Why does it not sum to the logit?" For each operation it notes the relevance that arrived and what the operation kept
back: its bias, a constant added to it (a position), the stabilizer, the softmax, a norm. Every rule sends the gradient
g of its output on by a linear map, so what it keeps is sum_k c_k g_k with coefficients c in closed form, below. Nothing
is computed as a difference; what the closed forms do not explain is an entry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from axioms.propagate.composite import RuleRef, layer_number
from axioms.propagate.operations import Block, Linear, Norm, Operation, Pointwise, Product, Sum

Kept = dict[str, Tensor]
"""Coefficients c by what keeps the relevance: bias, position, epsilon, softmax, norm."""

CATEGORIES = ("bias", "position", "epsilon", "softmax", "norm")


@dataclass
class LedgerEntry:
    """One operation: the relevance that arrived at its output, and what was kept there."""

    path: str
    operation: str
    rule: str
    arrived: float = 0.0
    kept: dict[str, float] = field(default_factory=dict)

    @property
    def layer(self) -> int | None:
        """1-based; None outside the layers."""
        return layer_number(self.path)

    @property
    def passed(self) -> float:
        """What went on to the operation's inputs."""
        return self.arrived - sum(self.kept.values())


@dataclass
class Ledger:
    """The entries of one forward and backward pass; sums are over the batch."""

    strict: bool = True
    """Whether an operation without a rule raises; else it is noted here."""
    entries: list[LedgerEntry] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    """Operations without a rule, which crossed by their plain gradient because the call was not strict."""
    output: float = 0.0
    features: float = 0.0

    def kept(self, category: str) -> float:
        """What this category kept in the whole model."""
        return sum(entry.kept.get(category, 0.0) for entry in self.entries)

    @property
    def unexplained(self) -> float:
        """What neither reached the features nor was kept by a closed form: about 0."""
        return self.output - self.features - sum(self.kept(category) for category in CATEGORIES)

    def watch(self, operation: Operation, value: Tensor, rule: RuleRef | None, path: str) -> None:
        """Note what the operation keeps, once the backward pass brings its gradient."""
        if not value.requires_grad:
            return
        entry = LedgerEntry(path, operation.name, rule.name if rule else "gradient")
        coefficients = kept_by(operation, value, rule)
        self._listen(entry, value, coefficients)

    def watch_constants(self, name: str, value: Any, constants: Tensor, path: str) -> None:
        """Note what constants keep that stand beside variables: a class token in a concatenation, a filled mask."""
        if isinstance(value, Tensor) and value.requires_grad and bool((constants != 0).any()):
            self._listen(LedgerEntry(path, name, "gradient"), value, {"position": constants})

    def _listen(self, entry: LedgerEntry, value: Tensor, coefficients: Kept) -> None:
        self.entries.append(entry)
        shown = value.detach()

        def note(gradient: Tensor) -> None:
            entry.arrived += _weighted(shown, gradient)
            for category, coefficient in coefficients.items():
                entry.kept[category] = entry.kept.get(category, 0.0) + _weighted(coefficient, gradient)

        value.register_hook(note)

    def table(self) -> str:
        """Layer by layer: what each category kept there, and the sums."""
        layers = sorted({entry.layer for entry in self.entries}, key=lambda layer: (layer is None, layer or 0))
        lines = [f"{'layer':<10}" + "".join(f"{category:>12}" for category in CATEGORIES)]
        for layer in layers:
            mine = [entry for entry in self.entries if entry.layer == layer]
            sums = (sum(entry.kept.get(category, 0.0) for entry in mine) for category in CATEGORIES)
            lines.append(f"{'outside' if layer is None else layer:<10}" + "".join(f"{kept:>12.4f}" for kept in sums))
        lines.append(f"{'all':<10}" + "".join(f"{self.kept(category):>12.4f}" for category in CATEGORIES))
        lines.append(
            f"output {self.output:.6g} = features {self.features:.6g} + the above + {self.unexplained:.2g} unexplained"
        )
        lines += [f"no rule for {name}: crossed by its plain gradient" for name in dict.fromkeys(self.uncovered)]
        return "\n".join(lines)


def _weighted(coefficient: Tensor, gradient: Tensor) -> float:
    """sum c g, where a gradient of 0 leaves nothing, also of an infinite c: a masked logit."""
    gradient, coefficient = torch.broadcast_tensors(gradient.detach().double(), coefficient.detach().double())
    return float(torch.where(gradient == 0, 0.0, coefficient * gradient).sum())


ACTIVE: ContextVar[Ledger | None] = ContextVar("axioms_ledger", default=None)


@contextmanager
def recording(*, strict: bool = True) -> Iterator[Ledger]:
    """A ledger that the engine fills while this is open; not strict, it takes note of what has no rule."""
    ledger = Ledger(strict)
    token = ACTIVE.set(ledger)
    try:
        yield ledger
    finally:
        ACTIVE.reset(token)


def kept_by(operation: Operation, value: Tensor, rule: RuleRef | None) -> Kept:
    """The coefficients of an operation under its rule."""
    closed_form = CLOSED_FORMS.get(rule.name if rule else "", _affine)
    with torch.no_grad():
        return closed_form(operation, value.detach(), rule.options if rule else {})


def _affine(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """An operation that is linear in its variables keeps its constants times their gradient."""
    if isinstance(operation, Linear | Norm):
        return {} if operation.bias is None else {"bias": operation.bias}
    if isinstance(operation, Sum):
        constants = operation.constants
        return {"position": sum(constants[1:], constants[0])} if constants else {}
    return {}


def _epsilon(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """z - z^2 / (z + eps sign z) stays with the stabilizer; the constants keep their share of the rest."""
    factor = _share(value, 1, options.get("epsilon", 0.0))
    for term in operation.terms if isinstance(operation, Sum) else ():
        factor = torch.where(term == 0, 1.0, factor)  # nothing was split there
    constants = {name: coefficient * factor for name, coefficient in _affine(operation, value, {}).items()}
    return {**constants, "epsilon": value * (1 - factor)}


def _uniform(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """Each of n factors gets z^2 / (n z + eps sign z); the stabilizer keeps the rest."""
    assert isinstance(operation, Product)
    n = len(operation.factors)
    if n == 1:  # a division by something held constant
        return {}
    return {"epsilon": value * (1 - n * _share(value, n, options.get("epsilon", 0.0)))}


def _aumann_shapley(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """A block keeps what it puts out at zero: its path begins there."""
    assert isinstance(operation, Block)
    return {"bias": operation.function(*(torch.zeros_like(each) for each in operation.inputs))}


def _gamma(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """The bias counts 1 + gamma times where it has the output's sign."""
    assert isinstance(operation, Linear)
    if operation.bias is None:
        return {}
    bias = operation.bias
    favoured = bias * (1 + options.get("gamma", 0.25) * (bias * value > 0))
    positive = _positive(operation, operation.input) * options.get("gamma", 0.25)
    negative = _positive(operation, -operation.input) * -options.get("gamma", 0.25)
    total = value - bias + torch.where(value > 0, positive, negative) + favoured
    return {"bias": favoured * _quotient(value, total)}


def _alpha1_beta0(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """The bias keeps its positive part's share; where next to nothing is positive, nothing is passed on."""
    assert isinstance(operation, Linear)
    positive = _positive(operation, operation.input)
    bias = torch.zeros_like(value) if operation.bias is None else operation.bias.clamp(min=0)
    total = positive + bias
    nothing = total.abs() < value.abs() * torch.finfo(value.dtype).eps
    return {"bias": bias * _quotient(value, total) * ~nothing, "epsilon": value * nothing}


def _positive(operation: Linear, x: Tensor) -> Tensor:
    """The sum of the positive contributions of x."""
    more, less = operation.weight.clamp(min=0), operation.weight.clamp(max=0)
    return operation.apply(x.clamp(min=0), more) + operation.apply(x.clamp(max=0), less)


def _taylor(operation: Operation, value: Tensor, options: Mapping[str, Any]) -> Kept:
    """sum R_A - sum R_Z by equation (5): c_k = A_k (1 - Z_k + sum_i Z_i A_i)."""
    assert isinstance(operation, Pointwise)
    logits = torch.where(value == 0, 0.0, operation.input)  # a masked logit is -inf and has no weight
    return {"softmax": value * (1 - logits + (logits * value).sum(-1, keepdim=True))}


def _share(value: Tensor, parts: int, epsilon: float) -> Tensor:
    """z / (parts z + eps sign z), and 1 / parts at eps 0."""
    if epsilon == 0:
        return torch.full_like(value, 1 / parts)
    share = value / (parts * value + epsilon * torch.where(value < 0, -1.0, 1.0).to(value.dtype))
    return torch.where(value.isinf(), 1 / parts, share)


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    return torch.where(denominator == 0, 0.0, numerator / torch.where(denominator == 0, 1.0, denominator))


ClosedForm = Callable[[Operation, Tensor, Mapping[str, Any]], Kept]
CLOSED_FORMS: dict[str, ClosedForm] = {
    "epsilon": _epsilon,
    "uniform": _uniform,
    "degree": _uniform,
    "aumann_shapley": _aumann_shapley,
    "gamma": _gamma,
    "alpha1_beta0": _alpha1_beta0,
    "taylor": _taylor,
    "norm_as_linear": _affine,
}
