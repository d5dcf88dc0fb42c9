"""Whether bypassing the softmax gains most where attention is flat, as the paper has it.

The paper says that bypassing helps in middle and late layers, "where several middle-to-late layers exhibit flatter
attention distributions" (Section 1), and blames flat attention over large logits for AttnLRP's error (Section 3.2). It
prints no measure of flatness; ours is the entropy of each query's attention over the entropy of spreading it evenly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.sweeps import KINDS, SweepKind
from axioms.core.values import Values, as_numpy
from axioms.properties.bypass_gain import bypass_gain
from axioms.properties.helpers.correlations import spearman
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.observe import Attention
    from axioms.model.inputs import Inputs


@axiom(
    "attention_flatness",
    metrics={
        "rank_correlation": Metric(
            "Spearman's, over the layers, of mean entropy and mean single-layer gain",
            "scalar",
            derive=lambda values: rank_correlation(values["entropy"], values["single_gain"]),
        ),
        "rank_correlation_by_example": Metric("the same of each example's own entropies and gains"),
        "entropy": Metric("of attention, 0 for one key to 1 for all keys alike, mean of heads, queries", "curve"),
        "single_gain": Metric("in r with leave-one-out of bypassing the softmax in layer k alone", "curve"),
    },
)
def attention_flatness(side: SideView, *, sweep: list[SweepKind] = list(KINDS)) -> dict[str, Values]:  # noqa: B006
    """The entropy of attention in each layer beside what bypassing its softmax gains."""
    layers = side.bench.sweep(sweep).layers
    entropy, gain = entropies(side, layers), bypass_gain(side, sweep=sweep)["single_gain"]
    if gain.shape[1] == 0:
        raise InputError("attention_flatness compares layers one by one: add 'single' to the sweep's `layers`.")
    return {
        "rank_correlation": rank_correlation(entropy, gain),
        "rank_correlation_by_example": spearman(entropy, gain),
        "entropy": entropy,
        "single_gain": gain,
    }


def rank_correlation(entropy: Values, gain: Values) -> Values:
    """Return Spearman's rank correlation, over the layers, of the mean entropy and the mean gain."""
    return np.asarray(spearman(entropy.mean(axis=0)[None], gain.mean(axis=0)[None])[0])


def entropies(side: SideView, layers: tuple[int, ...]) -> Values:
    """Return the mean of `normalized_entropy` over the attentions of each layer: examples x layers."""
    from axioms.engine.composite import layer_number
    from axioms.engine.handlers.observe import observe

    inputs, model, size = side.inputs, side.model, side.batch_size
    rows: list[Values] = []
    with model.at_rest():
        for start in range(0, len(inputs), size):
            batch = inputs.rows(start, start + size)
            attentions = observe(model, batch).attentions
            columns = []
            for layer in layers:
                inside = [normalized_entropy(seen, batch) for seen in attentions if layer_number(seen.path) == layer]
                if not inside:
                    raise InputError(f"attention_flatness saw no attention weights in layer {layer} of this model.")
                columns.append(np.mean([as_numpy(entropy) for entropy in inside], axis=0))
            rows.append(np.stack(columns, axis=1))
    return np.concatenate(rows)


def normalized_entropy(attention: Attention, inputs: Inputs) -> Tensor:
    """Return -sum_i A_i log A_i / log(n), its mean over heads and queries of each example; n keys may be seen.

    Queries that are padding, or that see one key only and so have no choice, do not count.
    """
    import torch

    weights = attention.weights.double()
    keys = attention.allowed.sum(dim=-1)
    entropy = -torch.special.xlogy(weights, weights).sum(dim=-1) / keys.clamp(min=2).log()
    counts = keys > 1
    mask = inputs.fixed.get("attention_mask")
    if mask is not None and mask.dim() == 2 and mask.shape[1] == weights.shape[-2]:
        counts = counts & (mask != 0)[:, None, :]
    total = torch.where(counts, entropy, 0.0).sum(dim=(1, 2))
    return total / counts.sum(dim=(1, 2))
