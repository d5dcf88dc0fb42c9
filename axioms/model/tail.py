"""The end of a model, computed for the token that is read: nobody looks at what its last linear maps give for others.

In the last layer of a classifier that reads its first token, or of a language model that reads its last, queries, the
output projection and the MLP of all other tokens come to nothing. Which linear maps these are is seen in a backward
pass over a few tokens: those whose gradient is zero but at that token. In their outputs all other tokens become NaN,
which reaches the model's outputs if anything does look at them; then the model is run as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.module import Model

TOKENS = 4
"""Tokens of the text on which a model is looked at."""
LINEAR = ("Linear", "Conv1D")
"""Classes of modules that map every token by itself; the second is the one of transformers for GPT-2."""

Place = Literal["first", "read"]
_TAILS: WeakKeyDictionary[nn.Module, dict[str, Place]] = WeakKeyDictionary()


def with_short_tail(model: Model, inputs: Inputs) -> Model:
    """Return a model with the same outputs that computes its last linear maps where they are read, if it has such."""
    if inputs.slot != EMBEDDINGS or inputs.features.dim() != 3 or inputs.features.is_meta:
        return model
    if model.module not in _TAILS:
        _TAILS[model.module] = find_tail(model, inputs)
    return TailModel(model.module) if _TAILS[model.module] else model


class TailModel(Model):
    """A model whose last linear maps are computed for one token of every text. For passes without gradients."""

    def run(self, inputs: Inputs) -> tuple[Tensor, Any]:
        """Return the outputs for these inputs, and what the module itself returned."""
        tail = _TAILS.get(self.module)
        if not tail or inputs.features.shape[1] < 2:
            return super().run(inputs)
        try:
            with ExitStack() as stack:
                for path, place in tail.items():
                    stack.enter_context(_only_at(self.module.get_submodule(path), _index(inputs, place), inputs))
                outputs, returned = super().run(inputs)
        except Exception:  # something did look, and could do nothing with NaN; else the next line raises it again
            outputs, returned = super().run(inputs)
            _TAILS[self.module] = {}
        if bool(outputs.isnan().any()):
            _TAILS[self.module] = {}
            return super().run(inputs)
        return outputs, returned


def find_tail(model: Model, inputs: Inputs) -> dict[str, Place]:
    """Return the linear maps whose outputs matter at one token alone, by their paths, and which token that is."""
    text = _short_text(inputs)
    if text is None:
        return {}
    calls: dict[str, list[Tensor]] = {}
    with ExitStack() as stack, torch.enable_grad():
        for path, module in model.module.named_modules():
            if type(module).__name__ in LINEAR:
                stack.enter_context(_noting(module, calls.setdefault(path, [])))
        features = text.features.detach().clone().requires_grad_()
        outputs, _ = model.run(text.with_features(features))
        once = {path: call[0] for path, call in calls.items() if len(call) == 1 and call[0].shape[:2] == (1, TOKENS)}
        once = {path: value for path, value in once.items() if value.requires_grad}
        if not once or not outputs.requires_grad:
            return {}
        weights = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(0)).to(outputs)
        gradients = torch.autograd.grad((outputs * weights).sum(), list(once.values()), allow_unused=True)
    tail: dict[str, Place] = {}
    for path, gradient in zip(once, gradients, strict=True):
        matters = [] if gradient is None else gradient[0].abs().sum(-1).nonzero().flatten().tolist()
        if matters in ([0], [TOKENS - 1]):
            tail[path] = "first" if matters == [0] else "read"
    return tail


def _short_text(inputs: Inputs) -> Inputs | None:
    """Return the first few tokens of the first text, all attended to, read at the last; None where there are fewer."""
    if inputs.features.shape[1] < TOKENS:
        return None
    text = inputs.rows(0, 1).up_to(TOKENS)
    mask = text.fixed.get("attention_mask")
    fixed = text.fixed if mask is None else {**text.fixed, "attention_mask": torch.ones_like(mask)}
    position = torch.full((1,), TOKENS - 1, device=text.features.device)
    return replace(text, fixed=fixed, position=position, drawn=None)


def _index(inputs: Inputs, place: Place) -> Tensor:
    length, device = inputs.features.shape[1], inputs.features.device
    if place == "first":
        return torch.zeros(len(inputs), dtype=torch.long, device=device)
    return torch.full((len(inputs),), length - 1, device=device) if inputs.position is None else inputs.position


@contextmanager
def _noting(module: nn.Module, calls: list[Tensor]) -> Iterator[None]:
    handle = module.register_forward_hook(lambda module, args, output: calls.append(output))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _only_at(module: nn.Module, index: Tensor, inputs: Inputs) -> Iterator[None]:
    """Compute a linear map of batch x tokens x width at one token of every text; the rest of its output is NaN."""
    shape, rows = inputs.features.shape[:2], torch.arange(len(inputs), device=index.device)

    def gather(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return (args[0][rows, index].unsqueeze(1), *args[1:]) if args[0].shape[:2] == shape else None

    def spread(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor | None:
        if output.shape[:2] != (shape[0], 1):
            return None
        whole = output.new_full((*shape, *output.shape[2:]), torch.nan)
        whole[rows, index] = output[:, 0]
        return whole

    handles = [module.register_forward_pre_hook(gather), module.register_forward_hook(spread)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
