"""ALTI-Logit (Ferrando et al. 2023): the logit as a sum over the blocks that write into the residual stream.

With the attention weights A and the deviation of the final norm held constant, everything that is added to the stream
has its own share u . v of the logit, where u is the logit's gradient at the final norm. Layer l reads x, adds its
attention to give y, then its MLP:

    T[t, s] = sum_h A[h, t, s] V[h, s] W_h + (t == s) x[t]      V with its biases; b_o belongs to no token
    C[t, s] = max(0, |y[t]| - |y[t] - T[t, s]|)                 L1 norms, rows divided by their sum
    g[s]    = sum_t u[t] . (T[t, s] - (t == s) x[t])
    score   = sum_l g_l C_(l-1) ... C_1

The authors' code adds 1e-6 to every entry of y - T, torch's default in `pairwise_distance`; here nothing is added.
Grouped queries and RMS norms, to which Arras et al. (2025) extend the method, need nothing of their own here: V is
observed as it is multiplied with A, and u is a gradient.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from axioms.core.errors import NotDefined
from axioms.core.registry import method
from axioms.engine.attribution import Decomposition

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.engine.handlers.observe import Attention, Normalized, Observation
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

ENTRIES = 2**24
"""How many numbers of T are held at once."""


@method("alti_logit", passes=2 / 3, settles=True)
def alti_logit(
    model: Model, inputs: Inputs, target: Target, *, initial: Literal["omitted", "last_token"] = "omitted"
) -> Decomposition:
    """ALTI-Logit (Ferrando et al. 2023): what each attention block adds to the logit, tracked to the tokens.

    For pre-norm decoders. The token that is read starts the residual stream with its own embedding; that share is
    `omitted`, as in the authors' benchmark (extract_explanations.py), or goes to the `last_token`, as in their
    notebook and equation 7. The MLPs' share stays with the MLPs, so the scores decompose the rest of the logit.
    """
    shares = logit_shares(model, inputs, target)
    rest = shares.output - shares.mlp - shares.attention_bias - shares.head_bias
    if initial == "last_token":
        return Decomposition(shares.tokens + shares.initial, rest)
    return Decomposition(shares.tokens, rest - shares.initial.sum(1))


@dataclass(frozen=True)
class Shares:
    """output = tokens + initial, summed over the positions, + mlp + attention_bias + head_bias."""

    output: Tensor
    tokens: Tensor
    """batch x features: the attention blocks' shares, tracked to the input"""
    initial: Tensor
    """batch x features: the input embedding's own, at the position that is read"""
    mlp: Tensor
    attention_bias: Tensor
    """batch: of the biases after the output projections"""
    head_bias: Tensor
    """batch: of the final norm's bias and the head's"""


@dataclass(frozen=True)
class _Layer:
    """One attention block: what it reads from the residual stream, and what it adds."""

    before: Tensor
    after: Tensor
    weights: Tensor
    """A: batch x heads x queries x keys, 0 where either is padding"""
    vectors: Tensor
    """V W: what each head would add for each key at weight 1, batch x heads x keys x width"""
    bias: Tensor


def logit_shares(model: Model, inputs: Inputs, target: Target) -> Shares:
    """Return everything that the logit is the sum of."""
    import torch

    from axioms.engine.handlers.observe import observe

    seen = observe(model, inputs)
    target.settle(seen.output)
    blocks, final = _structure(seen, inputs)
    direction, output = _direction(model, inputs, target, final)
    with torch.no_grad():
        state = _stream(final, inputs)
        head_bias = output - (direction * state).sum((1, 2))
        mlp, attention_bias, tokens = (
            torch.zeros_like(output),
            torch.zeros_like(output),
            torch.zeros_like(state[..., 0]),
        )
        for number, block in reversed(list(enumerate(blocks, start=1))):
            layer = _layer(*block, inputs)
            if number < len(blocks):  # sum_l g_l C_(l-1) ... C_1, from the top: scores = scores C_l + g_l
                tokens = (tokens.unsqueeze(1) @ _contributions(layer)).squeeze(1)
            tokens += (layer.weights * torch.einsum("bhsd,btd->bhts", layer.vectors, direction)).sum((1, 2))
            mlp += (direction * (state - layer.after)).sum((1, 2))
            attention_bias += (direction * layer.bias).sum((1, 2))
            state = layer.before
        return Shares(output, tokens, (direction * state).sum(2), mlp, attention_bias, head_bias)


def _structure(seen: Observation, inputs: Inputs) -> tuple[list[tuple[Normalized, Attention, Normalized]], Normalized]:
    """The layers and the final norm of a model that calls norm, attention, norm in each layer and a norm at the end."""
    from axioms.engine.handlers.observe import Attention, Normalized

    length = inputs.features.shape[0] * inputs.features.shape[1]
    norms = [call for call in seen.calls if isinstance(call, Normalized) and call.input[..., 0].numel() == length]
    width = norms[-1].input.shape[-1] if norms else 0  # norms of queries and keys are narrower than the stream
    norms = [norm for norm in norms if norm.input.shape[-1] == width]
    calls = [call for call in seen.calls if isinstance(call, Attention) or call in norms]
    shape = "".join("A" if isinstance(call, Attention) else "N" for call in calls)
    if not re.fullmatch("N*(?:NAN)+N", shape):  # an embedding may be normed before the first layer
        raise _unfit(f"it calls norms (N) and attention (A) in the order {shape or '(none)'}")
    norms = norms[shape.index("NA") :]
    return list(zip(norms[:-1:2], seen.attentions, norms[1::2], strict=True)), norms[-1]


