"""Removing features in order of relevance: MoRF, LeRF and their difference (Samek et al. 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from axioms.checks.views import SideView, as_numpy
from axioms.errors import InputError
from axioms.measure import Values
from axioms.registry import Metric, axiom

if TYPE_CHECKING:
    from torch import Tensor


@axiom(
    "perturbation",
    metrics={
        "delta": Metric("lerf - morf; higher is better"),
        "morf": Metric("mean output while the most relevant features go first; lower is better"),
        "lerf": Metric("mean output while the least relevant features go first; higher is better"),
        "aopc": Metric("mean drop of the output below f(x) while the most relevant features go first"),
    },
)
def perturbation(side: SideView, *, step: int = 1) -> dict[str, Values]:
    """Areas of the two curves, each the mean output over removing `step`, 2 `step`, ... up to all features.

    The paper calls these areas AOPC, but prints LeRF as better when high and MoRF as better when low, which is so for
    the area *under* the curve; `aopc` is the area over it.
    """
    import torch

    if step < 1:
        raise InputError(f"perturbation needs a step of at least 1, not {step}.")
    scores = torch.from_numpy(side.scores)
    most_first = scores.argsort(dim=1, descending=True, stable=True)
    least_first = scores.argsort(dim=1, stable=True)
    steps = len(range(step, scores.shape[1] + step, step))
    morf = curve(side, most_first, step, lambda done: side.progress(done, 2 * steps))
    lerf = curve(side, least_first, step, lambda done: side.progress(steps + done, 2 * steps))
    start = as_numpy(side.attribution().output)
    return {
        "delta": lerf.mean(axis=1) - morf.mean(axis=1),
        "morf": morf.mean(axis=1),
        "lerf": lerf.mean(axis=1),
        "aopc": start - morf.mean(axis=1),
    }


def curve(side: SideView, order: Tensor, step: int, progress: object = None) -> Values:
    """The target's output after removing the first `step`, 2 `step`, ... features of `order`: examples x steps."""
    import torch

    inputs, model = side.side.inputs, side.side.model
    order = order.to(inputs.features.device)
    batch_size, points = side.side.batch_size, []
    with torch.no_grad(), model.at_rest():
        for number, count in enumerate(range(step, order.shape[1] + step, step), start=1):
            removed = torch.zeros(order.shape, dtype=torch.bool, device=order.device)
            removed.scatter_(1, order[:, :count], True)
            outputs = []
            for start in range(0, len(inputs), batch_size):
                rows = inputs.rows(start, start + batch_size).without(removed[start : start + batch_size])
                outputs.append(side.target.rows(start, start + batch_size)(model(rows)))
            points.append(as_numpy(torch.cat(outputs)))
            if callable(progress):
                progress(number)
    return np.stack(points, axis=1)
