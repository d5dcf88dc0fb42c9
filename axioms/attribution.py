"""One call for every method: `attribute(model, inputs, target, method)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from axioms.errors import InputError
from axioms.registry import METHODS, Method
from axioms.subjects.inputs import Inputs, read_inputs
from axioms.subjects.targets import Target, choose

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.subjects.model import Model

Progress = Callable[[int, int], None]
"""Called with the number of examples done and the number of all."""


class Decomposition(NamedTuple):
    """What a method returns if its scores decompose something other than the output itself."""

    scores: Tensor
    total: Tensor


@dataclass(frozen=True)
class Attribution:
    """Relevance of every feature of a batch."""

    scores: Tensor
    """batch x features"""
    output: Tensor
    """batch: the number that was explained"""
    total: Tensor
    """batch: what the scores of a conserving method sum to, the output unless the method has a baseline"""
    method: str


def attribute(
    model: torch.nn.Module,
    inputs: Tensor | Mapping[str, Any],
    target: str | int | Tensor = "predicted",
    method: str = "attnlrp",
    *,
    batch_size: int | None = None,
    **options: Any,
) -> Attribution:
    """The relevance of each feature for the target output.

    `inputs` is a tensor (batch x features) or a mapping for the model's forward pass; `target` is `predicted`, a class
    number, or a tensor with one per example; `options` are the method's own.
    """
    import torch

    from axioms.subjects.model import Model

    entry = METHODS.get(method)
    wrapped = Model(model)
    read = read_inputs(model, inputs)
    with torch.no_grad(), wrapped.at_rest():
        chosen = choose(target, wrapped(read))
    return run_method(entry, wrapped, read, chosen, batch_size=batch_size or len(read), options=options)


def run_method(
    entry: Method,
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    batch_size: int,
    options: Mapping[str, Any],
    progress: Progress | None = None,
) -> Attribution:
    """Run a method batch by batch, in evaluation mode with frozen parameters, and put the batches together."""
    import torch

    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    with torch.enable_grad(), model.at_rest():
        for start in range(0, len(inputs), batch_size):
            rows, goal = inputs.rows(start, start + batch_size), target.rows(start, start + batch_size)
            with torch.no_grad():
                output = goal(model(rows))
            returned = entry.function(model, rows, goal, **options)
            scores, total = returned if isinstance(returned, Decomposition) else (returned, output)
            parts.append((_per_feature(entry.name, scores, rows).detach(), output, total.detach()))
            if progress is not None:
                progress(min(start + batch_size, len(inputs)), len(inputs))
    scores, output, total = (torch.cat(columns) for columns in zip(*parts, strict=True))
    return Attribution(scores, output, total, entry.name)


def _per_feature(name: str, scores: Any, inputs: Inputs) -> Tensor:
    """Scores as batch x features: summed over the width of an embedding."""
    import torch

    if not isinstance(scores, torch.Tensor):
        raise InputError(f"method {name!r} must return a tensor of scores, not {type(scores).__name__}.")
    wanted = inputs.features.shape
    if scores.shape not in (wanted, wanted[:2]):
        raise InputError(
            f"method {name!r} returned scores of shape {tuple(scores.shape)}; {tuple(wanted[:2])} is needed."
        )
    return scores.flatten(2).sum(2) if scores.dim() > 2 else scores
