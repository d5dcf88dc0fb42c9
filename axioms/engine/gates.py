"""Gates on what leave-one-out removes: f(g) with f(1) the output and f(1 - e_j) the output without feature j.

A feature is removed by the attention mask or by something put in its place. For the first, gate g_j multiplies key
j's share in every attention: A_ij(g) = g_j exp(Z_ij) / sum_k g_k exp(Z_ik), that is, log g_j is added to the scores,
wherever and however the softmax is computed. For the second, x_j(g) = r_j + g_j (x_j - r_j), where r_j is what
replaces it.

With o_i = sum_j A_ij(g) v_j, the derivative at g = 1 is d o_i / d g_j = A_ij (v_j - o_i); removing key j from that
one attention changes o_i by exactly A_ij / (1 - A_ij) (v_j - o_i).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import InputError, NotDefined
from axioms.engine.gradients import scale_gradient
from axioms.engine.parser import argument
from axioms.engine.scores import Following
from axioms.model.inputs import Inputs
from axioms.model.module import Model

BY_MASK = "attention_mask"
NOT_GRADUAL = ("delete",)
"""Removals with nothing between there and not there."""


def gated(model: Model, inputs: Inputs, gates: Tensor, *, exact_blocks: bool = False, draw: int = 0) -> Tensor:
    """The outputs with the features at their gates (batch x features), differentiable in the gates.

    With `exact_blocks` the derivative of each attention is its change when that key is removed from it altogether.
    `draw` chooses among the replacements of a removal that draws several.
    """
    kind = inputs.removal.kind
    if kind in NOT_GRADUAL:
        raise InputError(f"removal by {kind} has no gates: a token cannot be taken out by degrees that way.")
    if kind != BY_MASK:
        if exact_blocks:
            raise NotDefined("order 'exact_block' needs removal by the attention mask.")
        everything = torch.ones(inputs.features.shape[:2], dtype=torch.bool, device=inputs.features.device)
        removed = inputs.without(everything, draw).features
        width = (1,) * (inputs.features.dim() - gates.dim())
        return model(inputs.with_features(removed + gates.reshape(*gates.shape, *width) * (inputs.features - removed)))
    # The features are variables only so that Q K' is known as a product of variables; no gradient is asked of them.
    features = inputs.features.detach().requires_grad_()
    with torch.enable_grad(), KeyGates(gates, exact_blocks) as mode:
        outputs = model(inputs.with_features(features))
    if not mode.applied:
        raise NotDefined(
            "removal by attention mask needs attention over the features, and none was found in this model; "
            "choose another removal, such as `remove: zero`."
        )
    return outputs


class KeyGates(Following):
    """While active, every attention over the features has its keys gated."""

    def __init__(self, gates: Tensor, exact_blocks: bool) -> None:
        super().__init__()
        self.gates = gates
        self.exact_blocks = exact_blocks
        self.applied = 0
        # Not quite zero, where a gate is shut: its logarithm must be a number.
        self.logarithms = gates.clamp(min=torch.finfo(gates.dtype).tiny).log()

    def weighted(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """The same with gates on the keys."""
        scores = args[0] if args else kwargs.pop("input")
        dim = -1 if name == "exp" else argument(args, kwargs, 1, "dim", -1)
        dim = dim[0] if isinstance(dim, tuple | list) else dim
        batch, tokens = self.gates.shape
        if scores.shape[dim] != tokens or scores.shape[0] % batch or scores.dim() < 3:
            value: Tensor = func(scores, *args[1:], **kwargs)
            return value
        self.applied += 1
        logarithms = self._beside(scores, dim)
        if self.exact_blocks:
            logarithms = _removing(scores, logarithms, dim)
        if name == "exp":
            value = func(scores, **kwargs) * logarithms.exp()
            return value
        value = func(scores + logarithms, *args[1:], **kwargs)
        return value

    def _beside(self, scores: Tensor, dim: int) -> Tensor:
        """The gates' logarithms along the keys; heads may be folded into the batch."""
        folded = scores.shape[0] // len(self.gates)
        lined = self.logarithms.repeat_interleave(folded, 0) if folded > 1 else self.logarithms
        shape = [1] * scores.dim()
        shape[0], shape[dim] = scores.shape[0], scores.shape[dim]
        return lined.reshape(shape)


def _removing(scores: Tensor, logarithms: Tensor, dim: int) -> Tensor:
    """The gates' logarithms for each query and key, with gradients that stand for removing that key from here.

    Between g_j = 1 and g_j = 0, all else as it is, o_i changes by a / (1 - A_ij) (v_j - o_i), where A is computed with
    the gates as they are and a = A_ij / (A_ij + g_j (1 - A_ij)) is A_ij with that gate wide open. The derivative with
    respect to log g_j is A_ij (v_j - o_i), so the gradient is multiplied by g_j a / (A_ij (1 - A_ij)); the derivative
    with respect to g_j then divides by g_j. Where A_ij = 1 it is 0: nothing else is left to look at.
    """
    with torch.no_grad():
        gates = logarithms.exp()
        weights = torch.softmax(scores + logarithms, dim=dim)
        rest = _others(weights, dim)
        alone = rest <= torch.finfo(weights.dtype).eps
        factor = torch.where(alone, 0.0, gates / (rest * (weights + gates * rest)).masked_fill(alone, 1.0))
    return scale_gradient(logarithms.expand_as(scores).clone(), factor)


def _others(weights: Tensor, dim: int) -> Tensor:
    """1 - A as the sum of the other weights where A is large: the difference would lose the digits that matter."""
    large = weights > 0.5  # one at most
    return torch.where(large, weights.masked_fill(large, 0).sum(dim, keepdim=True), 1 - weights)
