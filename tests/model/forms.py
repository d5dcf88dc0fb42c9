"""Models in the forms people have them in, each beside a plain twin that must get the same attribution."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from axioms.subjects.models.tiny import tiny

Given = Tensor | dict[str, Any]


class Case(NamedTuple):
    model: nn.Module
    given: Given
    twin: nn.Module
    plain: Given
    """What the twin is given."""


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.activation, self.last = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)

    def forward(self, features: Tensor) -> Any:
        return self.last(self.activation(self.first(features)))


class Around(nn.Module):
    """A module that does something to what another one returns, or calls it in some way."""

    def __init__(self, inner: nn.Module, call: Callable[[nn.Module, Tensor], Any]) -> None:
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, features: Tensor) -> Any:
        return self.call(self.inner, features)


class Attention(nn.Module):
    """`nn.MultiheadAttention` in plain operations."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        heads, (batch, tokens, width) = self.attention.num_heads, x.shape
        joined = F.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias)
        query, key, value = (
            part.reshape(batch, tokens, heads, width // heads).transpose(1, 2) for part in joined.chunk(3, dim=-1)
        )
        logits = query @ key.transpose(-2, -1) * (width // heads) ** -0.5
        if mask is not None:
            logits = logits.masked_fill(mask[:, None, None], torch.finfo(x.dtype).min)
        mixed = (logits.softmax(dim=-1) @ value).transpose(1, 2).reshape(x.shape)
        return F.linear(mixed, self.attention.out_proj.weight, self.attention.out_proj.bias)


class TorchEncoder(nn.Module):
    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first)
        self.head = nn.Linear(8, 3)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.encoder(features, src_key_padding_mask=mask)[:, 0])


class PlainEncoder(nn.Module):
    """`TorchEncoder` in plain operations."""

    def __init__(self, torchs: TorchEncoder) -> None:
        super().__init__()
        self.torchs = torchs
        self.attention = nn.ModuleList(Attention(layer.self_attn) for layer in torchs.encoder.layers)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        x = features
        for layer, attend in zip(self.torchs.encoder.layers, self.attention, strict=True):
            if layer.norm_first:
                x = x + attend(layer.norm1(x), mask)
                x = x + layer.linear2(F.gelu(layer.linear1(layer.norm2(x))))
            else:
                x = layer.norm1(x + attend(x, mask))
                x = layer.norm2(x + layer.linear2(F.gelu(layer.linear1(x))))
        return self.torchs.head(x[:, 0])


class Quantized(nn.Module):
    """A linear layer with integer weights: 8 bits each, or two of 4 bits in a byte; it dequantizes them when called."""

    packed: Tensor
    scale: Tensor

    def __init__(self, layer: nn.Linear, bits: int) -> None:
        super().__init__()
        limit = 2 ** (bits - 1) - 1
        scale = layer.weight.detach().abs().amax(dim=1, keepdim=True) / limit
        whole = (layer.weight.detach() / scale).round().to(torch.int16)
        pairs = (whole[:, ::2] + 8) * 16 + whole[:, 1::2] + 8
        packed = pairs.to(torch.uint8) if bits == 4 else whole.to(torch.int8)
        self.packed, self.bits = nn.Parameter(packed, requires_grad=False), bits
        self.register_buffer("scale", scale)
        self.bias = layer.bias

    def weight(self) -> Tensor:
        if self.bits == 8:
            return self.packed.to(self.scale.dtype) * self.scale
        low, high = self.packed % 16, self.packed // 16
        return (torch.stack((high, low), dim=-1).flatten(1).to(self.scale.dtype) - 8) * self.scale

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight(), self.bias)


class Rounded(nn.Module):
    """Torch's linear layer of 8 bits by hand: what comes in is rounded to 7 or 8 bits over the range of the batch."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(layer.weight().dequantize().double(), requires_grad=False)
        self.bias = nn.Parameter(layer.bias().detach().double(), requires_grad=False)
        self.steps = 255 if torch.backends.quantized.engine == "qnnpack" else 127

    def forward(self, x: Tensor) -> Tensor:
        low, high = x.min().clamp(max=0), x.max().clamp(min=0)
        step = (high - low) / self.steps
        zero = (-low / step).round()
        return F.linear(((x / step).round() + zero).clamp(0, self.steps).sub(zero) * step, self.weight, self.bias)


class Kernel(torch.autograd.Function):
    """The product of a quantized layer as a kernel of somebody's, with a gradient and without calls to be seen."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: Quantized) -> Tensor:
        ctx.layer = layer
        return x @ layer.weight().T

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] @ ctx.layer.weight(), None


class ByKernel(Quantized):
    def forward(self, x: Tensor) -> Tensor:
        return Kernel.apply(x, self) + self.bias


FEATURES = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
TOKENS = torch.randn(3, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
TEXT = {
    "input_ids": torch.randint(3, 40, (2, 5), generator=torch.Generator().manual_seed(3)),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
}
PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 5])


def network() -> Network:
    torch.manual_seed(0)
    return Network().double()


def vector(
    change: Callable[[Network], nn.Module] = lambda plain: plain,
    given: Callable[[Tensor], Tensor] = lambda features: features,
    twin: Callable[[Network], nn.Module] = lambda plain: plain,
) -> Case:
    """A network of vectors, changed, beside itself as it was."""
    return Case(change(network()), given(FEATURES.clone()), twin(network()), FEATURES)


def calling(call: Callable[[nn.Module, Tensor], Any]) -> Case:
    return vector(lambda plain: Around(plain, call))


