"""Values inside a model, caught and replaced from its calls, against plain hooks on the modules of each family."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.dtypes import keep_float64
from axioms.core.errors import NotDefined
from axioms.engine.handlers.patch import outputs_with, values_at
from axioms.engine.handlers.tap import layers_of
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.subjects.models.tiny import tiny

TEXT = {
    "input_ids": torch.tensor([[5, 9, 13, 4], [7, 7, 30, 21]]),
    "attention_mask": torch.ones(2, 4, dtype=torch.long),
}


class Family(NamedTuple):
    """The modules of the second layer: the one that reads the heads, and the one that puts out the MLP's result."""

    reads_heads: str
    mlp: str
    heads: int


FAMILIES = {
    "bert": Family("bert.encoder.layer.1.attention.output.dense", "bert.encoder.layer.1.output.dense", 2),
    "gpt2": Family("transformer.h.1.attn.c_proj", "transformer.h.1.mlp", 2),
    "llama": Family("model.layers.1.self_attn.o_proj", "model.layers.1.mlp", 4),
}
Backend = Literal["eager", "sdpa"]


def built(family: str, backend: Backend = "eager") -> tuple[nn.Module, Any]:
    module = tiny(architecture=family, backend=backend)
    return module, read_inputs(module, TEXT)


def logits(module: nn.Module) -> Tensor:
    with torch.no_grad(), keep_float64(torch.zeros(1, dtype=torch.float64)):  # some norms would go down to float32
        output: Tensor = module(**TEXT).logits
    return output[:, -1] if output.dim() == 3 else output


def by_head(value: Tensor, heads: int) -> Tensor:
    """Return batch x tokens x (heads width) as batch x heads x tokens x width."""
    return value.unflatten(2, (heads, -1)).transpose(1, 2)


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_that_hooks_see(family: str, backend: Backend) -> None:
    (module, inputs), known = built(family, backend), FAMILIES[family]
    seen: dict[str, Tensor] = {}
    reads, mlp = module.get_submodule(known.reads_heads), module.get_submodule(known.mlp)
    reads.register_forward_pre_hook(lambda module, args: seen.update(heads=args[0]))
    mlp.register_forward_hook(lambda module, args, output: seen.update(mlp=output))
    heads, out, layer = values_at(Model(module), inputs, [f"layer.2{part}" for part in (".heads", ".mlp", "")])
    torch.testing.assert_close(heads, by_head(seen["heads"], known.heads), rtol=0, atol=1e-12)
    torch.testing.assert_close(out.reshape(seen["mlp"].shape), seen["mlp"], rtol=0, atol=1e-12)
    assert layer.shape == (2, 4, 16)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_patched_head_and_mlp(family: str) -> None:
    """Zeros in the place of one head of all tokens, and of one token of the MLP, each in its own row."""
    (module, inputs), known = built(family), FAMILIES[family]

    def drop_head(value: Tensor) -> Tensor:
        changed = value.clone()
        changed[0, 1] = 0
        return changed

    def drop_token(value: Tensor) -> Tensor:
        changed = value.clone()
        changed.view(2, 4, -1)[1, 3] = 0
        return changed

    patched = outputs_with(Model(module), inputs, {"layer.2.heads": drop_head, "layer.2.mlp": drop_token})

    def hook_head(part: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        changed = by_head(args[0], known.heads).clone()
        changed[0, 1] = 0
        return (changed.transpose(1, 2).flatten(2), *args[1:])

    def hook_mlp(part: nn.Module, args: Any, output: Tensor) -> Tensor:
        changed = output.clone()
        changed[1, 3] = 0
        return changed

    module.get_submodule(known.reads_heads).register_forward_pre_hook(hook_head)
    module.get_submodule(known.mlp).register_forward_hook(hook_mlp)
    expected = logits(module)
    torch.testing.assert_close(patched, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("part", ["queries", "keys"])
def test_a_patched_query_and_key(part: str) -> None:
    """A query or key of one head and token, against a hook on the linear map that makes it."""
    module, inputs = built("bert")
    name = {"queries": "query", "keys": "key"}[part]
    projection = module.get_submodule(f"bert.encoder.layer.1.attention.self.{name}")
    new = torch.randn(2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def put(value: Tensor) -> Tensor:
        changed = value.clone()
        changed[:, 1, 2] = new
        return changed

    (value,) = values_at(Model(module), inputs, [f"layer.2.{part}"])
    patched = outputs_with(Model(module), inputs, {f"layer.2.{part}": put})

    def hook(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        changed = by_head(output, 2).clone()
        torch.testing.assert_close(value, changed, rtol=0, atol=1e-12)
        changed[:, 1, 2] = new
        return changed.transpose(1, 2).flatten(2)

    projection.register_forward_hook(hook)
    torch.testing.assert_close(patched, logits(module), rtol=0, atol=1e-12)


@pytest.mark.parametrize("at", ["layer.1.heads", "layer.1.mlp", "layer.1.keys", "layer.1.queries", "layer.1"])
def test_gradients_are_those_of_small_patches(at: str) -> None:
    """The gradient at a place is the derivative of the output in a random direction there."""
    module, inputs = built("bert")
    (value,) = values_at(Model(module), inputs, [at])
    found = axioms.attribute(module, TEXT, 0, "gradient", at=at).at
    assert found is not None
    assert found.shape == value.shape
    direction = torch.randn(value.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    up = outputs_with(Model(module), inputs, {at: lambda value: value + 1e-5 * direction})[:, 0]
    down = outputs_with(Model(module), inputs, {at: lambda value: value - 1e-5 * direction})[:, 0]
    measured = (up - down) / 2e-5
    torch.testing.assert_close((found * direction).flatten(1).sum(1), measured, rtol=1e-6, atol=1e-8)


def test_nothing_is_left_behind() -> None:
    module, inputs = built("bert")
    before = logits(module)
    outputs_with(Model(module), inputs, {"layer.1.mlp": torch.zeros_like, "layer.1": torch.zeros_like})
    assert torch.equal(logits(module), before)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_layers_are_found_by_their_paths() -> None:
    module, inputs = built("bert")
    assert list(layers_of(module).values()) == ["bert.encoder.layer.0", "bert.encoder.layer.1"]
    assert layers_of(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))) == {1: "0", 2: "1"}
    with pytest.raises(NotDefined, match=r"no 'layer\.9\.heads'"):
        values_at(Model(module), inputs, ["layer.9.heads"])
