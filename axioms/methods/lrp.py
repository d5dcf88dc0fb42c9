"""Layer-wise relevance propagation: each method is a composite of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.propagate.composite import Composite, RuleRef
from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target


@method("attnlrp", passes=1)
def attnlrp(model: Model, inputs: Inputs, target: Target, *, epsilon: float = 0.0) -> Tensor:
    """AttnLRP (Achtibat et al. 2024): products split in half (3, 4), softmax by its Taylor expansion (5)."""
    rules = {
        "linear": RuleRef("epsilon", {"epsilon": epsilon}),
        "product": RuleRef("uniform", {"epsilon": epsilon}),
        "softmax": RuleRef("taylor"),
    }
    return _relevance(model, inputs, target, Composite(rules))


@method("cp_lrp", passes=1)
def cp_lrp(model: Model, inputs: Inputs, target: Target, *, epsilon: float = 0.0) -> Tensor:
    """CP-LRP (Ali et al. 2022): the softmax is a constant, so that O = A V passes relevance to V alone.

    Where a product has no softmax before it, its last factor is the signal that takes all: in linear attention that
    is V, however the product is grouped.
    """
    rules = {
        "linear": RuleRef("epsilon", {"epsilon": epsilon}),
        "product": RuleRef("signal_take_all"),
        "softmax": RuleRef("stop"),
    }
    return _relevance(model, inputs, target, Composite(rules))


@method("lrp_epsilon", passes=1)
def lrp_epsilon(model: Model, inputs: Inputs, target: Target, *, epsilon: float = 1e-6) -> Tensor:
    """The epsilon rule everywhere, sums included; products split in half, softmax by its Taylor expansion."""
    stabilized = {"epsilon": epsilon}
    rules = {
        "linear": RuleRef("epsilon", stabilized),
        "sum": RuleRef("epsilon", stabilized),
        "product": RuleRef("uniform", stabilized),
        "softmax": RuleRef("taylor"),
    }
    return _relevance(model, inputs, target, Composite(rules))


def _relevance(model: Model, inputs: Inputs, target: Target, composite: Composite) -> Tensor:
    from axioms.propagate.engine import propagate

    return propagate(model, inputs, target, composite)