def text(
    change: Callable[[Any], nn.Module] = lambda model: model,
    architecture: str = "bert",
    given: Given | None = None,
    plain: Given | None = None,
) -> Case:
    """A tiny language model, changed, beside itself as it was, which is given the same unless `plain` is said."""
    twin = tiny(architecture=architecture)
    given = TEXT if given is None else given
    return Case(change(copy.deepcopy(twin)), given, twin, given if plain is None else plain)


def one_token(architecture: str) -> Case:
    """Texts of one token, beside the same tokens in front of padding, which no token may see."""
    ids = TEXT["input_ids"]
    padded = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < 1).long().expand(ids.shape)}
    return text(architecture=architecture, given={name: part[:, :1] for name, part in padded.items()}, plain=padded)


def attention(need_weights: bool, dtype: torch.dtype) -> Case:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).to(dtype)
    torchs = Around(attention, lambda inner, x: inner(x, x, x, need_weights=need_weights)[0].mean(dim=1))
    plain = Around(Attention(copy.deepcopy(attention)), lambda inner, x: inner(x).mean(dim=1))
    return Case(torchs.eval(), TOKENS.to(dtype), plain, TOKENS.to(dtype))


def encoder(norm_first: bool, dtype: torch.dtype, mask: Tensor | None = None, training: bool = False) -> Case:
    torch.manual_seed(0)
    torchs = TorchEncoder(norm_first).to(dtype)
    features = TOKENS.to(dtype)
    given: Given = features if mask is None else {"features": features, "mask": mask}
    return Case(torchs.train(training), given, PlainEncoder(copy.deepcopy(torchs)).eval(), given)


def quantized(bits: int, kind: type[Quantized] = Quantized) -> Case:
    def exchange(plain: Network) -> nn.Module:
        plain.first, plain.last = kind(plain.first, bits), kind(plain.last, bits)  # type: ignore[assignment]
        return plain

    def dequantize(plain: Network) -> nn.Module:
        with torch.no_grad():
            for layer in (plain.first, plain.last):
                layer.weight.copy_(Quantized(layer, bits).weight())
        return plain

    return vector(exchange, twin=dequantize)


def quantized_by_torch() -> Case:
    """Torch's own layers of 8 bits, whose products are of whole numbers, beside the same in floating point."""
    quantization = pytest.importorskip("torch.ao.quantization")
    model = quantization.quantize_dynamic(network().float(), {nn.Linear}, dtype=torch.qint8)
    twin = network()
    twin.first, twin.last = Rounded(model.first), Rounded(model.last)  # type: ignore[assignment]
    return Case(model, FEATURES.float(), twin, FEATURES)


def compiled(plain: nn.Module) -> nn.Module:
    module: Any = torch.compile(plain)
    return module


def compiled_inside(plain: Network) -> nn.Module:
    plain.first = torch.compile(plain.first)  # type: ignore[assignment]
    return plain


def compiled_call() -> Case:
    return calling(torch.compile(lambda inner, x: inner(x)))


def hooked(plain: Network) -> nn.Module:
    plain.first.register_forward_pre_hook(lambda module, args: None)
    plain.first.register_forward_hook(lambda module, args, output: output.clone())
    plain.last.register_full_backward_hook(triple)
    return plain


def triple(module: nn.Module, inward: Any, outward: Any) -> Any:
    return tuple(3 * part for part in inward)


def checkpointed(reentrant: bool) -> Case:
    return calling(lambda inner, x: checkpoint(inner, x, use_reentrant=reentrant))


def checkpointed_alike(width: int = 8, dtype: torch.dtype = torch.float64) -> Case:
    """Layers of one shape in one checkpoint, where a mix-up would be no error but another number."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.GELU()).eval()
    module = Around(copy.deepcopy(layers).to(dtype), lambda inner, x: checkpoint(inner, x, use_reentrant=False))
    features = torch.randn(width, width, dtype=torch.float64)
    return Case(module.eval(), features.to(dtype), layers.double(), features)


def checkpointed_text(architecture: str) -> Case:
    def enable(model: Any) -> nn.Module:
        model.gradient_checkpointing_enable({"use_reentrant": True})
        return model.train()

    return text(enable, architecture)


def without_dict(model: Any) -> nn.Module:
    model.config.return_dict = False
    return model


def parallel(model: nn.Module) -> nn.Module:
    return nn.DataParallel(model)


def under_inference(value: Mapping[str, Tensor] | Tensor) -> Any:
    with torch.inference_mode():
        return value.clone() if isinstance(value, Tensor) else {name: part.clone() for name, part in value.items()}


def inference_weights(plain: Network) -> nn.Module:
    with torch.inference_mode():
        return copy.deepcopy(plain)


def rounded(dtype: torch.dtype) -> Case:
    """A model of lower precision beside the same weights in float64."""
    model = network().to(dtype)
    return Case(model, FEATURES.to(dtype), copy.deepcopy(model).double(), FEATURES.to(dtype).double())


def rounded_text(architecture: str, dtype: torch.dtype) -> Case:
    model = tiny(architecture=architecture).to(dtype)
    return Case(model, TEXT, copy.deepcopy(model).double(), TEXT)


def keep_a_graph(plain: Network) -> nn.Module:
    plain.first.gain = plain.first.weight.mean() + 1
    return plain


def traced(plain: Network) -> nn.Module:
    module: nn.Module = torch.jit.trace(plain, FEATURES)
    return module


def exported(plain: Network) -> nn.Module:
    return torch.export.export(plain, (FEATURES,)).module()
