"""Models small enough to follow with a pencil, and the paper's linear attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.registry import subject
from axioms.core.seeds import Seed

if TYPE_CHECKING:
    from torch import nn


@subject("product-left")
def product_left() -> nn.Module:
    """(x1 * x2) * x3, Figure 1 of You et al. 2025."""
    from axioms.subjects.models.modules import Expression

    return Expression(lambda x1, x2, x3: (x1 * x2) * x3)


@subject("product-right")
def product_right() -> nn.Module:
    """x1 * (x2 * x3), Figure 1 of You et al. 2025."""
    from axioms.subjects.models.modules import Expression

    return Expression(lambda x1, x2, x3: x1 * (x2 * x3))


@subject("factored-sum")
def factored_sum() -> nn.Module:
    """x1 * (x2 * x3 + x4): a product with a sum of unequal degrees."""
    from axioms.subjects.models.modules import Expression

    return Expression(lambda x1, x2, x3, x4: x1 * (x2 * x3 + x4))


@subject("expanded-sum")
def expanded_sum() -> nn.Module:
    """x1 * x2 * x3 + x1 * x4: the same written out."""
    from axioms.subjects.models.modules import Expression

    return Expression(lambda x1, x2, x3, x4: x1 * x2 * x3 + x1 * x4)


@subject("linear")
def linear(*, weight: list[list[float]], bias: list[float] | None = None) -> nn.Module:
    """y = W x + b with the numbers given in the spec."""
    from axioms.subjects.models.modules import fixed_linear

    return fixed_linear(weight, bias)


@subject("mlp")
def mlp(*, weights: list[list[list[float]]], activation: Literal["relu", "silu", "tanh", "none"] = "relu") -> nn.Module:
    """Linear maps with an activation (or none) after each but the last, with the numbers given in the spec."""
    from torch import nn

    from axioms.subjects.models.modules import fixed_linear

    activations = {"relu": nn.ReLU, "silu": nn.SiLU, "tanh": nn.Tanh, "none": nn.Identity}
    layers: list[nn.Module] = []
    for weight in weights:
        layers += [fixed_linear(weight, None), activations[activation]()]
    return nn.Sequential(*layers[:-1])


@subject("normed")
def normed(*, weight: list[float], norm: Literal["layer", "rms"] = "layer") -> nn.Module:
    """The sum over a norm's outputs, with epsilon 0."""
    from axioms.subjects.models.modules import SummedNorm

    return SummedNorm(weight, norm)


@subject("relu-net")
def relu_net(*, seed: Seed = 0) -> nn.Module:
    """Convolutions and linear layers with batch norms and ReLU over 16 features; every number is random."""
    from axioms.subjects.models.modules import random_relu_net

    return random_relu_net(seed)


@subject("softmax-attention")
def softmax_attention(
    *, query: float = 1.0, key: float = 1.0, value: float = 1.0, transposed: bool = False
) -> nn.Module:
    """One head over scalar tokens, read at the first token: equation (2) of You et al. 2025 with d_k = 1.

    `transposed` writes O = A V as O' = V' A'.
    """
    from axioms.subjects.models.modules import ScalarAttention

    return ScalarAttention(query, key, value, transposed)


@subject("attention-block")
def attention_block(*, level: float) -> nn.Module:
    """One head over tokens (key, value), read at the first token: Z_ij = level key_i key_j, O = softmax(Z) value.

    Where every key is 1 all logits are `level`, so that attention is flat and the same function whatever `level` is
    (Section 3.2 of You et al. 2025). Tokens are removed by the attention mask, or by setting key and value to zero.
    """
    from axioms.subjects.models.modules import AttentionBlock

    return AttentionBlock(level)


@subject("linear-attention")
def linear_attention(
    *,
    order: Literal["left", "right"] = "left",
    position: bool = True,
    embed: bool = True,
    pool: Literal["mean", "flatten"] = "mean",
    length: int = 196,
    width: int = 32,
    classes: int = 10,
) -> nn.Module:
    """QKVLeftAssoc / QKVRightAssoc without softmax: (QK')V or Q(K'V), Table 1 of You et al. 2025."""
    from axioms.subjects.models.modules import LinearAttention

    return LinearAttention(
        order=order, position=position, embed=embed, pool=pool, length=length, width=width, classes=classes
    )


@subject("expression")
def expression(*, values: str | list[str], inputs: list[str] | None = None) -> nn.Module:
    """A small computation graph written in the spec, `expression: "(a*a)*b"`; see subjects/models/expressions.py.

    A list of expressions gives one output for each.
    """
    from axioms.subjects.models.expressions import parse
    from axioms.subjects.models.modules.expression import ExpressionModel

    return ExpressionModel([parse(text) for text in ([values] if isinstance(values, str) else values)], inputs)
