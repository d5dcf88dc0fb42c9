"""A method that knows nothing, for comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import method
from axioms.core.seeds import Seed, combine_seeds

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


@method("random", passes=0)
def random(model: Model, inputs: Inputs, target: Target, *, seed: Seed = 0) -> Tensor:
    """Standard normal noise; each example's depends on the seed and its place in the data alone.

    Drawn on the CPU whatever the device, so that the same seed gives the same numbers everywhere.
    """
    import torch

    batch, length = inputs.features.shape[:2]
    rows = []
    for example in range(inputs.first, inputs.first + batch):
        generator = torch.Generator().manual_seed(combine_seeds(seed, example))
        rows.append(torch.randn(length, generator=generator, dtype=torch.float64))
    return torch.stack(rows).to(inputs.features)
