"""Whether the token on which attention rests gets as much relevance as its removal takes.

A language model may put most of its attention on one token, often the first, whose value is next to nothing: an
attention sink (Xiao et al. 2024). A method that follows attention may give that token what is not its own, or, where it
looks at small changes only, miss what removing the sink does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.entries import Metric
from axioms.core.errors import NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.observe import Attention
    from axioms.model.inputs import Inputs


@axiom(
    "sink_share",
    metrics={
        "relevance": Metric("|R_s| / sum_i |R_i|, with s the sink"),
        "loo": Metric("|LOO_s| / sum_i |LOO_i|"),
        "excess": Metric("relevance - loo: above 0 where the sink gets more than its removal takes"),
        "gap": Metric("|relevance - loo|"),
        "attention": Metric("sum_i A_is / sum_ij A_ij over all queries i, mean of heads and layers"),
        "attention_by_layer": Metric("the same of each layer", "curve"),
        "first": Metric("1 where the sink is the first candidate"),
    },
    expect={"gap.mean": {"le": 0.05}},
)
def sink_share(side: SideView, *, sink: Literal["most_attended", "first"] = "most_attended") -> dict[str, Values]:
    """The sink's share of all absolute relevance, beside its share of all absolute leave-one-out scores.

    The sink is the candidate (or chunk of candidates) that receives most attention, over all heads, layers and queries,
    or the `first` one. Queries that see one key only have no choice, and do not count. An example without any candidate
    has no sink, and is left out.
    """
    units = side.units()
    by_layer = side.bench.remember("attention received", lambda: attention_received(side))
    received = np.stack([units.sums(layer) for layer in np.moveaxis(by_layer, 1, 0)], axis=1)
    mean = np.where(units.counted, received.mean(axis=1), -1.0)
    place = mean.argmax(axis=1) if sink == "most_attended" else np.zeros(len(mean), dtype=np.int64)
    rows = np.arange(len(place))

    def share(scores: Values) -> Values:
        size = np.abs(units.sums(scores))
        return divided(size[rows, place], size.sum(axis=1))

    relevance, loo = share(side.scores), share(side.loo)
    found = {
        "relevance": relevance,
        "loo": loo,
        "excess": relevance - loo,
        "gap": np.abs(relevance - loo),
        "attention": mean[rows, place],
        "attention_by_layer": received[rows, :, place],
        "first": (place == 0).astype(np.float64),
    }
    empty = units.counts == 0
    return {name: left_out(values, np.broadcast_to(empty, values.T.shape).T) for name, values in found.items()}


def attention_received(side: SideView) -> Values:
    """Return each feature's share of the attention that a layer pays: examples x layers x features."""
    from axioms.engine.handlers.observe import observe

    inputs, model, size = side.inputs, side.model, side.batch_size
    rows: list[Values] = []
    with model.at_rest():
        for start in range(0, len(inputs), size):
            batch = inputs.rows(start, start + size)
            seen = [attention for attention in observe(model, batch).attentions if _is_over(attention, batch)]
            if not seen:
                raise NotDefined("sink_share needs attention over the features, and saw none in this model.")
            rows.append(np.stack([as_numpy(received(attention, batch)) for attention in seen], axis=1))
    return np.concatenate(rows)


def received(attention: Attention, inputs: Inputs) -> Tensor:
    """Return sum_i A_ij / sum_ij A_ij over the queries i that count, mean over the heads: batch x keys."""
    import torch

    counts = attention.allowed.sum(dim=-1) > 1
    if (there := inputs.attended) is not None:
        counts = counts & there[:, None, :]
    weights = torch.where(counts.unsqueeze(-1), attention.weights.double(), 0.0).sum(dim=-2)
    return (weights / weights.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)).mean(dim=1)


def _is_over(attention: Attention, inputs: Inputs) -> bool:
    return attention.weights.shape[-1] == inputs.features.shape[1]
