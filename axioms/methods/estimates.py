"""What a patch would take from the target, estimated from what a tap caught in one backward pass.

Every estimate has the shape of the value, or is 1 wide; its sum over the width is the estimate of a token. For a patch
of zeros it is what `axioms.attribute(..., at=)` returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotDefined

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.tap import Tap


def difference(tap: Tap, patch: Tensor | float) -> Tensor:
    """Return (a - p) df/da."""
    value, gradient = _caught(tap)
    return (value - patch) * gradient


def slope(tap: Tap, patch: Tensor | float) -> Tensor:
    """Return df/da, which knows nothing of the patch."""
    return _caught(tap)[1]


def recomputed_softmax(tap: Tap, patch: Tensor | float) -> Tensor:
    """Return (A(a) - A(p)) . df/dA for queries and keys, and (a - p) df/da elsewhere.

    A query changes its row of A; a key changes one score of each row, and each key is patched by itself. Scores are
    taken as linear in Q K', which a soft cap on them is not.
    """
    import torch

    value, _ = _caught(tap)
    softened = tap.softened
    if softened is None:
        return difference(tap, patch)
    if softened.gradient is None or softened.scale is None:
        raise NotDefined("the QK fix needs the gradient of attention weights, which no rule may stop.")
    weights, gradient, other = softened.weights.detach(), softened.gradient, softened.other.detach()
    if weights.shape != softened.product.shape:
        raise NotDefined("the QK fix needs a softmax over the keys alone; this one has a learned sink beside them.")
    scores, change = softened.scores.detach(), patch - value
    if tap.part == "queries":
        moved = (scores + softened.scale * (change @ other)).softmax(-1)
        return ((weights - moved) * gradient).sum(-1, keepdim=True)
    steps = softened.scale * (other @ change.transpose(-2, -1))
    effects = []
    for key in range(steps.shape[-1]):  # there is a closed form, which loses all digits where attention is saturated
        stepped = scores.clone()
        stepped[..., key] += steps[..., key]
        effects.append(((weights - stepped.softmax(-1)) * gradient).sum((-2, -1)))
    return torch.stack(effects, dim=-1).unsqueeze(-1)


def _caught(tap: Tap) -> tuple[Tensor, Tensor]:
    if tap.value is None or tap.gradient is None:
        raise NotDefined(f"the method brought no gradient to {tap.at!r}; only those that propagate through it do.")
    return tap.value.detach(), tap.gradient
