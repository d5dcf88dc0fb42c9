"""A torch module as a function from `Inputs` to outputs, left as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from axioms.core.dtypes import keep_float64
from axioms.core.errors import AxiomsError, InputError, ModelFailed, said
from axioms.core.products import fast_products
from axioms.model.forms import check_weights, uncompiled, without_backward_hooks
from axioms.model.inputs import EMBEDDINGS, Inputs, input_embedding
from axioms.model.parts import Parts, holding

_LOCKS: WeakKeyDictionary[nn.Module, RLock] = WeakKeyDictionary()
_LOCKS_LOCK = Lock()


def lock_of(module: nn.Module) -> RLock:
    """Return the lock of a model; flags and hooks are the model's, so only a second thread on the same model waits."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(module, RLock())


class Model:
    """Calls the module with the features in their slot and returns batch x outputs."""

    is_guarded = True
    """Whether weights that a user's method changes are put back at once; False for who measures what it changes."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self, inputs: Inputs) -> Tensor:
        """Return the outputs for these inputs; of a language model, those at the last token that is attended to."""
        return self.run(inputs)[0]

    def run(self, inputs: Inputs) -> tuple[Tensor, Any]:
        """Return the outputs for these inputs, and what the module itself returned."""
        rows = torch.arange(len(inputs), device=inputs.features.device)
        place = -1 if inputs.position is None else inputs.position
        with keep_float64(inputs.features):
            with reading_at(self.module, inputs.features.shape[:2], rows, place) as gathered:
                returned = self._call(inputs)
            outputs = outputs_in(returned)
            if gathered and outputs.dim() != 3:  # the logits were not what comes out: the model goes on with them
                returned = self._call(inputs)
                outputs = outputs_in(returned)
                gathered.clear()
        if outputs.dim() == 1:
            outputs = outputs.unsqueeze(1)
        if outputs.dim() == 3:
            outputs = outputs[:, 0] if gathered else outputs[rows, place]
        if outputs.dim() != 2 or outputs.shape[0] != len(inputs):
            raise InputError(
                f"the model must give batch x outputs; got {tuple(outputs.shape)} for {len(inputs)} examples."
            )
        return outputs, returned

    def _call(self, inputs: Inputs) -> Any:
        try:
            return self._call_module(inputs)
        except AxiomsError:
            raise
        except Exception as error:
            given = f"{tuple(inputs.features.shape)} of {str(inputs.features.dtype).removeprefix('torch.')}"
            raise ModelFailed(
                f"the model raised {said(error)} when it was given features of shape {given}; see that its inputs "
                "have the shape and the dtype that it wants."
            ) from error

    def _call_module(self, inputs: Inputs) -> Any:
        if inputs.slot is None:
            return self.module(inputs.features, **inputs.fixed)
        if inputs.slot == EMBEDDINGS:
            with _replaced_output(input_embedding(self.module), inputs.features):
                return self.module(**inputs.fixed)
        return self.module(**inputs.fixed, **{inputs.slot: inputs.features})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Put the model into evaluation mode with frozen parameters, and every mode and flag back on the way out.

        Frozen, because an operand counts as a variable only if it depends on the input. Held by one thread at a time.
        """
        with lock_of(self.module), holding(self.module) as parts:
            check_weights(parts)
            with uncompiled(), without_backward_hooks(parts), fast_products(parts.parameters):
                yield from self._at_rest(parts)

    def _at_rest(self, parts: Parts) -> Iterator[None]:
        modes = [(module, module.training) for _, module in parts.named]
        wanted = [parameter for parameter in parts.parameters if parameter.requires_grad]
        try:
            if any(training for _, training in modes):
                self.module.eval()
            for parameter in wanted:
                parameter.requires_grad_(False)
            yield
        finally:
            for parameter in wanted:
                parameter.requires_grad_(True)
            for module, training in modes:
                if module.training != training:  # setting an attribute of a module is slow
                    module.training = training


def outputs_in(returned: Any) -> Tensor:
    """Return the outputs among what a model returned: its `logits`, or the first tensor of a tuple that has rows."""
    outputs = returned.get("logits") if isinstance(returned, Mapping) else getattr(returned, "logits", returned)
    if isinstance(outputs, tuple | list):  # a loss may come first
        outputs = next((part for part in outputs if isinstance(part, Tensor) and part.dim() > 0), None)
    if not isinstance(outputs, Tensor):
        names = f" of {', '.join(map(str, returned)) or 'nothing'}" if isinstance(returned, Mapping) else ""
        raise InputError(
            f"the model returned a {type(returned).__name__}{names}, and it cannot be known what is to be explained; "
            "let it return a tensor, a tuple that begins with one, or something with `logits`."
        )
    return outputs


@contextmanager
def reading_at(module: nn.Module, shape: torch.Size, rows: Tensor, place: Tensor | int) -> Iterator[list[nn.Module]]:
    """Give the head of a language model nothing but the hidden states at the place that is read of every example.

    The list names the head once it has been given less. What has no head of its own, or is called with another shape
    than batch x tokens (`shape`) x width, is left alone.
    """
    head = getattr(module, "get_output_embeddings", lambda: None)()
    gathered: list[nn.Module] = []

    def gather(head: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if not args or not isinstance(args[0], Tensor) or args[0].dim() != 3 or args[0].shape[:2] != shape:
            return None
        gathered.append(head)
        return (args[0][rows, place].unsqueeze(1),)

    if not isinstance(head, nn.Module):
        yield gathered
        return
    handle = head.register_forward_pre_hook(gather, prepend=True)  # before hooks of others, which keep what they see
    try:
        yield gathered
    finally:
        handle.remove()


@contextmanager
def _replaced_output(module: nn.Module, features: Tensor) -> Iterator[None]:
    """Make the module return `features` whatever it computes."""

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
