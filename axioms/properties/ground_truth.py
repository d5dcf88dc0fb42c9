"""Whether relevance points at the subject of the verb: Table 2 of Arras et al. (2025), and the models' Table 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import Metric, axiom
from axioms.core.values import Values
from axioms.properties import ground_truth_metrics as metrics
from axioms.properties.ground_truth_metrics import Flags
from axioms.properties.views import SideView
from axioms.subjects.agreement.benchmark import FILTERS, Agreement

if TYPE_CHECKING:
    from torch import nn

SCORES = {
    "pg": "whether one of the k highest scores is the subject's",
    "mrr": "one over the best rank of the subject's tokens",
    "rma": "the share of positive relevance that is the subject's",
    "pta": "the share of tokens that are positive if the subject's, and not positive else",
}
SIZES = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden_size": "hidden_size",
    "vocabulary": "vocab_size",
}
"""Of Table 3, by the name that transformers has for it in every configuration."""


@axiom("ground_truth", metrics={**SCORES, "mrr_over_chance": "mrr minus its expectation for scores that know nothing"})
def ground_truth(side: SideView, *, k: int = 2, special_tokens: bool = False) -> dict[str, Values]:
    """PG-k, MRR, RMA and PTA of the relevance with respect to the subject (Section 3.3).

    Over the tokens of the text; with `special_tokens`, those that the tokenizer adds and the mask compete as well.
    """
    candidates, truth = places(side, special_tokens)
    scores = side.scores
    found = _measured(scores, candidates, truth, k)
    return {**found, "mrr_over_chance": found["mrr"] - metrics.expected_reciprocal_rank(candidates, truth)}


@axiom(
    "chance",
    metrics={
        **{name: Metric(f"{about}: mean over the draws", "scalar") for name, about in SCORES.items()},
        **{f"{name}_sd": Metric("standard deviation over the draws", "scalar") for name in SCORES},
        **{f"{name}_gap": Metric("distance of that mean from its closed form", "scalar") for name in SCORES},
    },
    methodless=True,
)
def chance(
    side: SideView, *, k: int = 2, special_tokens: bool = False, draws: int = 10, seed: int = 0
) -> dict[str, Values]:
    """The same for relevance drawn uniformly from [-1, 1): the random baseline of Table 2, over `draws` draws."""
    if draws < 2:
        raise InputError(f"the random baseline needs at least two draws, not {draws}.")
    candidates, truth = places(side, special_tokens)
    generator = np.random.default_rng(seed)
    noise: Values = generator.uniform(-1, 1, (draws, *truth.shape))
    runs = [_measured(each, candidates, truth, k) for each in noise]
    expected = {
        "pg": metrics.expected_pointing_game(candidates, truth, k),
        "mrr": metrics.expected_reciprocal_rank(candidates, truth),
        "rma": metrics.expected_relevance_mass(candidates, truth),
        "pta": metrics.expected_per_token_accuracy(candidates, truth),
    }
    found: dict[str, Values] = {}
    for name in SCORES:
        means = np.array([run[name].mean() for run in runs])
        found[name], found[f"{name}_sd"] = means.mean(), means.std(ddof=1)
        found[f"{name}_gap"] = np.abs(means.mean() - expected[name].mean())
    return found


@axiom(
    "task",
    metrics={
        "accuracy": Metric("the share of sentences in which the model prefers the form that agrees", "scalar"),
        "asked": Metric("sentences that the model was asked about", "scalar"),
        "evaluated": Metric("sentences that it gets right, which alone are evaluated", "scalar"),
        "read": Metric("sentences before any filter", "scalar"),
        **{name: Metric(f"dropped: {about}", "scalar") for name, about in FILTERS.items()},
        "parameters": Metric("numbers in the model's weights, those that are shared counted once", "scalar"),
        **{name: Metric(f"the model's {name.replace('_', ' ')}", "scalar") for name in SIZES},
    },
    methodless=True,
)
def task(side: SideView) -> dict[str, Values]:
    """How well the model does the task, how large it is (Table 3), and what fell to each filter (Appendix B)."""
    agreement = agreement_of(side)
    evaluated = len(agreement.aligned)
    found = {
        "accuracy": agreement.accuracy,
        "asked": evaluated + agreement.counts.get("wrong", 0),
        "evaluated": evaluated,
        "read": agreement.counts.get("read", 0),
        **{name: agreement.counts.get(name, 0) for name in FILTERS},
        **sizes(side.side.model.module),
    }
    return {name: np.array(value, dtype=np.float64) for name, value in found.items()}


def sizes(module: nn.Module) -> dict[str, float]:
    """How large a model is; 0 where its configuration does not say."""
    config: Any = getattr(module, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    said = {name: getattr(text, key, 0) for name, key in SIZES.items()}
    return {"parameters": sum(weights.numel() for weights in module.parameters()), **said}


def agreement_of(side: SideView) -> Agreement:
    """The sentences behind a side."""
    if side.data is None or side.data.agreement is None:
        raise InputError("this axiom needs sentences of the agreement benchmark as data: `data: agreement-sentences`.")
    return side.data.agreement


def places(side: SideView, special_tokens: bool) -> tuple[Flags, Flags]:
    """Which features compete, and which of them are the subject's: examples x features."""
    aligned = agreement_of(side).aligned
    shape = (len(aligned), int(side.side.inputs.features.shape[1]))
    candidates, truth = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for row, one in enumerate(aligned):
        candidates[row, list(range(one.length) if special_tokens else one.words)] = True
        truth[row, list(one.truth)] = True
    return candidates, truth


def _measured(scores: Values, candidates: Flags, truth: Flags, k: int) -> dict[str, Values]:
    if k < 1:
        raise InputError(f"the pointing game needs a k of at least 1, not {k}.")
    return {
        "pg": metrics.pointing_game(scores, candidates, truth, k),
        "mrr": metrics.reciprocal_rank(scores, candidates, truth),
        "rma": metrics.relevance_mass(scores, candidates, truth),
        "pta": metrics.per_token_accuracy(scores, candidates, truth),
    }
