"""A torch module as a function from `Inputs` to outputs, left as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from axioms.errors import InputError
from axioms.subjects.inputs import EMBEDDINGS, Inputs


class Model:
    """Calls the module with the features in their slot and returns batch x outputs."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self, inputs: Inputs) -> Tensor:
        """The outputs for these inputs."""
        if inputs.slot is None:
            out = self.module(inputs.features, **inputs.fixed)
        elif inputs.slot == EMBEDDINGS:
            with _replaced_output(self.module.get_input_embeddings(), inputs.features):  # type: ignore[operator]
                out = self.module(**inputs.fixed)
        else:
            out = self.module(**inputs.fixed, **{inputs.slot: inputs.features})
        outputs = out if isinstance(out, Tensor) else getattr(out, "logits", None)
        if not isinstance(outputs, Tensor):
            raise InputError(
                f"the model returned {type(out).__name__}; a tensor or an object with `.logits` is needed."
            )
        if outputs.dim() == 1:
            outputs = outputs.unsqueeze(1)
        if outputs.dim() != 2 or outputs.shape[0] != len(inputs):
            raise InputError(
                f"the model must give batch x outputs; got {tuple(outputs.shape)} for {len(inputs)} examples."
            )
        return outputs

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Evaluation mode and frozen parameters inside; every mode and flag as before on the way out.

        Frozen, because an operand counts as a variable only if it depends on the input.
        """
        modes = [(module, module.training) for module in self.module.modules()]
        wanted = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        try:
            self.module.eval()
            for parameter in wanted:
                parameter.requires_grad_(False)
            yield
        finally:
            for parameter in wanted:
                parameter.requires_grad_(True)
            for module, training in modes:
                module.training = training


@contextmanager
def _replaced_output(module: nn.Module, features: Tensor) -> Iterator[None]:
    """The module returns `features` whatever it computes."""

    def replace_output(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        return features

    handle = module.register_forward_hook(replace_output)
    try:
        yield
    finally:
        handle.remove()
