"""Leave-one-out where it matters: an estimate ranks the features, and exact leave-one-out corrects the largest.

The estimates by gates (`axioms/methods/gates.py`) are in leave-one-out's own unit, f(x) - f(x without j), so exact
and estimated scores stand in one list without rescaling. An estimate from LRP could rank too, but not be mixed.

*Invariance.* The estimate and leave-one-out are functions of f(g) and of nothing else, so the ranking and both kinds
of scores are the same for every implementation that computes the same f(g). Where two estimates are equal to the last
bit, the earlier feature comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.methods.gates import Order, best_order, removal_grouped, taylor
from axioms.methods.removal import left_out, units_of

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


@method("loo_adaptive", passes=None, settles=True)
def loo_adaptive(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    exact: int = 4,
    estimate: Literal["removal_taylor", "removal_grouped"] = "removal_taylor",
    order: Order | None = None,
    rows: int = 1024,
) -> Tensor:
    """Exact leave-one-out for the `exact` features with the largest estimates; the estimate for all others.

    One pass for `removal_taylor`, whose forward pass gives f(x) as well, and `exact` forward passes; or three passes
    for `removal_grouped` and one forward pass more, for f(x). `order` is the estimate's; by default `exact_block` where
    features are removed by the attention mask, else `first`.
    """
    import torch

    if exact < 0 or rows < 1:
        raise InputError(f"loo_adaptive needs exact >= 0 and rows >= 1, not {exact} and {rows}.")
    order = order or best_order(inputs)
    if estimate == "removal_taylor":
        scores, output = taylor(model, inputs, target, order)
    else:
        with torch.no_grad():
            outputs = model(inputs)
        target.settle(outputs)
        output = target(outputs)
        scores = removal_grouped(model, inputs, target, order=order)
    units = units_of(inputs)
    sums = torch.zeros_like(scores).scatter_add_(1, units.clamp(min=0), scores.masked_fill(units < 0, 0))
    ranked = sums.abs().argsort(dim=1, descending=True, stable=True)[:, :exact]
    example, place = (ranked <= units.amax(dim=1, keepdim=True)).nonzero().T
    unit = ranked[example, place]
    if len(unit) == 0:
        return scores
    corrected, known = torch.zeros_like(scores), torch.zeros_like(units, dtype=torch.bool)
    corrected[example, unit] = left_out(model, inputs, target, output, units, example, unit, rows=rows)
    known[example, unit] = True
    place = units.clamp(min=0)
    return torch.where((units >= 0) & known.gather(1, place), corrected.gather(1, place), scores)
