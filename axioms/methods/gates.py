"""Leave-one-out by gates: f(1) - f(1 - e_j), estimated for all features at once from a few gradients.

The gates g (axioms/engine/handlers/gates.py) belong to the *removal*, not to the model's code: f(g) is one function,
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

*Options* were chosen on 64 Rotten Tomatoes sentences that MiniLM was not trained on (benchmarks/gate_study.py;
standard errors of the mean LOO r 0.02 to 0.03). At one pass: `first` 0.63, `exact_block` 0.73, AttnLRP 0.65, CP-LRP
0.66. Three groups, `first` and `exact_block`: 0.82 and 0.87 at level 0.25, 0.78 and 0.85 at 0.4, 0.75 and 0.83 at
0.5; two groups at 0.25: 0.74 and 0.78. *What failed*, at three passes with order `first`, against 0.82: contiguous
groups 0.76; one pass that ranks and two groups dealt out by rank 0.77, the same with the upper half or the four
largest alone 0.81. At two passes against 0.74: half of the features raised instead of lowered, so that mates cancel,
0.73. Scaling the estimates that `loo_adaptive` keeps by what its exact ones show: 0.87 instead of 0.89. *Where they are
not best*: on SmolLM2 (specs/full/remedies_smollm2.yaml) `first` gives 0.28 and, in three groups, 0.45; `exact_block`
0.10 and 0.33. Most attention rests on the first token there (0.89 in the median), where A / (1 - A) is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.methods.removal import units_of

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

Order = Literal["first", "exact_block"]
"""The derivative itself, or with the exact change of each attention in place of its derivative."""


@method("removal_taylor", settles=True)
def removal_taylor(model: Model, inputs: Inputs, target: Target, *, order: Order = "first") -> Tensor:
    """The derivative of the output with respect to each feature's removal gate, at the gates wide open.

    `first` is the Taylor expansion of f(1) - f(1 - e_j) to first order. `exact_block` takes, in each attention, the
    change by removing the key from it altogether, A_ij / (1 - A_ij) (v_j - o_i), instead of the derivative.
    """
    return taylor(model, inputs, target, order)[0]


@method("removal_grouped", passes=None)
def removal_grouped(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    groups: int = 3,
    level: float = 0.25,
    order: Order | None = None,
) -> Tensor:
    """The derivative with respect to each gate where its whole group is lowered; one pass per group.

    f(1) - f(1 - e_j) is the mean of d f / d g_j on the way from 1 to 1 - e_j; the derivative at its beginning misses
    the curvature. Feature j belongs to group j mod `groups`, counted over the features that are there, so that padding
    moves none. Lowering a group together to `level` reads all of its derivatives part of the way down in one pass, at
    the price of looking at each with its group mates half gone. `order` is by default `exact_block` where features are
    removed by the attention mask, else `first`.
    """
    import torch

    if groups < 1 or not 0 < level <= 1:
        raise InputError(f"removal_grouped needs at least one group and a level in (0, 1], not {groups} and {level}.")
    order = order or best_order(inputs)
    member = units_of(inputs) % groups
    there = units_of(inputs) >= 0
    scores = torch.zeros(member.shape, dtype=inputs.features.dtype, device=member.device)
    for group in range(groups):
        chosen = there & (member == group)
        gates = torch.where(chosen, level, 1.0).to(scores)
        of_group, _ = slopes(model, inputs, target, gates, exact_blocks=order == "exact_block")
        scores = torch.where(chosen, of_group, scores)
    return shared(inputs, scores)


def best_order(inputs: Inputs) -> Order:
    """Return `exact_block` where it is defined: it costs nothing more, and came closer to leave-one-out."""
    return "exact_block" if inputs.removal.kind == "attention_mask" else "first"


def taylor(model: Model, inputs: Inputs, target: Target, order: Order) -> tuple[Tensor, Tensor]:
    """Return the scores of `removal_taylor`, and the target's output, which its forward pass has computed."""
    import torch

    gates = torch.ones(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
    scores, output = slopes(model, inputs, settling(target), gates, exact_blocks=order == "exact_block")
    return shared(inputs, scores), output


def settling(target: Target) -> Callable[[Tensor], Tensor]:
    """Return the target as it reads outputs at open gates, which are those of the inputs as they are."""

    def read(outputs: Tensor) -> Tensor:
        target.settle(outputs)
        return target(outputs)

    return read


def taylor_both(model: Model, inputs: Inputs, target: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the scores of `removal_taylor` in both orders by one pass, and the target's output.

    Where features are not removed by the attention mask there is only the first order, which then stands for both.
    """
    import torch

    from axioms.engine.handlers.gates import gated

    gates = torch.ones(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
    if inputs.removal.kind != "attention_mask":
        scores, output = slopes(model, inputs, target, gates)
        return shared(inputs, scores), shared(inputs, scores), output
    gates, exact_gates = (torch.ones_like(gates).requires_grad_() for _ in range(2))
    output = target(gated(model, inputs, gates, exact_gates=exact_gates))
    first, exact = torch.autograd.grad(output.sum(), (gates, exact_gates))
    return shared(inputs, first), shared(inputs, exact), output.detach()


def slopes(
    model: Model, inputs: Inputs, target: Callable[[Tensor], Tensor], gates: Tensor, *, exact_blocks: bool = False
) -> tuple[Tensor, Tensor]:
    """Return d f / d g and f at these gates, by one forward and one backward pass for every draw of a removal."""
    import torch

    from axioms.engine.handlers.gates import gated

    gates = gates.detach().requires_grad_()
    draws = 1 if inputs.drawn is None else inputs.drawn.shape[1]
    slope, value = torch.zeros_like(gates), torch.zeros_like(gates[:, 0])
    for draw in range(draws):
        output = target(gated(model, inputs, gates, exact_blocks=exact_blocks, draw=draw))
        slope = slope + torch.autograd.grad(output.sum(), gates)[0] / draws
        value = value + output.detach() / draws
    return slope, value


def shared(inputs: Inputs, scores: Tensor) -> Tensor:
    """Share scores as leave-one-out does: a unit's features get equal parts of its sum, what is no candidate gets 0."""
    import torch

    units = inputs.units()
    if units is None:
        return scores
    place = units.clamp(min=0)
    scores = scores.masked_fill(units < 0, 0)
    there = (units >= 0).to(scores)
    sums, counts = (torch.zeros_like(scores).scatter_add_(1, place, terms) for terms in (scores, there))
    return (sums / counts.clamp(min=1)).gather(1, place).masked_fill(units < 0, 0)
