"""Applying a rewrite to a model and its inputs, which makes the other side of a pair."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axioms.core.errors import RewriteError
from axioms.core.registry import REWRITES
from axioms.subjects.built import Moved

if TYPE_CHECKING:
    from torch import nn

    from axioms.model.inputs import Inputs

LARGEST_GAP = 1e-9
"""The largest difference between the outputs, in float64, relative to the largest output of an example."""


@dataclass(frozen=True)
class Rewritten:
    """A rewritten model, and its inputs with where the original's examples and features lie in them."""

    module: nn.Module
    moved: Moved


def apply_rewrite(name: str, options: Mapping[str, Any], module: nn.Module, inputs: Inputs) -> Rewritten:
    """Return the rewritten copy, leaving the original; raise `NotApplicable` where the pattern does not occur."""
    rewrite = REWRITES.get(name)
    if rewrite.of == "inputs":
        return Rewritten(module, rewrite.function(module, inputs, **options))
    if rewrite.of == "units":
        return Rewritten(*rewrite.function(copy.deepcopy(module), inputs, **options))
    from axioms.rewrites.patterns.observed import example_of

    with example_of(inputs):  # what no name gives away is seen in a forward pass
        return Rewritten(rewrite.function(copy.deepcopy(module), **options), Moved(inputs))


def checked_rewrite(
    name: str, options: Mapping[str, Any], module: nn.Module, inputs: Inputs, batch_size: int
) -> tuple[Rewritten, float]:
    """Return the rewritten copy and its forward gap in float64; raise `RewriteError` where the function changed."""
    import torch

    from axioms.core.values import as_numpy, relative_gap
    from axioms.model.module import Model
    from axioms.subjects.built import outputs_of

    numbers = [*module.parameters(), *module.buffers()]
    is_exact = all(tensor.dtype == torch.float64 for tensor in numbers if tensor.is_floating_point())
    plain = module if is_exact else copy.deepcopy(module).double()
    wide = inputs.with_features(inputs.features.double())
    rewritten = apply_rewrite(name, options, plain, wide)
    left = outputs_of(Model(plain), wide, batch_size)
    right = rewritten.moved.restore(outputs_of(Model(rewritten.module), rewritten.moved.inputs, batch_size))
    if not bool(torch.isfinite(left).all()):
        raise RewriteError(
            f"rewrite {name!r} was not tried: {type(module).__name__} itself gives NaN or infinity for these inputs in "
            "float64. See to the model or the inputs first; a mask in the model's dtype is worth a try."
        )
    gap = float(relative_gap(as_numpy(left), as_numpy(right)).max())
    if not gap <= LARGEST_GAP:
        raise RewriteError(
            f"rewrite {name!r} does not keep the function of {type(module).__name__}: the outputs differ by {gap:.1e} "
            "of the largest, in float64. This is an error in the rewrite, and says nothing about any method."
        )
    return rewritten, gap
