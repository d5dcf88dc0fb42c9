"""Leave-one-out where it matters: an estimate ranks the features, and exact leave-one-out corrects the largest.

The estimates by gates (`axioms/methods/gates.py`) are in leave-one-out's own unit, f(x) - f(x without j), so exact
and estimated scores stand in one list without rescaling. An estimate from LRP could rank too, but not be mixed.

*Invariance.* The estimate and leave-one-out are functions of f(g) and of nothing else, so the ranking and both kinds
of scores are the same for every implementation that computes the same f(g). Where two estimates are equal to the last
bit, the earlier feature comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.errors import InputError
from axioms.methods.gates import removal_grouped, removal_taylor
from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target


@method("loo_adaptive", passes=None)
def loo_adaptive(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    exact: int = 4,
    estimate: Literal["removal_taylor", "removal_grouped"] = "removal_taylor",
    rows: int = 1024,
) -> Tensor:
    """Exact leave-one-out for the `exact` features with the largest estimates; the estimate for all others.

    One pass for `removal_taylor` (or three for `removal_grouped`), and `exact` forward passes.
    """
    import torch

    if exact < 0 or rows < 1:
        raise InputError(f"loo_adaptive needs exact >= 0 and rows >= 1, not {exact} and {rows}.")
    first = removal_taylor if estimate == "removal_taylor" else removal_grouped
    scores: Tensor = first(model, inputs, target)
    batch, length = scores.shape
    chosen = scores.abs().argsort(dim=1, descending=True, stable=True)[:, : min(exact, length)]
    if chosen.numel() == 0:
        return scores
    example = torch.arange(batch, device=scores.device).repeat_interleave(chosen.shape[1])
    removed = torch.zeros(len(example), length, dtype=torch.bool, device=scores.device)
    removed.scatter_(1, chosen.reshape(-1, 1), True)
    with torch.no_grad():
        output = target(model(inputs))
        cut = torch.cat(
            [
                target.select(index)(model(inputs.select(index).without(which)))
                for index, which in zip(example.split(rows), removed.split(rows), strict=True)
            ]
        )
    return scores.scatter(1, chosen, (output[example] - cut).reshape(chosen.shape))
