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

from axioms.errors import InputError
from axioms.propagate.parse import argument
from axioms.propagate.scores import Following
from axioms.subjects.inputs import Inputs
from axioms.subjects.model import Model

BY_MASK = "attention_mask"
NOT_GRADUAL = ("delete",)
"""Removals with nothing between there and not there."""


def gated(model: Model, inputs: Inputs, gates: Tensor, *, exact_blocks: bool = False) -> Tensor:
    """The outputs with the features at their gates (batch x features), differentiable in the gates.

    With `exact_blocks` the derivative of each attention is its change when that key is removed from it altogether.
    """
    if inputs.removal in NOT_GRADUAL:
        raise InputError(f"removal {inputs.removal!r} has no gates: a feature cannot be removed by degrees that way.")
    if inputs.removal != BY_MASK:
        if exact_blocks:
            raise InputError("order 'exact_block' needs removal by the attention mask.")
        everything = torch.ones(inputs.features.shape[:2], dtype=torch.bool, device=inputs.features.device)
        removed = inputs.without(everything).features
        width = (1,) * (inputs.features.dim() - gates.dim())
        return model(inputs.with_features(removed + gates.reshape(*gates.shape, *width) * (inputs.features - removed)))
    # The features are variables only so that Q K' is known as a product of variables; no gradient is asked of them.
    features = inputs.features.detach().requires_grad_()
    with torch.enable_grad(), KeyGates(gates, exact_blocks) as mode:
        outputs = model(inputs.with_features(features))
    if not mode.applied:
        raise InputError(
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
        if self.exact_blocks:
            if name not in ("softmax", "_safe_softmax"):
                raise InputError(
                    f"order 'exact_block' needs the attention matrix, and this model computes it by {name!r}; "
                    "use order 'first', which does not."
                )
            return _ExactRemoval.apply(scores.movedim(dim, -1), self._beside(scores.movedim(dim, -1), -1)).movedim(
                -1, dim
            )
        if name == "exp":
            value = func(scores, **kwargs) * self._beside(scores, dim).exp()
            return value
        value = func(scores + self._beside(scores, dim), *args[1:], **kwargs)
        return value

    def _beside(self, scores: Tensor, dim: int) -> Tensor:
        """The gates' logarithms along the keys; heads may be folded into the batch."""
        folded = scores.shape[0] // len(self.gates)
        lined = self.logarithms.repeat_interleave(folded, 0) if folded > 1 else self.logarithms
        shape = [1] * scores.dim()
        shape[0], shape[dim] = scores.shape[0], scores.shape[dim]
        return lined.reshape(shape)


class _ExactRemoval(torch.autograd.Function):
    """softmax(scores + log gates) over the last dimension, whose gradient to log g_j stands for removing key j here.

    That multiplies the true gradient at (i, j) by 1 / (1 - A_ij), and is 0 where A_ij = 1: nothing else is left to look
    at, and the row has no value without it.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, logarithms: Tensor) -> Tensor:
        weights = torch.softmax(scores + logarithms, dim=-1)
        ctx.save_for_backward(weights)
        ctx.shape = logarithms.shape
        return weights

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (weights,) = ctx.saved_tensors
        true = weights * (gradients[0] - (gradients[0] * weights).sum(-1, keepdim=True))
        left = 1 - weights
        alone = left <= torch.finfo(weights.dtype).eps
        removal = torch.where(alone, 0.0, true / torch.where(alone, 1.0, left))
        return true, removal.sum_to_size(ctx.shape)
