"""Methods that read the attention weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.errors import NotDefined
from axioms.core.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.observe import Observation
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


@method("attention_rollout", passes=1 / 3, settles=True)
def attention_rollout(
    model: Model, inputs: Inputs, target: Target, *, read: Literal["auto", "first", "last"] = "auto"
) -> Tensor:
    """Attention rollout (Abnar & Zuidema 2020): A + I, rows summing to one, multiplied over the layers.

    A is the mean over the heads. `read` says whose row is taken: the `first` token's (CLS, as in the paper's figures),
    the `last` that is attended to, or `auto`: the last for language models and wherever attention is causal, else the
    first. The same for every target; always positive.
    """
    import torch

    from axioms.engine.handlers.observe import observe

    seen = observe(model, inputs)
    target.settle(seen.output)
    length = inputs.features.shape[1]
    means = [attention.weights.mean(1) for attention in seen.attentions]
    if not means:
        raise NotDefined("attention_rollout needs attention weights, and no softmax of this model gave any.")
    if any(mean.shape[-1] != length for mean in means):
        keys = ", ".join(sorted({str(mean.shape[-1]) for mean in means}))
        raise NotDefined(f"attention_rollout needs one position per feature ({length}); the model attends over {keys}.")
    identity = torch.eye(length, dtype=means[0].dtype, device=means[0].device)
    rollout = identity[_read_position(read, inputs, seen, means)].unsqueeze(1)
    real = real_pairs(inputs)
    for mean in reversed(means):  # from the top, so that one row is carried and not a matrix
        mixed = torch.where(real, mean, 0) + identity
        rollout = rollout @ (mixed / mixed.sum(-1, keepdim=True))
    return rollout.squeeze(1)


def real_pairs(inputs: Inputs) -> Tensor:
    """Return where query and key are both no padding: what a padded query attends to means nothing, and may be NaN."""
    import torch

    mask = inputs.fixed.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return torch.ones(1, 1, 1, dtype=torch.bool, device=inputs.features.device)
    real = mask != 0
    return real.unsqueeze(2) & real.unsqueeze(1)


def _read_position(read: str, inputs: Inputs, seen: Observation, means: list[Tensor]) -> Tensor:
    import torch

    batch, length = inputs.features.shape[:2]
    device = inputs.features.device
    if read == "auto":
        causal = all(bool((mean.triu(1) == 0).all()) for mean in means)
        read = "last" if seen.per_position or causal else "first"
    if read == "first":
        return torch.zeros(batch, dtype=torch.long, device=device)
    return torch.full((batch,), length - 1, device=device) if inputs.position is None else inputs.position
