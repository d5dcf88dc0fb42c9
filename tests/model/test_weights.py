"""What a method changed of a model is put back, and said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from axioms.model.weights import in_words, putting_back


def network() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()


def _swap_weight(model: Any) -> None:
    model[0].weight = nn.Parameter(torch.ones(3, 2))


def _write_weight(model: Any) -> None:
    model[0].weight.data[0, 0] += 1


def _drop_bias(model: Any) -> None:
    model[0].bias = None


def _write_buffer(model: Any) -> None:
    model[1].running_mean += 1


def _swap_module(model: Any) -> None:
    model[2] = nn.Identity()


def _add_module(model: Any) -> None:
    model[2].add_module("more", nn.Identity())


def _train(model: Any) -> None:
    model[1].training = True


def _own_forward(model: Any) -> None:
    model[0].forward = lambda x: x


def _hook(model: Any) -> None:
    model[0].register_forward_hook(lambda *_: None)


def _back_hook(model: Any) -> None:
    model[2].register_full_backward_pre_hook(lambda *_: None)


def _freeze(model: Any) -> None:
    model[0].weight.requires_grad_(False)


def _cast(model: Any) -> None:
    model[0].weight.data = model[0].weight.data.double()


def _threads(model: Any) -> None:
    torch.set_default_dtype(torch.float16)


CHANGES: dict[Callable[[Any], None], tuple[str, str]] = {
    _swap_weight: ("weights", "0"),
    _write_weight: ("weights", "0.weight"),
    _drop_bias: ("weights", "0"),
    _write_buffer: ("weights", "1.running_mean"),
    _swap_module: ("modules", ""),
    _add_module: ("modules", "2"),
    _train: ("training mode", "1"),
    _own_forward: ("forward", "0"),
    _hook: ("hooks", "0"),
    _back_hook: ("hooks", "2"),
    _freeze: ("requires_grad", "0.weight"),
    _cast: ("weights", "0.weight"),
    _threads: ("settings of torch", "default dtype"),
}


def look(model: Any) -> list[Any]:
    """Return all that matters here of a model, to compare."""
    parts = list(model.modules())
    return [
        [id(part) for part in parts],
        [(part.training, vars(part).get("forward"), list(part._forward_hooks)) for part in parts],
        [list(part._backward_pre_hooks) for part in parts],
        [(name, id(value), value.tolist(), value.dtype) for name, value in model.state_dict(keep_vars=True).items()],
        [parameter.requires_grad for parameter in model.parameters()],
        torch.get_default_dtype(),
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_put_back_and_named(change: Callable[[Any], None]) -> None:
    model = network()
    before = look(model)
    with putting_back(model) as changed:
        change(model)
    assert changed == [CHANGES[change]]
    assert look(model) == before


def test_an_own_forward_is_put_back_too() -> None:
    model = network()
    mine = vars(model[0])["forward"] = lambda x: x
    with putting_back(model) as changed:
        del vars(model[0])["forward"]
    assert changed == [("forward", "0")]
    assert vars(model[0])["forward"] is mine


def test_what_stays_as_it_is_is_not_named() -> None:
    """Nor are weights that are not numbers, which equal nothing, not even themselves."""
    model = network()
    model[0].weight.data[0, 0] = float("nan")
    x = torch.tensor([[1.0, 2.0]])
    with putting_back(model, {"features": x}) as changed:
        model(x)
        model[0].weight.data.copy_(model[0].weight.data.clone())
    assert changed == []


def test_inputs_are_put_back_in_the_same_tensor() -> None:
    x = torch.tensor([[1.0, 2.0]])
    with putting_back(network(), {"features": x}) as changed:
        x[0, 1] = 7
    assert changed == [("inputs", "features")]
    assert x.tolist() == [[1.0, 2.0]]


def test_changes_in_words() -> None:
    assert in_words([("weights", "a"), ("hooks", ""), ("weights", "b"), ("weights", "c")]) == (
        "weights (a and 2 more) and hooks (the model itself)"
    )
    assert in_words([("weights", "a")]) == "weights (a)"
