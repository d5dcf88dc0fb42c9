"""What `ground_truth` measures of relevance that knows nothing: the random baseline of Arras et al. (2025), Table 2."""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values
from axioms.properties.helpers import pointing
from axioms.properties.helpers.truth import SCORES, places, score
from axioms.properties.helpers.views import SideView


@axiom(
    "chance",
    metrics={
        **{name: Metric(f"{about}: mean over the draws", "scalar") for name, about in SCORES.items()},
        **{f"{name}_sd": Metric("standard deviation over the draws", "scalar") for name in SCORES},
        **{f"{name}_gap": Metric("distance of that mean from its closed form", "scalar") for name in SCORES},
    },
    methodless=True,
    once=True,
)
def chance(
    side: SideView, *, k: int = 2, special_tokens: bool = False, draws: Samples = 10, seed: Seed = 0
) -> dict[str, Values]:
    """The same for relevance drawn uniformly from [-1, 1): the random baseline of Table 2, over `draws` draws."""
    if draws < 2:
        raise InputError(f"the random baseline needs at least two draws, not {draws}.")
    candidates, truth = places(side, special_tokens)
    generator = np.random.default_rng(seed)
    noise: Values = generator.uniform(-1, 1, (draws, *truth.shape))
    runs = [score(draw, candidates, truth, k) for draw in noise]
    expected = {
        "pg": pointing.expected_pointing_game(candidates, truth, k),
        "mrr": pointing.expected_reciprocal_rank(candidates, truth),
        "rma": pointing.expected_relevance_mass(candidates, truth),
        "pta": pointing.expected_per_token_accuracy(candidates, truth),
    }
    measured: dict[str, Values] = {}
    for name in SCORES:
        means = np.array([run[name].mean() for run in runs])
        measured[name], measured[f"{name}_sd"] = means.mean(), means.std(ddof=1)
        measured[f"{name}_gap"] = np.abs(means.mean() - expected[name].mean())
    return measured
