"""How well a model does the agreement task, and how large it is: Table 3 of Arras et al. (2025), and its filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.truth import agreement_of
from axioms.properties.helpers.views import SideView
from axioms.subjects.agreement.benchmark import FILTERS

if TYPE_CHECKING:
    from torch import nn

SIZES = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden_size": "hidden_size",
    "vocabulary": "vocab_size",
}
"""Of Table 3, by the name that transformers has for it in every configuration."""


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
    once=True,
)
def task(side: SideView) -> dict[str, Values]:
    """How well the model does the task, how large it is (Table 3), and what fell to each filter (Appendix B)."""
    agreement = agreement_of(side)
    evaluated = len(agreement.aligned)
    counts = {
        "accuracy": agreement.accuracy,
        "asked": evaluated + agreement.counts.get("wrong", 0),
        "evaluated": evaluated,
        "read": agreement.counts.get("read", 0),
        **{name: agreement.counts.get(name, 0) for name in FILTERS},
        **sizes_of(side.model.module),
    }
    return {name: np.array(value, dtype=np.float64) for name, value in counts.items()}


def sizes_of(module: nn.Module) -> dict[str, float]:
    """Return how large a model is; 0 where its configuration does not say."""
    config: Any = getattr(module, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    sizes = {name: getattr(text, key, 0) for name, key in SIZES.items()}
    return {"parameters": sum(weights.numel() for weights in module.parameters()), **sizes}
