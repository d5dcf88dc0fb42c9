"""A torch module as a function from `Inputs` to outputs, left as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from axioms.core.dtypes import keep_float64
from axioms.core.errors import InputError
from axioms.model.inputs import EMBEDDINGS, Inputs, input_embedding

_LOCKS: WeakKeyDictionary[nn.Module, RLock] = WeakKeyDictionary()
_LOCKS_LOCK = Lock()


def lock_of(module: nn.Module) -> RLock:
    """One lock per model, since flags and hooks are the model's: only a second thread on the same model waits."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(module, RLock())


class Model:
    """Calls the module with the features in their slot and returns batch x outputs."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self, inputs: Inputs) -> Tensor:
        """The outputs for these inputs; of a language model, those at the last token that is attended to."""
        with keep_float64(inputs.features):
            out = self._call(inputs)
        outputs = out if isinstance(out, Tensor) else getattr(out, "logits", None)
        if not isinstance(outputs, Tensor):
            raise InputError(
                f"the model returned {type(out).__name__}; a tensor or an object with `.logits` is needed."
            )
        if outputs.dim() == 1:
            outputs = outputs.unsqueeze(1)
        if outputs.dim() == 3:
            rows = torch.arange(len(inputs), device=outputs.device)
            outputs = outputs[:, -1] if inputs.position is None else outputs[rows, inputs.position]
        if outputs.dim() != 2 or outputs.shape[0] != len(inputs):
            raise InputError(
                f"the model must give batch x outputs; got {tuple(outputs.shape)} for {len(inputs)} examples."
            )
        return outputs

    def _call(self, inputs: Inputs) -> Any:
        if inputs.slot is None:
            return self.module(inputs.features, **inputs.fixed)
        if inputs.slot == EMBEDDINGS:
            with _replaced_output(input_embedding(self.module), inputs.features):
                return self.module(**inputs.fixed)
        return self.module(**inputs.fixed, **{inputs.slot: inputs.features})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Evaluation mode and frozen parameters inside; every mode and flag as before on the way out.

        Frozen, because an operand counts as a variable only if it depends on the input. Held by one thread at a time.
        """
        with lock_of(self.module):
            yield from self._at_rest()

    def _at_rest(self) -> Iterator[None]:
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

    called = []

    def replace_output(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        called.append(module)
        if output.shape != features.shape:
            raise InputError(
                f"the model embeds its tokens in another layout, {tuple(output.shape)} not {tuple(features.shape)}; "
                "pass the features as a tensor instead."
            )
        return features.clone()  # models may change what they embedded in place

    handle = module.register_forward_hook(replace_output)
    try:
        yield
    finally:
        handle.remove()
    if not called:  # relevance would be zero everywhere, in silence
        raise InputError("the model did not call its input embedding, so nothing can be attributed to its tokens.")
