"""The layers of a model: what they put out, and how they are made random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError, did_you_mean
from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model


def layers_of(module: nn.Module) -> list[str]:
    """Return the modules with parameters of their own, the last one first; embeddings of tokens are the input."""
    from torch import nn

    return [
        name
        for name, part in module.named_modules()
        if not isinstance(part, nn.Embedding) and any(True for _ in part.parameters(recurse=False))
    ][::-1]


def randomize(module: nn.Module, seed: int) -> None:
    """Replace a module's own parameters by normal noise of their mean and deviation."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters(recurse=False):
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter)
        parameter.data = parameter.data.mean() + parameter.data.std(correction=0) * noise


def representations(model: Model, inputs: Inputs, names: Sequence[str], batch_size: int) -> Values:
    """Return what the named modules put out, in the order in which they are called: examples x all their numbers.

    At padding it counts as zero, so that an example does not depend on the others.
    """
    chunks = [_row(model, inputs.rows(start, start + batch_size), names) for start in range(0, len(inputs), batch_size)]
    return np.concatenate(chunks)


def _row(model: Model, inputs: Inputs, names: Sequence[str]) -> Values:
    import torch

    known = dict(model.module.named_modules())
    for name in names:
        if name not in known:
            raise InputError(f"the model has no module {name!r}.{did_you_mean(name, known)}")
    outputs: list[Tensor] = []

    def keep(module: nn.Module, args: Any, output: Any) -> None:
        value = output[0] if isinstance(output, tuple) else output
        if (there := inputs.attended) is not None and value.shape[:2] == there.shape:
            value = value * there.reshape(*there.shape, *[1] * (value.dim() - 2))
        outputs.append(value.reshape(len(inputs), -1))

    with torch.no_grad(), model.at_rest():
        handles = [known[name].register_forward_hook(keep) for name in names]
        try:
            model(inputs)
        finally:
            for handle in handles:
                handle.remove()
    if not outputs:
        raise InputError("the forward pass called none of these modules, so that there is no representation.")
    return as_numpy(torch.cat(outputs, dim=1))
