"""Leave-one-out by gates: f(1) - f(1 - e_j), estimated for all features at once from a few gradients.

The gates g (axioms/propagate/gates.py) belong to the *removal*, not to the model's code: f(g) is one function,
whatever way the model computes it. A gradient of f at any g is therefore the same for two implementations by the
chain rule, as long as both compute the same f(g) for every g and not only at g = 1. Function-preserving rewrites of a
model's weights, norms, activations or attention backend leave every Q K' and every softmax's value as they were (up
to the order of heads and to offsets that a softmax does not see), so they keep f(g) and with it `removal_taylor`
(order `first`) and `removal_grouped`. Order `exact_block` divides by 1 - A_ij, so it is defined only where A is
computed as such.

The unit is leave-one-out's own: an estimate of f(x) - f(x without j). Nothing here conserves, as LOO does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.errors import InputError
from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target


@method("removal_taylor", passes=1)
def removal_taylor(
    model: Model, inputs: Inputs, target: Target, *, order: Literal["first", "exact_block"] = "first"
) -> Tensor:
    """The derivative of the output with respect to each feature's removal gate, at the gates wide open.

    `first` is the Taylor expansion of f(1) - f(1 - e_j) to first order. `exact_block` takes, in each attention, the
    change by removing the key from it altogether, A_ij / (1 - A_ij) (v_j - o_i), instead of the derivative.
    """
    import torch

    gates = torch.ones(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
    return slopes(model, inputs, target, gates, exact_blocks=order == "exact_block")


@method("removal_grouped", passes=None)
def removal_grouped(model: Model, inputs: Inputs, target: Target, *, groups: int = 3, level: float = 0.25) -> Tensor:
    """The derivative with respect to each gate where its whole group is lowered; one pass per group.

    f(1) - f(1 - e_j) is the mean of d f / d g_j on the way from 1 to 1 - e_j; the derivative at its beginning misses
    the curvature. Feature j belongs to group j mod `groups`, counted over the features that are there. Lowering a group
    together to `level` reads all of its derivatives part of the way down in one pass, at the price of looking at each
    with its group mates half gone.
    """
    import torch

    if groups < 1 or not 0 < level <= 1:
        raise InputError(f"removal_grouped needs at least one group and a level in (0, 1], not {groups} and {level}.")
    member = interleaved(inputs, groups)
    scores = torch.zeros(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
    for group in range(groups):
        chosen = member == group
        gates = torch.where(chosen, level, 1.0).to(scores)
        scores = torch.where(chosen, slopes(model, inputs, target, gates), scores)
    return scores


def slopes(model: Model, inputs: Inputs, target: Target, gates: Tensor, *, exact_blocks: bool = False) -> Tensor:
    """d f / d g at these gates: one forward and one backward pass."""
    import torch

    from axioms.propagate.gates import gated

    gates = gates.detach().requires_grad_()
    output = target(gated(model, inputs, gates, exact_blocks=exact_blocks)).sum()
    (found,) = torch.autograd.grad(output, gates)
    return found


def interleaved(inputs: Inputs, groups: int) -> Tensor:
    """The group of each feature: its number among those that are there, modulo the number of groups.

    Padding has no number of its own, so that it changes no group on either side.
    """
    import torch

    shape, device = inputs.features.shape[:2], inputs.features.device
    mask = inputs.fixed.get("attention_mask")
    there = torch.ones(shape, device=device) if mask is None or mask.shape != shape else mask != 0
    return (there.long().cumsum(dim=1) - 1).clamp(min=0) % groups
