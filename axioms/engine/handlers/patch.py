"""Forward passes with open taps, without rules: values at places of the model, and outputs with others put there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import NotDefined
from axioms.engine import facts
from axioms.engine.handlers import tap
from axioms.engine.handlers.tap import Tap, listening, tapping
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Operation
from axioms.engine.parse import Call
from axioms.engine.where import Where, watching
from axioms.model.forms import without_recomputation
from axioms.model.inputs import Inputs
from axioms.model.module import Model


class Tapped(Interpreter):
    """Shows every operation to the open taps, and changes nothing but what they replace."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self.taps = tap.ACTIVE.get()

    def operate(self, operation: Operation, call: Call) -> Any:
        """Return the operation's value, or what a tap has put in its place."""
        value = call.run()
        for open_tap in self.taps:
            value = open_tap.see(operation, value, self.where.path)
        return value


def run_tapped(model: Model, inputs: Inputs) -> Tensor:
    """Return the outputs of a plain pass with open taps; its features must be variables."""
    with watching(model.module) as where, listening(model.module), without_recomputation(), Mode(Tapped(where)):
        return model(inputs)


def values_at(model: Model, inputs: Inputs, places: Sequence[str]) -> list[Tensor]:
    """Return what the model computes at each place, in a pass without gradients."""
    with torch.no_grad(), model.at_rest(), tapping(*map(Tap, places)) as taps:
        run_tapped(model, inputs.with_features(facts.vary(inputs.features)))
    missing = [open_tap.at for open_tap in taps if open_tap.value is None]
    if missing:
        raise NotDefined(f"the model has no {missing[0]!r}: no such call was seen in that layer.")
    return [open_tap.value for open_tap in taps if open_tap.value is not None]


def outputs_with(model: Model, inputs: Inputs, replaced: Mapping[str, Callable[[Tensor], Tensor]]) -> Tensor:
    """Return the outputs with the value at each place replaced by what its function makes of it, without gradients."""
    taps = [Tap(place, replace) for place, replace in replaced.items()]
    with torch.no_grad(), model.at_rest(), tapping(*taps):
        return run_tapped(model, inputs.with_features(facts.vary(inputs.features)))


def differentiate_at_taps(output: Tensor, features: Tensor) -> Tensor:
    """Return the gradient of a number with respect to the features, and leave with every open tap that at its place.

    Where no gradient reaches a place, because a rule stops it, it is zero.
    """
    taps = [open_tap for open_tap in tap.ACTIVE.get() if open_tap.caught is not None and open_tap.caught.requires_grad]
    softened = [open_tap.softened for open_tap in taps if open_tap.softened is not None]
    softened = [softmax for softmax in softened if softmax.weights.requires_grad]
    for softmax in softened:
        (softmax.scale,) = torch.autograd.grad(softmax.scores.sum(), softmax.product, retain_graph=True)
    places = [open_tap.caught for open_tap in taps if open_tap.caught is not None]
    weights = [softmax.weights for softmax in softened]
    if not places:
        return torch.autograd.grad(output, features)[0]
    gradients = list(torch.autograd.grad(output, [features, *places, *weights], materialize_grads=True))
    for open_tap, gradient in zip(taps, gradients[1 : 1 + len(taps)], strict=True):
        open_tap.slope = gradient
    for softmax, gradient in zip(softened, gradients[1 + len(taps) :], strict=True):
        softmax.gradient = gradient
    return gradients[0]
