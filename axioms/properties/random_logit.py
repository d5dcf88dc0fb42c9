"""How alike are the maps of two classes: the similarity of R(f_c) and R(f_k) for another class k, drawn at random.

The random logit test of Sixt et al. 2020 ("When Explanations Lie"), who compare by SSIM, as Quantus' RandomLogit does;
features of a text are no image, so that cosine and Spearman's r stand here; by the latter, and for the same classes,
Quantus gives the same (tests/properties/test_peers_randomization.py). Reported, not judged: two classes may well
depend on the same features. `target_sensitivity` asks whether the maps differ at all.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.correlations import cosine, left_out, spearman, too_few
from axioms.properties.helpers.views import SideView


@axiom(
    "random_logit",
    metrics={
        "cosine": Metric("cosine of the maps of the target's output and of another one"),
        "spearman": Metric("Spearman's r of the two; an example with under three candidates is left out"),
    },
)
def random_logit(side: SideView, *, seed: Seed = 0) -> dict[str, Values]:
    """The similarity of the relevance for the target's output and for another, drawn for each example."""
    import torch

    from axioms.model.targets import Target

    count = side.outputs.shape[1]
    if count < 2:
        raise InputError("random_logit needs a model with at least two outputs.")
    first = side.inputs.first
    steps = [np.random.default_rng([seed, first + place]).integers(1, count) for place in range(len(side.inputs))]
    index = side.target.index
    other = Target((index + torch.tensor(steps, device=index.device)) % count)
    maps = [
        as_numpy(side.bench.rerun(side.model, side.inputs, target, side.batch_size).scores)
        for target in (Target(index), other)
    ]
    units = side.units()
    left, right = (units.sums(scores) for scores in maps)
    return {
        "cosine": cosine(left, right),
        "spearman": left_out(spearman(left, right, units.counted), too_few(units.counted)),
    }
