"""What the mode does with a call: in place or beside it, with gradients or without, known or unknown."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from axioms.engine import facts
from axioms.engine.mode import Handler, Interpreter, Mode
from axioms.engine.operations import Operation
from axioms.engine.parse import Call
from axioms.engine.where import Where, is_activation, watching


class Noting(Interpreter):
    """Writes down what it is asked."""

    def __init__(self, where: Where | None = None) -> None:
        super().__init__(where or Where())
        self.asked: list[tuple[str, str]] = []

    def operate(self, operation: Operation, call: Call) -> Any:
        self.asked.append(("operate", operation.name))
        return call.run()

    def compute(self, call: Call, kind: str) -> Any:
        self.asked.append(("compute", call.name))
        return call.run()

    def uncovered(self, call: Call) -> Any:
        self.asked.append(("uncovered", call.name))
        return call.run()


def asked(call: Any) -> tuple[list[tuple[str, str]], Any]:
    noting = Noting()
    with Mode(noting):
        value = call()
    return noting.asked, value


def leaf() -> Tensor:
    return torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: torch.relu(x), [("operate", "relu")]),
        (lambda x: F.relu(x, inplace=False), [("operate", "relu")]),
        (lambda x: x * 2, [("compute", "mul")]),
        (lambda x: torch.cos(x), [("uncovered", "cos")]),
        (lambda x: torch.log_softmax(x, 1), [("uncovered", "log_softmax")]),
        (lambda x: x.view(3), []),
        (lambda x: x.size(), []),
        (lambda x: x > 0, []),
        (lambda x: torch.relu(x.detach()), []),
        (lambda x: torch.cos(torch.ones(1)), []),
        (lambda x: torch.ones(2).add_(1), []),
        (
            lambda x: F.glu(torch.cat([x, x[:, :1]], 1)),
            [("compute", "cat"), ("operate", "sigmoid"), ("operate", "mul")],
        ),
    ],
)
def test_what_is_asked_of_a_handler(call: Any, wanted: list[tuple[str, str]]) -> None:
    found, value = asked(lambda: call(leaf()))
    assert [(what, name.strip("_")) for what, name in found] == wanted
    plain = call(leaf())
    assert torch.equal(value, plain) if isinstance(plain, Tensor) else value == plain


@pytest.mark.parametrize(
    ("in_place", "beside"),
    [
        (lambda y: y.add_(2), lambda y: y + 2),
        (lambda y: y.relu_(), lambda y: y.relu()),
        (lambda y: F.relu(y, inplace=True), lambda y: F.relu(y)),
        (lambda y: F.leaky_relu(input=y, negative_slope=0.3, inplace=True), lambda y: F.leaky_relu(y, 0.3)),
        (lambda y: y.__iadd__(y), lambda y: y + y),
        (lambda y: y.clamp_(max=1), lambda y: y.clamp(max=1)),
    ],
)
def test_what_is_written_in_place_is_computed_beside_it(in_place: Any, beside: Any) -> None:
    x, other = leaf(), leaf()

    def run() -> Tensor:
        y = x * 1
        returned = in_place(y)
        assert torch.equal(returned, y)
        return y

    value, wanted = asked(run)[1], beside(other * 1)
    torch.testing.assert_close(value, wanted)
    gradients = (torch.autograd.grad(one.sum(), at)[0] for one, at in ((value, x), (wanted, other)))
    torch.testing.assert_close(*gradients)


def test_facts_are_kept_in_place_too() -> None:
    def run() -> tuple[Tensor, Tensor]:
        y = leaf() * 1
        alias = y.view(3)
        y.relu_()
        return y, alias

    y, alias = asked(run)[1]
    assert facts.of(y).is_activated
    assert facts.of(alias).is_activated


@pytest.mark.parametrize(
    "write",
    [
        lambda place, y: place.copy_(y),
        lambda place, y: place.copy_(other=y),
        lambda place, y: place.__setitem__(slice(None), y),
        lambda place, y: place.scatter_(1, torch.tensor([[0, 1, 2]]), y),
    ],
)
def test_what_is_written_into_a_buffer_is_known_there(write: Any) -> None:
    def run() -> tuple[Tensor, Tensor]:
        place, y = torch.zeros(1, 3), torch.relu(leaf())
        write(place, y)
        return place, y

    place, y = asked(run)[1]
    assert torch.equal(place, y)
    assert facts.of(place).is_activated
    with torch.no_grad():
        varied, place = facts.vary(torch.ones(1, 3)), torch.zeros(1, 3)
        asked(lambda: write(place, torch.relu(varied)))
    assert facts.is_variable(place)


def test_a_pass_without_gradients_has_variables_too() -> None:
    with torch.no_grad():
        x = facts.vary(torch.ones(1, 3))
        found, value = asked(lambda: torch.relu(x) * 2)
    assert [what for what, _ in found] == ["operate", "compute"]
    assert facts.of(value).is_activated
    assert facts.of(value).varies


def test_a_plain_handler_changes_nothing() -> None:
    with Mode(Handler()) as mode:
        assert float(torch.ones(1) + 1) == 2
    assert mode.handler.mode is mode
    assert mode.handler.leave() is None


class Odd(nn.Module):
    def __init__(self, function: Any, **attributes: Any) -> None:
        super().__init__()
        self.function = function
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    ("module", "wanted"),
    [
        (nn.ReLU(), True),
        (nn.GELU(), True),
        (nn.PReLU(), True),
        (nn.PReLU(3), False),
        (Odd(lambda x: x * torch.sigmoid(1.7 * x)), True),
        (Odd(torch.sigmoid), False),
        (Odd(lambda x: 2 * x), False),
        (nn.Identity(), False),
        (nn.Dropout(0.5).eval(), False),
        (nn.Softmax(-1), False),
        (Odd(lambda x: x - x.mean()), False),
        (Odd(lambda x: (x, x)), False),
        (Odd(torch.relu, one_operation=False), False),
        (Odd(torch.relu, inner=nn.ReLU()), False),
        (nn.Linear(1, 1), False),
    ],
)
def test_an_activation_is_known_by_what_it_does(module: nn.Module, wanted: bool) -> None:
    assert is_activation(module) == wanted
    assert is_activation(module) == wanted


def test_where_a_call_happens() -> None:
    seen: list[tuple[str, frozenset[str], bool]] = []
    model: Any = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), nn.GELU()).requires_grad_(False)

    with watching(model) as where:
        assert not model[0][1].inplace
        for part in model.modules():
            part.register_forward_hook(lambda *_: seen.append((where.path, where.owned, where.is_opaque)), prepend=True)
        noting = Noting(where)
        with Mode(noting):
            model(torch.ones(1, 2, requires_grad=True))
        assert (where.path, where.is_opaque) == ("", False)
    assert seen == [
        ("0.0", frozenset(("weight", "bias")), False),
        ("0.1", frozenset(), True),
        ("0", frozenset(), False),
        ("1", frozenset(), True),
        ("", frozenset(), False),
    ]
    assert [name for _, name in noting.asked] == ["linear", "ReLU", "GELU"]
    assert model[0][1].inplace
    assert not hasattr(model[1], "inplace")
    assert all(len(part._forward_hooks) == 1 and not part._forward_pre_hooks for part in model.modules())


def test_constants_keep_their_facts_too() -> None:
    """What a rule has stopped is no variable any more, and still came out of an activation."""
    held = asked(lambda: torch.relu(leaf()).detach().view(3)[:2].clone())[1]
    assert not facts.is_variable(held)
    assert facts.of(held).is_activated
    assert not facts.of(asked(lambda: torch.relu(leaf()).detach() @ torch.ones(3, 2))[1]).is_activated
