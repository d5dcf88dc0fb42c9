"""PA-LRP (Bakish et al. 2025): AttnLRP in which positions are inputs too, and their relevance is the token's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from axioms.core.errors import NotDefined
from axioms.core.registry import method
from axioms.methods.lrp import attnlrp_composite

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

ROTARY = "rotary"
"""Part of the name of a module that returns the cosines and sines of rotary positions."""
LEARNED = ("wpe", "position_embeddings", "embed_positions", "position_embedding", "pos_embed")
"""Names of modules that return a vector per position, which is added to the tokens' embeddings."""


@method("pa_lrp", composite=attnlrp_composite, settles=True)
def pa_lrp(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    epsilon: float = 0.0,
    sign: Literal["auto", "absolute", "signed"] = "auto",
) -> Tensor:
    """PA-LRP (Bakish et al. 2025): AttnLRP, with what the positions of a token receive added to the token.

    Rotary positions: q cos and rotate(q) sin are products of variables, so half of what crosses them goes to the
    position. Each layer has its own cosines and sines, and the `absolute` value of each one's relevance counts, as in
    the authors' code for Llama (which then divides all scores by the largest; here they stay in the logit's units).
    Learned positions: E + P is a sum, in which P gets its share by the epsilon rule. The authors publish this for
    vision only, where they add it `signed`; so is it here, and the scores are then the relevance of E + P.
    `auto` is these two.
    """
    import torch

    from axioms.engine.handlers import ledger
    from axioms.engine.handlers.propagate import forward

    features = inputs.features.detach().requires_grad_()
    with positions_as_inputs(model.module, inputs) as positions:
        outputs = forward(model, inputs.with_features(features), attnlrp_composite(epsilon))
    if not positions:
        raise NotDefined(
            "pa_lrp needs rotary positions (a module with 'rotary' in its name) or learned ones (a module named "
            f"{', '.join(LEARNED)}); this model has neither."
        )
    target.settle(outputs)
    output = target(outputs).sum()
    tokens, *others = torch.autograd.grad(
        output, [features, *(position.value for position in positions)], allow_unused=True
    )
    counted = [_per_token(features, tokens)]
    signed = [counted[0]]
    for position, gradient in zip(positions, others, strict=True):
        relevance = _per_token(position.value, gradient)
        absolute = sign == "absolute" or (sign == "auto" and position.rotary)
        counted.append(relevance.abs() if absolute else relevance)
        signed.append(relevance)
    book = ledger.ACTIVE.get()
    if book is not None:  # positions are inputs here: what reached them is not lost
        book.output += float(target.start(outputs).sum())
        book.features += float(torch.stack(signed).sum())
    return torch.stack(counted).sum(0)


def _per_token(value: Tensor, gradient: Tensor | None) -> Tensor:
    """Return relevance summed over the width; no gradient where a module got a copy and used that."""
    relevance = value.detach() * (0 if gradient is None else gradient)
    return relevance.flatten(2).sum(2)


@dataclass(frozen=True)
class Position:
    """A tensor that says where tokens are: batch x features x width, a variable."""

    value: Tensor
    rotary: bool


@contextmanager
def positions_as_inputs(module: nn.Module, inputs: Inputs) -> Iterator[list[Position]]:
    """Make every tensor of positions a variable, and so the copy of it that a module is handed."""
    positions: list[Position] = []

    def variable(value: Tensor, rotary: bool) -> Tensor:
        positions.append(Position(_per_example(value, inputs).detach().clone().requires_grad_(), rotary))
        return positions[-1].value

    def made(rotary: bool) -> Callable[..., Any]:
        def hook(module: nn.Module, args: Any, output: Any) -> Any:
            return _change_tensors(output, lambda value: variable(value, rotary))

        return hook

    def handed(module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """One table of cosines serves all layers; as one variable it would hide which layer the relevance came from."""
        mine = {id(position.value) for position in positions if position.rotary}
        copied = _change_tensors((args, kwargs), lambda value: variable(value, True) if id(value) in mine else value)
        return copied[0], copied[1]

    handles = []
    for name, part in module.named_modules():
        last = name.rpartition(".")[2]
        if ROTARY in last or last in LEARNED:
            handles.append(part.register_forward_hook(made(ROTARY in last)))
        else:
            handles.append(part.register_forward_pre_hook(handed, with_kwargs=True))
    try:
        yield positions
    finally:
        for handle in handles:
            handle.remove()


def _per_example(value: Tensor, inputs: Inputs) -> Tensor:
    """Return positions with a row for every example, so that all have relevance of their own."""
    batch, length = inputs.features.shape[:2]
    if value.dim() != 3 or value.shape[0] not in (1, batch) or value.shape[1] != length or value.is_complex():
        raise NotDefined(
            f"pa_lrp understands positions of shape batch x features x width ({batch} x {length} x ...); this model's "
            f"have shape {tuple(value.shape)}."
        )
    return value.expand(batch, *value.shape[1:])


def _change_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return the same structure of tuples, lists and dictionaries with every tensor in it changed.

    Where none is, this is the structure itself: a module may write into a list that it is handed.
    """
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (tuple, list):
        parts = [_change_tensors(part, change) for part in value]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    if type(value) is dict:
        parts = [_change_tensors(part, change) for part in value.values()]
        return value if all(map(operator.is_, parts, value.values())) else dict(zip(value, parts, strict=True))
    return value
