"""Gates on what leave-one-out removes: f(g) with f(1) the output and f(1 - e_j) the output without feature j.

A feature is removed by the attention mask or by something put in its place. For the first, gate g_j multiplies key
j's share in every attention: A_ij(g) = g_j exp(Z_ij) / sum_k g_k exp(Z_ik), that is, log g_j is added to the scores,
wherever and however the softmax is computed. For the second, x_j(g) = r_j + g_j (x_j - r_j), where r_j is what
replaces it.

With o_i = sum_j A_ij(g) v_j, the derivative at g = 1 is d o_i / d g_j = A_ij (v_j - o_i); removing key j from that
one attention changes o_i by exactly A_ij / (1 - A_ij) (v_j - o_i).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import InputError, NotDefined
from axioms.engine import facts
from axioms.engine.calls import CALLS
from axioms.engine.gradients import scale_gradient
from axioms.engine.kinds import LOG_SOFTMAX, SOFTMAX
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Operation
from axioms.engine.parse import Call
from axioms.engine.where import Where
from axioms.model.forms import without_recomputation
from axioms.model.inputs import Inputs
from axioms.model.module import Model

BY_MASK = "attention_mask"
NOT_GRADUAL = ("delete",)
"""Removals with nothing between there and not there."""


def gated(
    model: Model,
    inputs: Inputs,
    gates: Tensor,
    *,
    exact_blocks: bool = False,
    exact_gates: Tensor | None = None,
    draw: int = 0,
) -> Tensor:
    """Return the outputs with the features at their gates (batch x features), differentiable in the gates.

    With `exact_blocks` the derivative of each attention is its change when that key is removed from it altogether; in
    `exact_gates`, which multiply the gates, it always is, so that one pass gives both. `draw` chooses among the
    replacements of a removal that draws several.
    """
    kind = inputs.removal.kind
    if kind in NOT_GRADUAL:
        raise InputError(f"removal by {kind} has no gates: a token cannot be taken out by degrees that way.")
    if kind != BY_MASK:
        if exact_blocks or exact_gates is not None:
            raise NotDefined("order 'exact_block' needs removal by the attention mask.")
        everything = torch.ones(inputs.features.shape[:2], dtype=torch.bool, device=inputs.features.device)
        removed = inputs.without(everything, draw).features
        width = (1,) * (inputs.features.dim() - gates.dim())
        return model(inputs.with_features(removed + gates.reshape(*gates.shape, *width) * (inputs.features - removed)))
    # The features are variables only so that Q K' is known as a product of variables; no gradient is asked of them.
    features = inputs.features.detach().requires_grad_()
    handler = KeyGates(gates, exact_blocks, exact_gates)
    with torch.enable_grad(), without_recomputation(), Mode(handler):
        outputs = model(inputs.with_features(features))
    if not handler.applied:
        raise NotDefined(
            "removal by attention mask needs attention over the features, and none was found in this model; "
            "choose another removal, such as `remove: zero`."
        )
    return outputs


class KeyGates(Interpreter):
    """Gates the keys of every attention over the features."""

    def __init__(self, gates: Tensor, exact_blocks: bool, exact_gates: Tensor | None = None) -> None:
        super().__init__(Where())
        self.gates = gates
        self.exact_blocks = exact_blocks
        self.applied = 0
        self.logarithms = _logarithms(gates)
        self.exact_logarithms = None if exact_gates is None else _logarithms(exact_gates)

    def operate(self, operation: Operation, call: Call) -> Any:
        """Return the value of an operation, with gates where it is a softmax or an exponential of scores."""
        if operation.kind == SOFTMAX or operation.name == "exp":
            return self._weigh(call)
        return call.run()

    def uncovered(self, call: Call) -> Any:
        """Return the value of a call, with gates where it is the logarithm of a softmax of scores."""
        return self._weigh(call) if call.name in CALLS and CALLS[call.name].kind == LOG_SOFTMAX else call.run()

    def _weigh(self, call: Call) -> Any:
        scores, dim = call.argument(0, "input"), -1 if call.name == "exp" else call.argument(1, "dim", -1)
        dim = dim[0] if isinstance(dim, tuple | list) else dim
        batch, tokens = self.gates.shape
        keys = (tokens, tokens + 1)  # some models add a learned sink after the last key, which has no gate
        fits = scores.dim() > 2 and scores.shape[dim] in keys and scores.shape[0] % batch == 0
        if not fits or not facts.of(scores).is_scores:
            return call.run()
        self.applied += 1
        logarithms = self._beside(self.logarithms, scores, dim)
        if self.exact_blocks:
            logarithms = _removing(scores, logarithms, dim)
        if self.exact_logarithms is not None:
            exact = self._beside(self.exact_logarithms, scores, dim)
            logarithms = logarithms + _removing(scores + logarithms, exact, dim)
        return call.run() * logarithms.exp() if call.name == "exp" else call.of(scores + logarithms)

    def _beside(self, logarithms: Tensor, scores: Tensor, dim: int) -> Tensor:
        """Return the gates' logarithms along the keys; heads may be folded into the batch."""
        folded = scores.shape[0] // len(self.gates)
        lined = logarithms.repeat_interleave(folded, 0) if folded > 1 else logarithms
        lined = torch.nn.functional.pad(lined, (0, scores.shape[dim] - lined.shape[1]))
        shape = [1] * scores.dim()
        shape[0], shape[dim] = scores.shape[0], scores.shape[dim]
        return lined.reshape(shape)


def _logarithms(gates: Tensor) -> Tensor:
    """Return their logarithms; not quite zero, where a gate is shut, because its logarithm must be a number."""
    return gates.clamp(min=torch.finfo(gates.dtype).tiny).log()


def _removing(scores: Tensor, logarithms: Tensor, dim: int) -> Tensor:
    """Return the gates' logarithms for each query and key, with gradients that stand for removing that key from here.

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
    """Return 1 - A, as the sum of the other weights where A is large: the difference would lose digits."""
    large = weights > 0.5  # one at most
    return torch.where(large, weights.masked_fill(large, 0).sum(dim, keepdim=True), 1 - weights)
