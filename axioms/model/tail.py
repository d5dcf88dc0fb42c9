"""The end of a model, computed for the token that is read: nobody looks at what its last linear maps give for others.

In the last layer of a classifier that reads its first token, or of a language model that reads its last, queries, the
output projection and the MLP of all other tokens come to nothing. Which linear maps these are is seen in a backward
pass over a few tokens: those whose gradient is zero but at that token. In their outputs all other tokens become NaN,
which reaches the model's outputs if anything does look at them; then the model is run as it is. In a pass with
gradients they become zero instead, because NaN times no gradient is NaN, and whether anything looks at them is seen by
the gradient that arrives there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.module import Model
from axioms.model.targets import Target

TOKENS = 4
"""Tokens of the text on which a model is looked at."""
LINEAR = ("Linear", "Conv1D")
"""Classes of modules that map every token by itself; the second is the one of transformers for GPT-2."""

MANY = 128
"""Tokens of a batch that make it worth looking for the tail in a pass with gradients."""

Place = Literal["first", "read"]
Carry = Callable[[Tensor, Tensor], object]
"""Called with a value and what has been made of it by leaving tokens out or putting them back."""
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


class DifferentiableTail(Model):
    """The same for one pass with gradients, after which it knows whether that pass was exact."""

    def __init__(self, module: nn.Module, carry: Carry | None = None) -> None:
        super().__init__(module)
        self._carry = carry
        self._arrived: list[Tensor] = []

    def run(self, inputs: Inputs) -> tuple[Tensor, Any]:
        """Return the outputs for these inputs, and what the module itself returned."""
        with ExitStack() as stack:
            for path, place in _TAILS[self.module].items():
                part, index = self.module.get_submodule(path), _index(inputs, place)
                stack.enter_context(_only_at(part, index, inputs, 0.0, self._carry, self._watch))
            return super().run(inputs)

    @property
    def was_exact(self) -> bool:
        """Whether gradients came to the tokens that are read, and none to any other."""
        return bool(self._arrived) and bool(torch.stack(self._arrived).all())

    def _watch(self, whole: Tensor, rows: Tensor, index: Tensor) -> None:
        def arrive(gradient: Tensor) -> None:
            self._arrived.append(torch.count_nonzero(gradient) == torch.count_nonzero(gradient[rows, index]))

        if whole.requires_grad:
            whole.register_hook(arrive)


def differentiate_short(
    model: Model,
    inputs: Inputs,
    target: Target,
    compute: Callable[[Model], Tensor],
    carry: Carry | None = None,
) -> Tensor:
    """Return what `compute` makes of a model by one forward and one backward pass, over a short tail where it has one.

    `carry` is told what becomes of a value. The target is settled anew where the pass turns out not to be exact.
    """
    is_plain = type(model).run is Model.run and type(model).__call__ is Model.__call__
    if not is_plain or inputs.features.shape[:2].numel() < MANY or with_short_tail(model, inputs) is model:
        return compute(model)
    short = DifferentiableTail(model.module, carry)
    computed = compute(short)
    if short.was_exact:
        return computed
    _TAILS[model.module] = {}
    target.reconsider()
    return compute(model)


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
        features = text.features.clone().requires_grad_()
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
def _only_at(
    module: nn.Module,
    index: Tensor,
    inputs: Inputs,
    rest: float = torch.nan,
    carry: Carry | None = None,
    watch: Callable[[Tensor, Tensor, Tensor], None] | None = None,
) -> Iterator[None]:
    """Compute a linear map of batch x tokens x width at one token of every text; the rest of its output is `rest`.

    Leaving out and putting back are no operations of the model: no mode sees them.
    """
    shape, rows = inputs.features.shape[:2], torch.arange(len(inputs), device=index.device)

    def gather(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if args[0].shape[:2] != shape:
            return None
        with torch._C.DisableTorchFunction():
            alone = args[0][rows, index].unsqueeze(1)
        if carry is not None:
            carry(args[0], alone)
        return (alone,)

    def spread(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor | None:
        if output.shape[:2] != (shape[0], 1):
            return None
        with torch._C.DisableTorchFunction():
            whole = output.new_full((*shape, *output.shape[2:]), rest)
            whole[rows, index] = output[:, 0]
        if carry is not None:
            carry(output, whole)
        if watch is not None:
            watch(whole, rows, index)
        return whole

    handles = [module.register_forward_pre_hook(gather), module.register_forward_hook(spread)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
