"""Linear layers however they are stored: what is read of them and what writing to them does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from axioms.rewrites.patterns.layers import Map, alternating, attribute, is_linear, oriented, replace_modules
from axioms.rewrites.patterns.modules import CastUp, InTwo, Part, SideBySide, WithZero, WrittenNorm, linear, shifted
from axioms.rewrites.patterns.norms import read_norm

INPUTS, OUTPUTS = 3, 4


def layer(kind: str, bias: bool = True) -> Any:
    torch.manual_seed(0)
    if kind == "Conv1D":
        made: Any = Conv1D(OUTPUTS, INPUTS)
        made.bias.data.normal_()
    elif kind == "Conv2d":
        made = nn.Conv2d(INPUTS, OUTPUTS, 2)
    else:
        made = nn.Linear(INPUTS, OUTPUTS)
    if not bias:
        made.bias = None
    return made.double()


def data(kind: str) -> Tensor:
    shape = (2, INPUTS, 3, 3) if kind == "Conv2d" else (2, INPUTS)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def wide(numbers: Tensor, kind: str) -> Tensor:
    return numbers.reshape(-1, 1, 1) if kind == "Conv2d" else numbers


KINDS = ["Linear", "Conv1D", "Conv2d"]
WITH_BIAS_OR_NOT = [(kind, bias) for kind in KINDS for bias in (True, False) if bias or kind != "Conv1D"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_is_its_layer(kind: str) -> None:
    one = layer(kind)
    whole = Map.whole(one)
    assert is_linear(one) == (kind != "Conv2d")
    assert whole.rows.tolist() == [0, 1, 2, 3]
    assert whole.weight.shape[:2] == (OUTPUTS, INPUTS)
    x = data("Linear")
    if kind != "Conv2d":
        torch.testing.assert_close(x @ whole.weight.T + whole.bias_or_zero, one(x).detach())
    assert Map.whole(layer("Linear", bias=False)).bias is None
    assert Map.whole(layer("Linear", bias=False)).bias_or_zero.tolist() == [0, 0, 0, 0]
    second = whole.part(1, 2)
    assert second.rows.tolist() == [2, 3]
    assert torch.equal(second.weight, whole.weight[2:])


@pytest.mark.parametrize(("kind", "bias"), WITH_BIAS_OR_NOT)
def test_outputs_and_inputs_are_reordered_and_scaled(kind: str, bias: bool) -> None:
    x, order = data(kind), torch.tensor([2, 0, 3, 1])
    scale, inverse = torch.tensor([2.0, 0.5, 3.0, 1.0]), torch.tensor([2.0, 4.0, 0.5], dtype=torch.float64)

    def changed(change: Any) -> Tensor:
        one = layer(kind, bias)
        change(Map.whole(one))
        assert (one.bias is not None) == bias
        result: Tensor = one(x).detach()
        return result

    plain = layer(kind, bias)(x).detach()
    torch.testing.assert_close(changed(lambda one: one.select_outputs(order)), plain[:, order])
    torch.testing.assert_close(changed(lambda one: one.scale_outputs(scale)), plain * wide(scale.double(), kind))
    moved = torch.tensor([1, 2, 0])
    torch.testing.assert_close(
        changed(lambda one: one.select_inputs(moved)), layer(kind, bias)(x[:, moved.argsort()]).detach()
    )
    torch.testing.assert_close(
        changed(lambda one: one.divide_inputs(inverse)), layer(kind, bias)(x / wide(inverse, kind)).detach()
    )


@pytest.mark.parametrize("bias", [True, False])
def test_an_offset_of_the_input_becomes_bias(bias: bool) -> None:
    one, offset, x = layer("Linear", bias), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), data("Linear")
    with_offset = one(x + offset).detach()
    whole = Map.whole(one)
    plain: Any = whole.bias_after(None)
    assert plain is None if one.bias is None else torch.equal(plain, one.bias.data)
    whole.write(whole.weight, whole.bias_after(offset))
    torch.testing.assert_close(one(x).detach(), with_offset)


def test_some_rows_are_written_and_no_others() -> None:
    one = layer("Conv1D", bias=False)
    before = oriented(one).clone()
    Map(one, torch.tensor([1, 3])).write(torch.ones(2, INPUTS, dtype=torch.float64), torch.tensor([5.0, 6.0]).double())
    assert torch.equal(oriented(one)[[0, 2]], before[[0, 2]])
    assert bool((oriented(one)[[1, 3]] == 1).all())
    assert one.bias.tolist() == [0, 5, 0, 6]


def test_numbers_that_alternate() -> None:
    assert alternating(4.0, 3).tolist() == [4.0, 0.25, 4.0]
    assert alternating(4.0, 3).dtype == torch.float64


def test_attributes_by_path() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 5)))
    assert attribute(model, "0.0.out_features") == 5
    assert attribute(model, "0.1.weight") is None


def test_a_shared_module_is_replaced_everywhere_and_what_is_inside_a_replaced_one_is_not() -> None:
    inner = nn.ReLU()
    model: Any = nn.Sequential(inner, nn.Sequential(inner, nn.Linear(1, 1)), nn.Linear(1, 1)).eval()
    count = replace_modules(model, lambda module: nn.Tanh() if isinstance(module, nn.ReLU) else None)
    assert count == 2
    assert model[0] is model[1][0]
    assert isinstance(model[0], nn.Tanh)
    assert not model[0].training
    asked: list[nn.Module] = []

    def whole(module: nn.Module) -> nn.Module | None:
        asked.append(module)
        return nn.Identity() if isinstance(module, nn.Sequential) else None

    row = model[1]
    assert replace_modules(model, whole) == 1
    assert row in asked
    assert row[1] not in asked
    assert isinstance(model[1], nn.Identity)


@pytest.mark.parametrize(("kind", "bias"), [("Linear", True), ("Linear", False), ("Conv1D", True)])
def test_modules_in_the_place_of_a_layer_compute_the_same(kind: str, bias: bool) -> None:
    one, x = layer(kind, bias), data(kind)
    weight, numbers = oriented(one).clone(), None if one.bias is None else one.bias.data.clone()
    plain = one(x).detach()
    first, second = linear(weight[:1], None if numbers is None else numbers[:1]), linear(weight[1:], None)
    copied = linear(weight, numbers)
    torch.testing.assert_close(copied(x).detach(), plain)
    assert copied.weight.data_ptr() != weight.data_ptr()
    assert (copied.in_features, copied.out_features) == (INPUTS, OUTPUTS)
    stand_in: Any
    for stand_in in (InTwo(one), WithZero(one)):
        torch.testing.assert_close(stand_in(x).detach(), plain)
        assert torch.equal(stand_in.weight, one.weight)  # for code that reads the weight and does not call
        assert (stand_in.bias is None) == (one.bias is None)
        assert set(stand_in.state_dict()).isdisjoint({"weight", "bias"})
    noise = WithZero(one).plus.weight.detach()
    assert torch.equal(noise, WithZero(one).plus.weight)  # the same random branch each time
    drawn = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(noise, weight.std(correction=0) * drawn)  # of the size of the layer's own
    torch.testing.assert_close(Part(copied, 1, 2)(x), copied(x)[:, 1:3])
    torch.testing.assert_close(SideBySide([first, second])(x), torch.cat([first(x), second(x)], dim=-1))
    torch.testing.assert_close(shifted(x, 0.25), x + 0.25)


@pytest.mark.parametrize("affine", [True, False])
def test_a_norm_by_its_formula(affine: bool) -> None:
    x = data("Linear") * 1e-2  # so small that epsilon counts
    for norm in (nn.LayerNorm(INPUTS, 1e-3, affine), nn.RMSNorm(INPUTS, 1e-3, affine)):
        norm.double()
        for parameter in norm.parameters():
            parameter.data.normal_()
        read = read_norm(norm)
        assert read is not None
        torch.testing.assert_close(WrittenNorm(read)(x), norm(x).detach())
        assert read.is_centered == isinstance(norm, nn.LayerNorm)
        read.reset()
        torch.testing.assert_close(norm(x).detach(), type(norm)(INPUTS, 1e-3, False).double()(x))


def test_a_layer_that_is_cast_up_stays_so() -> None:
    plain = layer("Linear").float()
    cast = CastUp(layer("Linear").float())
    x = data("Linear").float()
    assert cast.layer.weight.dtype == torch.float64
    assert cast(x).dtype == torch.float32
    torch.testing.assert_close(cast(x), plain(x))
    for dtype in (torch.float16, torch.float32):
        moved = cast.to(dtype)
        assert moved is cast
        assert cast.layer.weight.dtype == torch.float64
        assert cast.weight.dtype == dtype
