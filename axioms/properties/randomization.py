"""Relevance depends on what the model has learned: its likeness to the relevance of a model with random parameters.

The model parameter randomization test of Adebayo et al. 2018 ("Sanity Checks for Saliency Maps"), layer by layer:
`order: cascading` goes from the output down and leaves what was randomized before as it is, `bottom_up` goes from the
input up, `independent` randomizes one layer alone. A parameter becomes normal noise of its own mean and deviation.
Two variants of Hedstroem et al. 2024 ("Sanity Checks Revisited"): *smooth* (`smooth: 50`) compares relevance that is
the mean over that many noisy inputs, of deviation `noise` times the range of the input and the last without noise, as
in the authors' code, so that `smooth: 1` is the plain test; *efficient* (`complexity_rise`) compares how complex
the map is, by the entropy of its histogram, before and after all layers are random. With fewer features than bins that
entropy hardly moves, so that it says little of short texts. Equal to Quantus' MPRT, SmoothMPRT and EfficientMPRT on the
same random models and noise (tests/properties/test_peers_randomization.py); Quantus calls reset_parameters() instead.
Reported, and not for ranking methods: Binder et al. 2023 show that the test favours noisy maps.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Literal

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed, combine_seeds
from axioms.core.values import Values
from axioms.properties.helpers.correlations import cosine, left_out, spearman
from axioms.properties.helpers.layers import layers_of, randomize
from axioms.properties.helpers.neighbours import generators, without_padding
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

    from axioms.model.inputs import Inputs
    from axioms.properties.helpers.units import Flags

Order = Literal["cascading", "bottom_up", "independent"]


@axiom(
    "randomization",
    metrics={
        "spearman": Metric("Spearman's r with the relevance of the last model, all layers random unless independent"),
        "cosine": Metric("cosine with the same"),
        "spearman_by_layer": Metric(
            "Spearman's r after each layer, in the order in which they are randomized", "curve"
        ),
        "cosine_by_layer": Metric("cosine after each layer, in the order in which they are randomized", "curve"),
        "complexity_rise": Metric("(H(all layers random) - H) / H, H the entropy of the histogram of the relevance"),
    },
)
def randomization(
    side: SideView,
    *,
    order: Order = "cascading",
    smooth: Samples = 1,
    noise: float = 0.1,
    bins: Samples = 100,
    seed: Seed = 0,
) -> dict[str, Values]:
    """The likeness of the relevance before and after layers of the model are randomized, from the output down."""
    names = layers_of(side.model.module)
    if not names:
        raise InputError("randomization needs a model with parameters; this one has none.")
    if smooth < 1 or noise <= 0 or bins < 2:
        raise InputError("randomization needs at least one input to smooth over, noise above 0 and at least two bins.")
    units = side.units()
    near = [_noisy(side.inputs, noise, seed, sample) for sample in range(smooth - 1)]

    def relevance(module: nn.Module | None) -> Values:
        return units.sums(_mean_relevance(side, module, near))

    original = relevance(None)
    maps = [relevance(module) for module in _random_models(side.model.module, names, order, seed)]
    last = maps[-1] if order != "independent" else relevance(_all_random(side.model.module, names, seed))
    curves = {
        "spearman": np.stack([spearman(original, scores, units.counted) for scores in maps], axis=1),
        "cosine": np.stack([cosine(original, scores) for scores in maps], axis=1),
    }
    return {
        **{name: curve[:, -1] for name, curve in curves.items()},
        **{f"{name}_by_layer": curve for name, curve in curves.items()},
        "complexity_rise": _rise(*(complexity(scores, units.counted, bins) for scores in (original, last))),
    }


def _random_models(module: nn.Module, names: list[str], order: Order, seed: int) -> Iterator[nn.Module]:
    """Yield the model after each step; unless the order is independent it is one and the same module."""
    numbered = list(enumerate(names))
    copied = copy.deepcopy(module)
    for number, name in numbered[::-1] if order == "bottom_up" else numbered:
        if order == "independent":
            copied = copy.deepcopy(module)
        randomize(copied.get_submodule(name), combine_seeds(seed, number))
        yield copied


def _all_random(module: nn.Module, names: list[str], seed: int) -> nn.Module:
    return [*_random_models(module, names, "cascading", seed)][-1]


def _noisy(inputs: Inputs, noise: float, seed: int, sample: int) -> Inputs:
    """Return inputs with normal noise whose deviation is a share of the range of each example's features."""
    import torch

    rows = []
    for row, generator in zip(inputs.features, generators(inputs, seed, sample), strict=True):
        drawn = torch.randn(row.shape, generator=generator, dtype=torch.float64)
        rows.append(drawn * noise * (row.max() - row.min()).double().cpu())
    return inputs.with_features(inputs.features + without_padding(inputs, torch.stack(rows)))


def _mean_relevance(side: SideView, module: nn.Module | None, near: list[Inputs]) -> Values:
    """Return the mean relevance over noisy inputs and the input itself, of the model or of another."""
    from axioms.model.module import Model

    model = side.model if module is None else Model(module)
    maps = [side.rerun(model, inputs) for inputs in near]
    return np.mean([*maps, side.scores if module is None else side.rerun(model)], axis=0)


def complexity(scores: Values, counted: Flags, bins: int) -> Values:
    """Return the entropy of the histogram of each row, in equal bins from its smallest to its largest number."""
    from scipy.stats import entropy

    histograms = [np.histogram(row[places], bins=bins)[0] for row, places in zip(scores, counted, strict=True)]
    return np.array([entropy(histogram) for histogram in histograms])


def _rise(before: Values, after: Values) -> Values:
    """Return the relative rise; an example whose map is all in one bin before has none and is left out."""
    is_flat = before == 0
    return left_out((after - before) / np.where(is_flat, 1.0, before), is_flat)
