"""Relevance depends on what the model has learned: its likeness to the relevance of a model with random parameters.

The model parameter randomization test of Adebayo et al. 2018 ("Sanity Checks for Saliency Maps"), layer by layer from
the output: `order: cascading` leaves what was randomized before as it is, `independent` randomizes one layer alone. A
parameter becomes normal noise of its own mean and deviation. Reported over the layers by Spearman's r and cosine, and
not for ranking methods: Binder et al. 2023 show that the test favours noisy maps. Quantus' MPRT compares by its
choice of similarity; its smooth and efficient variants (Hedstroem et al. 2024) are not here.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Literal

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.correlations import cosine, spearman
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import nn


@axiom(
    "randomization",
    metrics={
        "spearman": Metric("Spearman's r with the relevance of the last model, all layers randomized where cascading"),
        "cosine": Metric("cosine with the same"),
        "spearman_by_layer": Metric("Spearman's r after each layer, the one next to the output first", "curve"),
        "cosine_by_layer": Metric("cosine after each layer, the one next to the output first", "curve"),
    },
)
def randomization(
    side: SideView, *, order: Literal["cascading", "independent"] = "cascading", seed: int = 0
) -> dict[str, Values]:
    """The likeness of the relevance before and after layers of the model are randomized, from the output down."""
    from axioms.model.module import Model

    names = layers_of(side.model.module)
    if not names:
        raise InputError("randomization needs a model with parameters; this one has none.")
    units = side.units()
    original = units.sums(side.scores)
    module = copy.deepcopy(side.model.module)
    ranks, angles = [], []
    for number, name in enumerate(names):
        if order == "independent":
            module = copy.deepcopy(side.model.module)
        randomize(module.get_submodule(name), seed * 1_000_003 + number)
        scores = units.sums(side.rerun(Model(module)))
        ranks.append(spearman(original, scores, units.counted))
        angles.append(cosine(original, scores))
    curves = {"spearman": np.stack(ranks, axis=1), "cosine": np.stack(angles, axis=1)}
    return {
        **{name: curve[:, -1] for name, curve in curves.items()},
        **{f"{name}_by_layer": curve for name, curve in curves.items()},
    }


def layers_of(module: nn.Module) -> list[str]:
    """Return the modules with parameters of their own, the last one first; embeddings of tokens are the input."""
    from torch import nn

    return [
        name
        for name, part in module.named_modules()
        if not isinstance(part, nn.Embedding) and any(True for _ in part.parameters(recurse=False))
    ][::-1]


def randomize(module: nn.Module, seed: int) -> None:
    """Replace a module's own parameters by normal noise of their mean and deviation."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters(recurse=False):
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter)
        parameter.data = parameter.data.mean() + parameter.data.std(correction=0) * noise
