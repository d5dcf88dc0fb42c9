"""MLPs and norms, named or in a row, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable
from axioms.model.inputs import Inputs, read_inputs
from axioms.rewrites.apply import apply_rewrite, checked_rewrite
from axioms.rewrites.no_ops import _renew_by_identities, _renew_by_views, _review
from axioms.rewrites.patterns.mlp import is_convolution, mlps
from axioms.rewrites.patterns.norms import layers_with_batch_norm, norms_with_readers
from axioms.subjects.data import random_tokens
from axioms.subjects.models.tiny import tiny


def points(*shape: int) -> Inputs:
    return Inputs(torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


def moved(norm: Any) -> Any:
    """A batch norm that has seen something."""
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    for parameter in norm.parameters():
        parameter.data.normal_()
    return norm


def in_a_row(kind: str) -> tuple[Any, Inputs]:
    torch.manual_seed(0)
    if kind == "linear":
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).double().eval(), points(2, 3)
    if kind == "batch norm":
        row = nn.Sequential(nn.Linear(3, 4), moved(nn.BatchNorm1d(4)), nn.ReLU(), nn.Linear(4, 2))
        return row.double().eval(), points(2, 3)
    if kind == "three":
        row = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
        return row.double().eval(), points(2, 3)
    row = nn.Sequential(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Conv2d(3, 4, 2), nn.Flatten(), nn.Linear(16, 2))
    return row.double().eval(), points(2, 2, 4, 4)


@pytest.mark.parametrize(
    ("kind", "neurons"), [("linear", [4]), ("batch norm", [4]), ("three", [4, 5]), ("convolutions", [3])]
)
def test_layers_in_a_row(kind: str, neurons: list[int]) -> None:
    model, inputs = in_a_row(kind)
    found = mlps(model)
    assert [mlp.neurons for mlp in found] == neurons
    assert (found[0].norm is not None) == (kind == "batch norm")
    assert isinstance(found[-1].activation, nn.ReLU)
    for name in ("permute_neurons", "rescale_relu", "relu_rearranged"):
        rewritten, gap = checked_rewrite(name, {}, model, inputs, 2)
        changed: Any = rewritten.module
        assert gap < 1e-9
        if name != "relu_rearranged":
            assert not torch.equal(changed[0].weight, model[0].weight) or kind == "batch norm"


@pytest.mark.parametrize(
    "row",
    [
        [nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()],
        [nn.Linear(2, 2), nn.ReLU()],
        [nn.Linear(2, 2), nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)],
        [nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)],
        [nn.Conv1d(2, 2, 1), nn.ReLU(), nn.Linear(2, 2)],
        [nn.Linear(2, 2), nn.ReLU(), nn.Conv1d(2, 2, 1)],
        [nn.Conv1d(2, 2, 1), nn.ReLU(), nn.Conv1d(2, 2, 1, groups=2)],
        [nn.Linear(2, 2), nn.Identity(), nn.Linear(2, 2)],
    ],
)
def test_rows_that_are_no_mlp(row: list[nn.Module]) -> None:
    with pytest.raises(NotApplicable, match="no two linear layers with an activation between them"):
        mlps(nn.Sequential(*row))


def test_convolutions_whose_outputs_read_all_inputs() -> None:
    assert is_convolution(nn.Conv2d(2, 2, 1))
    assert not is_convolution(nn.Conv2d(2, 2, 1, groups=2))
    assert not is_convolution(nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("architecture", "gated"),
    [("bert", False), ("gpt2", False), ("llama", True), ("phi3", True), ("gpt-neox", False), ("distilbert", False)],
)
def test_named_mlps(architecture: str, gated: bool) -> None:
    module: Any = tiny(architecture=architecture)
    inputs = read_inputs(module, random_tokens(n=2, length=4).inputs)
    found = mlps(module)
    assert len(found) == module.config.num_hidden_layers
    assert all(len(mlp.first) == 1 + gated for mlp in found)
    _, gap = checked_rewrite("permute_neurons", {}, module, inputs, 2)
    assert gap < 1e-9
    with pytest.raises(NotApplicable, match="is followed by ReLU"):
        apply_rewrite("rescale_relu", {}, module, inputs)


@pytest.mark.parametrize("layer", [nn.Linear(3, 4), nn.Linear(3, 4, bias=False)])
@pytest.mark.parametrize("affine", [True, False])
def test_a_batch_norm_is_folded_into_the_layer_before(layer: nn.Module, affine: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(layer, moved(nn.BatchNorm1d(4, affine=affine))).double().eval()
    rewritten, gap = checked_rewrite("fold_batch_norm", {}, model, points(2, 3), 2)
    assert gap < 1e-9
    assert isinstance(rewritten.module[1], nn.Identity)  # type: ignore[index]


def test_batch_norms_by_name_and_those_that_stay() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(2, 3, 2), moved(nn.BatchNorm2d(3))
            self.bn2 = moved(nn.BatchNorm2d(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.bn2(self.bn1(self.conv1(x)).relu()).flatten(1)

    model = Net().double().eval()
    assert [(layer.layer, name) for layer, _, name in layers_with_batch_norm(model)] == [(model.conv1, "bn1")]
    _, gap = checked_rewrite("fold_batch_norm", {}, model, points(2, 2, 3, 3), 2)
    assert gap < 1e-9
    without = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False))
    with pytest.raises(NotApplicable):
        layers_with_batch_norm(without)


def test_norms_that_linear_layers_alone_read() -> None:
    torch.manual_seed(0)
    row = nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 4), nn.ReLU(), nn.RMSNorm(4, 1e-5), nn.Linear(4, 2, bias=False))
    for parameter in row.parameters():
        parameter.data.normal_()
    assert len(norms_with_readers(row)) == 2
    rewritten, gap = checked_rewrite("fold_norm", {}, row.double(), points(2, 3), 2)
    assert gap < 1e-9
    assert bool((rewritten.module[0].weight == 1).all())  # type: ignore[index]
    assert bool((rewritten.module[0].bias == 0).all())  # type: ignore[index]
    for other in (
        nn.Sequential(nn.LayerNorm(3, elementwise_affine=False), nn.Linear(3, 4)),
        nn.Sequential(nn.LayerNorm(3), nn.ReLU()),
    ):
        with pytest.raises(NotApplicable, match="no norm that linear layers alone read"):
            norms_with_readers(other)


def test_a_named_norm_needs_all_of_its_readers() -> None:
    class Block(nn.Module):
        def __init__(self, up: nn.Module) -> None:
            super().__init__()
            self.post_attention_layernorm = nn.LayerNorm(2)
            self.mlp = nn.Module()
            self.mlp.gate_proj, self.mlp.up_proj = nn.Linear(2, 2), up

    ((norm, readers),) = norms_with_readers(Block(nn.Linear(2, 2)))
    assert len(readers) == 2
    assert norm.is_centered
    with pytest.raises(NotApplicable):
        norms_with_readers(Block(nn.Identity()))
    gemma = Block(nn.Linear(2, 2))
    gemma.pre_feedforward_layernorm = nn.LayerNorm(2)
    ((norm, _),) = norms_with_readers(gemma)
    assert norm.module is gemma.pre_feedforward_layernorm
    after = Block(nn.Linear(2, 2))
    after.do_layer_norm_before = False  # type: ignore[assignment]
    with pytest.raises(NotApplicable):
        norms_with_readers(after)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("no_op", [_renew_by_views, _renew_by_identities, _review])
def test_no_ops_change_no_number(no_op: Any, shape: tuple[int, ...]) -> None:
    for dtype in (torch.float64, torch.float32, torch.float16):
        x = torch.rand(shape).to(dtype)
        value = no_op(x)
        assert value is not x
        assert value.dtype == dtype
        assert torch.equal(value, x)
        assert (value.data_ptr() == x.data_ptr()) == (no_op is _review)
        names, nodes = set(), [no_op(x.clone().requires_grad_()).grad_fn]
        while nodes:
            node = nodes.pop()
            if node is not None:
                names.add(type(node).__name__)
                nodes += [following for following, _ in node.next_functions]
        if no_op is not _review:
            assert ("CatBackward0" in names) == (shape != ())