def _stream(norm: Normalized, inputs: Inputs) -> Tensor:
    """Return the residual stream in the features' precision: parts of a model may compute in a higher one."""
    return norm.input.reshape(*inputs.features.shape[:2], -1).to(inputs.features)


def _layer(first: Normalized, attention: Attention, second: Normalized, inputs: Inputs) -> _Layer:
    """The block between two norms, checked: x + attention = y is false in post-norm and in parallel layers."""
    import torch

    from axioms.methods.attention import real_pairs

    before, after, real = _stream(first, inputs), _stream(second, inputs), real_pairs(inputs)
    values, projection = attention.values, attention.projection
    if values is None or projection is None or projection.matrix.shape[0] != values.shape[1] * values.shape[-1]:
        raise _unfit("its attention is not written as softmax(Z) V and a linear map after it")
    matrix = projection.matrix.reshape(values.shape[1], values.shape[-1], -1).to(before)
    vectors = torch.einsum("bhsk,hkd->bhsd", values.to(before), matrix)
    weights = torch.where(real.unsqueeze(1), attention.weights, 0).to(before)
    bias = torch.zeros_like(before[0, 0]) if projection.bias is None else projection.bias.to(before)
    rebuilt = before + torch.einsum("bhts,bhsd->btd", weights, vectors) + bias
    attended = real.any(2, keepdim=True)
    gap, size = (torch.where(attended, value, 0).abs().max() for value in (rebuilt - after, after))
    if gap > torch.finfo(rebuilt.dtype).eps ** 0.5 * size:
        raise _unfit(
            "a layer's input plus its attention is not what its next norm reads (a post-norm or parallel layer)"
        )
    return _Layer(before, after, weights, vectors, bias)


def _contributions(layer: _Layer) -> Tensor:
    """C: how much of each output of the attention block is each of its inputs (Ferrando et al. 2022)."""
    import torch

    batch, length, width = layer.after.shape
    identity = torch.eye(length, dtype=layer.after.dtype, device=layer.after.device)
    parts = []
    for rows in torch.arange(length, device=identity.device).split(max(1, ENTRIES // (batch * length * width))):
        terms = torch.einsum("bhts,bhsd->btsd", layer.weights[:, :, rows], layer.vectors)
        terms += identity[rows].unsqueeze(-1) * layer.before.unsqueeze(1)
        total = layer.after[:, rows]
        parts.append(total.abs().sum(-1, keepdim=True) - (total.unsqueeze(2) - terms).abs().sum(-1))
    near = torch.cat(parts, dim=1).clamp(min=0)
    # Where nothing is near, or a padded row is not a number, the token stays with itself: rows must sum to one.
    sums = near.sum(-1, keepdim=True)
    return torch.where(sums > 0, near / sums, identity)


def _direction(model: Model, inputs: Inputs, target: Target, final: Normalized) -> tuple[Tensor, Tensor]:
    """u, the gradient of the output at the final norm's input with its deviation held constant; and the output."""
    import torch

    from axioms.engine.composite import Composite, RuleRef
    from axioms.engine.handlers.propagate import forward

    held = Composite.of({"norm": RuleRef("norm_as_linear"), "normalizer": RuleRef("stop")})
    with torch.enable_grad(), _leaf_before(model.module.get_submodule(final.path), final.input) as leaves:
        # In a context of its own: no relevance is propagated here, so nothing of it belongs in a ledger.
        output = target(Context().run(forward, model, inputs, held))
        gradients = torch.autograd.grad(output.sum(), leaves, allow_unused=True)
    if len(gradients) != 1 or gradients[0] is None:
        raise _unfit("its final norm is called more than once, or nothing reads it")
    direction = gradients[0].reshape(*inputs.features.shape[:2], -1).to(inputs.features)
    return direction, output.detach().to(inputs.features)


@contextmanager
def _leaf_before(module: nn.Module, expected: Tensor) -> Iterator[list[Tensor]]:
    """The module's input becomes a variable, the first of the forward pass."""
    leaves: list[Tensor] = []

    def hook(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not args or args[0].shape != expected.shape:
            raise _unfit("its final norm is not a module of its own")
        leaves.append(args[0].detach().requires_grad_())
        return (leaves[-1],)

    handle = module.register_forward_pre_hook(hook)
    try:
        yield leaves
    finally:
        handle.remove()


def _unfit(reason: str) -> NotDefined:
    return NotDefined(
        "alti_logit is defined for pre-norm decoders such as GPT-2, OPT and Llama (layers of norm, attention, norm, "
        f"MLP with a residual around each half, and a norm before the head). This model does not fit: {reason}."
    )
