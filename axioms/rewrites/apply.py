"""A rewrite on a model and its inputs: the other side of a pair, and how its features lie in the first."""

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
"""Between the outputs, in float64, relative to the largest output of an example."""


@dataclass(frozen=True)
class Rewritten:
    """What a rewrite made of a model and its inputs."""

    module: nn.Module
    moved: Moved


def apply_rewrite(name: str, options: Mapping[str, Any], module: nn.Module, inputs: Inputs) -> Rewritten:
    """The rewritten copy; `NotApplicable` where the pattern does not occur. The original stays as it is."""
    rewrite = REWRITES.get(name)
    if rewrite.of == "inputs":
        return Rewritten(module, rewrite.function(module, inputs, **options))
    return Rewritten(rewrite.function(copy.deepcopy(module), **options), Moved(inputs))


def checked_rewrite(
    name: str, options: Mapping[str, Any], module: nn.Module, inputs: Inputs, batch_size: int
) -> tuple[Rewritten, float]:
    """The rewritten copy and its forward gap, measured in float64; `RewriteError` where the function changed."""
    import torch

    from axioms.core.values import as_numpy, relative_gap
    from axioms.model.module import Model
    from axioms.subjects.built import outputs_of

    numbers = [*module.parameters(), *module.buffers()]
    exact = all(each.dtype == torch.float64 for each in numbers if each.is_floating_point())
    plain = module if exact else copy.deepcopy(module).double()
    wide = inputs.with_features(inputs.features.double())
    rewritten = apply_rewrite(name, options, plain, wide)
    left = outputs_of(Model(plain), wide, batch_size)
    right = rewritten.moved.back(outputs_of(Model(rewritten.module), rewritten.moved.inputs, batch_size))
    gap = float(relative_gap(as_numpy(left), as_numpy(right)).max())
    if not gap <= LARGEST_GAP:
        raise RewriteError(
            f"rewrite {name!r} does not keep the function of {type(module).__name__}: the outputs differ by {gap:.1e} "
            "of the largest, in float64. This is an error in the rewrite, and says nothing about any method."
        )
    return rewritten, gap
