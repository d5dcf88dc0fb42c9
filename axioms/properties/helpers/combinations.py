"""The relevance of weighted sums of a model's outputs, each computed by a network with one more linear layer."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.core.errors import InputError
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.views import SideView


def output_relevance(side: SideView, output: int) -> Values:
    """Return the relevance for one output of the model, whatever the target of the subject: examples x features."""
    from axioms.model.targets import choose

    count = side.outputs.shape[1]
    if not 0 <= output < count:
        raise InputError(f"the model has {count} outputs, numbered from 0; there is no output {output}.")
    target = choose(output, side.side.outputs)
    return as_numpy(side.bench.rerun(side.model, side.inputs, target, side.batch_size).scores)


def combined_relevance(side: SideView, weights: Sequence[float]) -> Values:
    """Return the relevance for sum_k weights[k] f_k of the first outputs f_k, as a network: examples x features."""
    import torch

    from axioms.model.module import Model
    from axioms.model.targets import choose
    from axioms.subjects.models.modules.wrapped import Combined

    outputs = side.side.outputs
    if outputs.shape[1] < len(weights):
        raise InputError(
            f"a weighted sum of {len(weights)} outputs needs a model that has them; this one has {outputs.shape[1]}. "
            "An expression has two if its `values` are a list: [a*b, a + b]."
        )
    row = torch.zeros(1, outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
    row[0, : len(weights)] = outputs.new_tensor(weights)
    model = Model(Combined(side.model.module, row))
    return as_numpy(side.bench.rerun(model, side.inputs, choose(0, outputs), side.batch_size).scores)
