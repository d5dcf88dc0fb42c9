"""Methods that take features away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.methods.running import within_batch

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.prefix import Prefix
    from axioms.model.targets import Target


@method("loo", passes=None, settles=True)
def loo(model: Model, inputs: Inputs, target: Target, *, rows: int = 1024) -> Tensor:
    """Leave-one-out: f(x) - f(x without feature i), exactly, up to `rows` rows in a forward pass.

    What is left out and how is the subject's `remove`. A chunk is left out as a whole, and its tokens share its score
    equally. What is no candidate (padding, special tokens that stay) has score 0.
    """
    import torch

    from axioms.model.prefix import run_remembering

    if rows < 1:
        raise InputError(f"loo needs at least one row in a forward pass, not {rows}.")
    units = units_of(inputs)
    batch, length = units.shape
    number = torch.arange(length, device=units.device)
    if inputs.units() is None:  # all of them, which is known without looking at any number
        example, unit = torch.arange(batch, device=units.device).repeat_interleave(length), number.repeat(batch)
    else:
        example, unit = (number <= units.amax(dim=1, keepdim=True)).nonzero().T
    with torch.no_grad():
        outputs, prefix = run_remembering(model, inputs)
    target.settle(outputs)
    shares = left_out(model, inputs, target, target(outputs), units, example, unit, rows=rows, prefix=prefix)
    scores = shares.new_zeros(batch, length)
    scores[example, unit] = shares
    return scores.gather(1, units.clamp(min=0)).masked_fill(units < 0, 0)


def units_of(inputs: Inputs) -> Tensor:
    """Return the number of the unit that every feature belongs to, batch x features; -1 where it is no candidate."""
    import torch

    units = inputs.units()
    batch, length = inputs.features.shape[:2]
    return torch.arange(length, device=inputs.features.device).expand(batch, length) if units is None else units


def left_out(
    model: Model,
    inputs: Inputs,
    target: Target,
    output: Tensor,
    units: Tensor,
    example: Tensor,
    unit: Tensor,
    *,
    rows: int,
    prefix: Prefix | None = None,
) -> Tensor:
    """Return what leaving out unit `unit[k]` of example `example[k]` takes from the target's `output`, per feature."""
    from axioms.model.probe import probe

    removed = units[example] == unit.unsqueeze(1)
    (cut,) = probe(model, inputs, [target], example, removed, prefix=prefix, rows=rows, progress=within_batch())
    return (output[example] - cut) / removed.sum(dim=1)
