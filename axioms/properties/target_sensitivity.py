"""Another class, another map: where two outputs depend on the features differently, so does their relevance.

Sixt et al. 2020 ("When Explanations Lie") show that some rules give nearly the same map for every class; `random_logit`
measures how alike the maps are, this asks whether they differ at all. An example whose two outputs change alike when
features are left out is left out: there the maps may be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.entries import Metric
from axioms.core.errors import InputError, NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, relative_gap
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.model.targets import Target

NOTHING = 1e-9
"""The relative gap under which two maps are the same."""
SOMETHING = 1e-6
"""The relative gap of leave-one-out scores above which two outputs are not explained alike."""


@axiom(
    "target_sensitivity",
    metrics={
        "same": Metric("1 where the maps of two outputs are the same although the outputs' leave-one-out differs"),
        "relative_gap": Metric("max_i |R(f)_i - R(g)_i| / max_i max(|R(f)_i|, |R(g)_i|), g is the next output"),
    },
    expect={"same.max": {"le": 0}},
)
def target_sensitivity(side: SideView) -> dict[str, Values]:
    """Whether the relevance for the target's output and for the next one, after the last the first, is the same."""
    from axioms.model.targets import Target

    count = side.outputs.shape[1]
    if count < 2:
        raise InputError("target_sensitivity needs a model with at least two outputs.")
    outputs = [Target(side.target.index), Target((side.target.index + 1) % count)]
    left, right = (
        as_numpy(side.bench.rerun(side.model, side.inputs, target, side.batch_size).scores) for target in outputs
    )
    alike = side.bench.remember(("alike",), lambda: _alike(side, outputs))
    if alike.all():
        raise NotDefined("both outputs change alike when a feature is left out, so that their maps may be the same.")
    gap = relative_gap(left, right)
    return {"same": left_out((gap <= NOTHING).astype(np.float64), alike), "relative_gap": left_out(gap, alike)}


def _alike(side: SideView, outputs: list[Target]) -> Flags:
    """Tell in which examples leaving out any feature changes both outputs by the same."""
    import torch

    from axioms.model.probe import probe

    count, length = side.inputs.features.shape[:2]
    device = side.inputs.features.device
    example = torch.arange(count, device=device).repeat_interleave(length)
    removed = torch.eye(length, dtype=torch.bool, device=device).repeat(count, 1)
    with side.model.at_rest():
        cut = probe(side.model, side.inputs, outputs, example, removed)
    whole = [as_numpy(target(side.side.outputs)) for target in outputs]
    changes = [at[:, None] - as_numpy(values).reshape(count, length) for at, values in zip(whole, cut, strict=True)]
    return np.asarray(relative_gap(changes[0], changes[1]) <= SOMETHING)
