"""A target that is chosen from a forward pass which the method runs anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.model.targets import Target, choose

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model


class DeferredTarget(Target):
    """What a caller asks to be explained of one batch, chosen as soon as the batch's outputs are known.

    A caller who has a target and lacks only its value may ask for that: `wanted` is a `Target` then.

    A method that `settles` says by `target.settle(outputs)` that it has run the model on the inputs as they are. Where
    the target is needed before, or none of its passes is such a one, the model is run once for it.
    """

    _batch: tuple[Any, Model, Inputs]
    _settled: tuple[Target, Tensor] | None

    def __init__(self, wanted: Any, model: Model, inputs: Inputs) -> None:
        object.__setattr__(self, "_batch", (wanted, model, inputs))
        object.__setattr__(self, "_settled", None)

    def settle(self, outputs: Tensor) -> None:
        """Choose the target from the model's outputs for this batch, unless it is chosen already."""
        if self._settled is None:
            outputs = outputs.detach()
            wanted = self._batch[0]
            chosen = wanted if isinstance(wanted, Target) else choose(wanted, outputs)
            object.__setattr__(self, "_settled", (chosen, chosen(outputs)))

    def reconsider(self) -> None:
        """Forget what was chosen: the outputs were not the model's."""
        object.__setattr__(self, "_settled", None)

    @property
    def chosen(self) -> Target:
        """The target itself."""
        return self._known()[0]

    @property
    def output(self) -> Tensor:
        """batch: the number that is explained."""
        return self._known()[1]

    @property
    def index(self) -> Tensor:
        """The chosen output of every example."""
        return self.chosen.index

    def __call__(self, outputs: Tensor) -> Tensor:
        """Return the chosen output of every example: batch x outputs to batch."""
        return self.chosen(outputs)

    def _map(self, part: Any) -> Target:
        return self.chosen._map(part)

    def _known(self) -> tuple[Target, Tensor]:
        if self._settled is None:
            import torch

            _, model, inputs = self._batch
            with torch.no_grad():
                self.settle(model(inputs))
        assert self._settled is not None
        return self._settled
