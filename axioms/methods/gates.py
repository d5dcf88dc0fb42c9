"""Leave-one-out by gates: f(1) - f(1 - e_j), estimated for all features at once from a few gradients.

The gates g (axioms/propagate/gates.py) belong to the *removal*, not to the model's code: f(g) is one function,
whatever way the model computes it.

*Invariance.* Two implementations that compute the same f(g) for every g, and not only at g = 1, have the same
gradient there by the chain rule. A rewrite of weights, norms, activations or the attention backend leaves every
softmax's scores as they were, up to the order of heads and to offsets that a softmax does not see, so it keeps f(g),
and with it `removal_taylor` and `removal_grouped`. Order `exact_block` uses A as well, which the scores and the gates
determine: it is the same for every implementation in which scores can be seen, also where A itself is never computed.
The counterexample: uniform attention written as a plain mean computes the same f(1) and takes no mask, so its f(g) is
another; leave-one-out by the attention mask tells those two apart as well.

*Conservation.* None, as leave-one-out has none; the unit is its own, f(x) - f(x without j). With key gates f(c g) =
f(g), since a softmax does not see a common factor, so by Euler's theorem the slopes at g = 1 even sum to zero.

*What failed* (mean LOO r on 48 to 64 Rotten Tomatoes sentences of the validation part, MiniLM after one epoch of its
training; standard errors 0.01 to 0.02; benchmarks/gate_study.py prints the table for the final weights). At three
passes, against 0.88 for three interleaved groups at 0.25: contiguous groups 0.83; a first pass at g = 1 that ranks,
and two groups dealt out by rank 0.82, of the upper half alone 0.85, of the four largest alone 0.83; half of the group
raised instead of lowered, so that mates cancel, 0.78 to 0.84; the mean of the slope at g = 1 and of two groups 0.85.
For `loo_adaptive`, scaling or halving the estimates that stay, by what the exact ones showed, lost 0.01 to 0.03 with
`removal_taylor`. *What helped*: order `exact_block` costs nothing more and gave +0.06 at one pass, 0.00 to +0.02 at
two and three, and +0.06 to `loo_adaptive` with four exact tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.errors import InputError
from axioms.methods.removal import units_of
from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target

Order = Literal["first", "exact_block"]
"""The derivative itself, or with the exact change of each attention in place of its derivative."""


@method("removal_taylor", passes=1)
def removal_taylor(model: Model, inputs: Inputs, target: Target, *, order: Order = "first") -> Tensor:
    """The derivative of the output with respect to each feature's removal gate, at the gates wide open.

    `first` is the Taylor expansion of f(1) - f(1 - e_j) to first order. `exact_block` takes, in each attention, the
    change by removing the key from it altogether, A_ij / (1 - A_ij) (v_j - o_i), instead of the derivative.
    """
    import torch

    gates = torch.ones(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
    return shared(inputs, slopes(model, inputs, target, gates, exact_blocks=order == "exact_block"))


@method("removal_grouped", passes=None)
def removal_grouped(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    groups: int = 3,
    level: float = 0.25,
    order: Order = "first",
) -> Tensor:
    """The derivative with respect to each gate where its whole group is lowered; one pass per group.

    f(1) - f(1 - e_j) is the mean of d f / d g_j on the way from 1 to 1 - e_j; the derivative at its beginning misses
    the curvature. Feature j belongs to group j mod `groups`, counted over the features that are there, so that padding
    moves none. Lowering a group together to `level` reads all of its derivatives part of the way down in one pass, at
    the price of looking at each with its group mates half gone.
    """
    import torch

    if groups < 1 or not 0 < level <= 1:
        raise InputError(f"removal_grouped needs at least one group and a level in (0, 1], not {groups} and {level}.")
    member = units_of(inputs) % groups
    there = units_of(inputs) >= 0
    scores = torch.zeros(member.shape, dtype=inputs.features.dtype, device=member.device)
    for group in range(groups):
        chosen = there & (member == group)
        gates = torch.where(chosen, level, 1.0).to(scores)
        found = slopes(model, inputs, target, gates, exact_blocks=order == "exact_block")
        scores = torch.where(chosen, found, scores)
    return shared(inputs, scores)


def slopes(model: Model, inputs: Inputs, target: Target, gates: Tensor, *, exact_blocks: bool = False) -> Tensor:
    """d f / d g at these gates: one forward and one backward pass, or one for each draw of a removal that draws."""
    import torch

    from axioms.propagate.gates import gated

    gates = gates.detach().requires_grad_()
    draws = 1 if inputs.drawn is None else inputs.drawn.shape[1]
    found = torch.zeros_like(gates)
    for draw in range(draws):
        output = target(gated(model, inputs, gates, exact_blocks=exact_blocks, draw=draw)).sum()
        found = found + torch.autograd.grad(output, gates)[0] / draws
    return found


def shared(inputs: Inputs, scores: Tensor) -> Tensor:
    """As leave-one-out shares them: a unit's features get equal parts of its sum; what is no candidate gets 0."""
    import torch

    units = inputs.units()
    if units is None:
        return scores
    place = units.clamp(min=0)
    scores = scores.masked_fill(units < 0, 0)
    sums, counts = (torch.zeros_like(scores).scatter_add_(1, place, each) for each in (scores, (units >= 0).to(scores)))
    return (sums / counts.clamp(min=1)).gather(1, place).masked_fill(units < 0, 0)
