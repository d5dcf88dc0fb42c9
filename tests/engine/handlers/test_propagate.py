"""The engine: same values, undone on exit, and never silent about what it does not cover."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import axioms
from axioms.core.errors import InputError, UncoveredOperation
from axioms.subjects.models.modules import LinearAttention, ScalarAttention


class Mixes(nn.Module):
    """Calls an operation that no rule covers, two modules deep."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), Cosine())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.inner(x)
        return result


class Cosine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x)


def attention(order: str = "left") -> LinearAttention:
    torch.manual_seed(0)
    model = LinearAttention(order=order, position=True, embed=True, pool="mean", length=5, width=4, classes=3)
    return model.double()


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "lrp_epsilon"])
def test_the_forward_pass_keeps_its_values(method: str) -> None:
    from axioms.engine.composite import Composite, RuleRef
    from axioms.engine.handlers.propagate import Propagation
    from axioms.engine.mode import Mode
    from axioms.engine.where import Where

    model, x = attention(), torch.rand(3, 5, dtype=torch.float64)
    model.requires_grad_(False)
    plain = model(x)
    rules = {
        "linear": RuleRef("epsilon", {"epsilon": 0.1}),
        "sum": RuleRef("epsilon", {"epsilon": 0.1}),
        "product": RuleRef("uniform" if method != "cp_lrp" else "signal_take_all"),
    }
    with Mode(Propagation(Composite.of(rules), Where())):
        changed = model(x.clone().requires_grad_())
    assert torch.equal(plain, changed)


def test_an_uncovered_operation_raises_and_names_its_module() -> None:
    with pytest.raises(UncoveredOperation, match=r"'cos' in module 'inner\.1'"):
        axioms.attribute(Mixes(), torch.rand(1, 2), method="attnlrp")


class Hidden(torch.autograd.Function):
    """A custom function: rules for what it calls inside are lost, since its backward pass is its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.relu(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * (ctx.saved_tensors[0] > 0)


class CallsHidden(nn.Module):
    def __init__(self, mixes: bool) -> None:
        super().__init__()
        self.mixes = mixes

    def forward(self, x: torch.Tensor) -> Any:
        return Hidden.apply(x.flip(-1) if self.mixes else x)


def test_a_custom_function_raises_too() -> None:
    model = nn.Sequential(nn.Linear(2, 2), CallsHidden(mixes=True), nn.Linear(2, 2))
    with pytest.raises(UncoveredOperation, match="'Hidden'"):
        axioms.attribute(model, torch.rand(1, 2), method="attnlrp")


def test_a_custom_function_that_is_an_activation_is_one() -> None:
    """A module that does nothing but that is one operation, and its rule needs no look inside."""
    model = nn.Sequential(nn.Linear(2, 4), CallsHidden(mixes=False), nn.Linear(4, 2)).double()
    plain = nn.Sequential(model[0], nn.ReLU(), model[2])
    x = torch.rand(3, 2, dtype=torch.float64)
    assert torch.equal(axioms.attribute(model, x).scores, axioms.attribute(plain, x).scores)


def test_everything_is_undone_also_after_an_exception() -> None:
    model = Mixes()
    model.train()
    model.inner[0].eval()
    model.inner[0].bias.requires_grad_(False)
    with pytest.raises(UncoveredOperation):
        axioms.attribute(model, torch.rand(1, 2), method="attnlrp")
    assert model.training
    assert not model.inner[0].training
    assert [parameter.requires_grad for parameter in model.parameters()] == [True, False]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    x = torch.rand(1, 2, requires_grad=True)
    assert torch.cos(x).grad_fn is not None, "the mode must not outlive its use"


@pytest.mark.parametrize("outer", ["attnlrp", "cp_lrp"])
@pytest.mark.parametrize(
    "method", ["loo", "gradient_x_input", "integrated_gradients", "attnlrp", "cp_lrp", "lrp_gamma"]
)
def test_a_second_use_never_inherits_the_first_ones_rules(outer: str, method: str) -> None:
    model, x = attention(), torch.rand(2, 5, dtype=torch.float64)
    before = axioms.attribute(model, x, method=method).scores
    axioms.attribute(model, x, method=outer)
    assert torch.equal(before, axioms.attribute(model, x, method=method).scores)


def test_a_variable_operand_is_one_that_depends_on_the_input() -> None:
    """Parameters that require gradients are constants: with trainable weights nothing changes."""
    model, x = attention(), torch.rand(2, 5, dtype=torch.float64)
    trainable = axioms.attribute(model, x, method="attnlrp").scores
    model.requires_grad_(False)
    assert torch.equal(trainable, axioms.attribute(model, x, method="attnlrp").scores)


def test_relevance_is_zero_where_every_path_is_stopped() -> None:
    class Weights(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x, dim=1)

    scores = axioms.attribute(Weights(), torch.rand(2, 3), method="cp_lrp").scores
    assert torch.equal(scores, torch.zeros(2, 3))


def test_works_inside_no_grad() -> None:
    model = ScalarAttention(1.0, 1.0, 1.0)
    x = torch.rand(2, 3, dtype=torch.float64)
    outside = axioms.attribute(model, x).scores
    with torch.no_grad():
        assert torch.equal(outside, axioms.attribute(model, x).scores)


def test_two_threads_on_one_model_do_not_meet() -> None:
    """Flags and hooks belong to the model, so a second thread waits; results and flags are as with one thread."""
    from concurrent.futures import ThreadPoolExecutor

    model, x = attention(), torch.rand(4, 5, dtype=torch.float64)
    methods = ["attnlrp", "cp_lrp", "gradient_x_input", "loo"] * 5
    alone = {method: axioms.attribute(model, x, method=method).scores for method in set(methods)}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda method: axioms.attribute(model, x, method=method).scores, methods))
    for method, scores in zip(methods, found, strict=True):
        torch.testing.assert_close(scores, alone[method])
    assert all(parameter.requires_grad for parameter in model.parameters())


INSIDE = ("attnlrp", "cp_lrp", "gradient_x_input", "loo")


@pytest.mark.parametrize("outer", ["attnlrp", "cp_lrp", "gradient_x_input"])
def test_a_use_inside_a_use_inherits_nothing(outer: str) -> None:
    """A model that asks for an attribution of another in its forward pass; rules, ledger and tap stay apart."""
    inner, x = attention(), torch.rand(2, 5, dtype=torch.float64)
    alone = {method: axioms.attribute(inner, x, method=method).scores for method in INSIDE}
    found: dict[str, torch.Tensor] = {}

    class Asks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = attention("right")

        def forward(self, y: torch.Tensor) -> Any:
            if asking:
                found.update({method: axioms.attribute(inner, x, method=method).scores for method in INSIDE})
            return self.map(y)

    model, asking = Asks(), False
    wanted = axioms.attribute(model, x, method=outer, ledger=outer != "gradient_x_input")
    asking = True
    given = axioms.attribute(model, x, method=outer, ledger=outer != "gradient_x_input")
    assert torch.equal(given.scores, wanted.scores)
    assert {method: torch.equal(found[method], alone[method]) for method in INSIDE} == dict.fromkeys(INSIDE, True)
    if wanted.ledger is not None and given.ledger is not None:
        assert given.ledger.table() == wanted.ledger.table()


@pytest.mark.parametrize("fails", [False, True])
def test_a_use_inside_a_use_of_the_same_model(fails: bool) -> None:
    """Asked for by a hook in the middle of the forward pass; also if the inner use raises."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x = torch.rand(2, 3, dtype=torch.float64)
    alone = {method: axioms.attribute(model, x, method=method).scores for method in ("attnlrp", "loo")}
    found: dict[str, torch.Tensor] = {}
    calls: list[nn.Module] = []

    def ask(module: nn.Module, args: Any) -> None:
        calls.append(module)
        if len(calls) != 1:  # the inner uses call it again
            return
        handle.remove()
        if fails:
            with pytest.raises(InputError):
                axioms.attribute(model, x, method="attnlrp", at="layer.99")
        found["loo"] = axioms.attribute(model, x, method="loo").scores
        found["attnlrp"] = axioms.attribute(model, x, method="attnlrp").scores

    place: Any = model[2]
    handle = place.register_forward_pre_hook(ask)
    found["outer"] = axioms.attribute(model, x, method="attnlrp").scores
    for name, scores in found.items():
        assert torch.equal(scores, alone["loo" if name == "loo" else "attnlrp"])
    assert len(found) == 3
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_what_a_rule_computes_is_no_operation_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the activation is a module, whose rule is applied by a hook and not by the mode."""
    from axioms.core.registry import RULES

    monkeypatch.setattr(RULES, "_entries", dict(RULES._entries))

    @axioms.rule("test_third", on="activation")
    def third(operation: Any) -> Any:
        value = operation.forward()
        return value.detach() + 0.3 * (value - value.detach())

    class Functional(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.gelu(x)

    Functional.one_operation = False  # type: ignore[attr-defined]
    torch.manual_seed(0)
    first, last = nn.Linear(3, 4).double(), nn.Linear(4, 2).double()
    x = torch.rand(2, 3, dtype=torch.float64)
    rules = [{"on": "activation", "rule": "test_third"}, {"on": "sum", "rule": {"epsilon": {"epsilon": 0.5}}}]
    scores = [
        axioms.attribute(nn.Sequential(first, act, last), x, method="lrp", rules=rules, base="plain").scores
        for act in (nn.GELU(), Functional())
    ]
    plain = axioms.attribute(nn.Sequential(first, nn.GELU(), last), x, method="gradient_x_input").scores
    for given in scores:
        torch.testing.assert_close(given, 0.3 * plain)


class Gated(nn.Module):
    """x times a gate of itself, which is computed in its own place or beside it."""

    def __init__(self, in_place: bool) -> None:
        super().__init__()
        self.in_place = in_place

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = x.clone().sigmoid_() if self.in_place else x.sigmoid()
        return (x * gate).sum(1, keepdim=True)


def test_a_constant_that_was_written_in_place_is_one() -> None:
    """With the gate held constant all relevance is the other factor's."""
    x = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    rules = [{"on": "gate", "rule": "stop"}]
    for in_place in (False, True):
        for base in ("plain", "attnlrp"):
            found = axioms.attribute(Gated(in_place), x, method="lrp", rules=rules, base=base).scores
            torch.testing.assert_close(found, x * x.sigmoid())


@pytest.fixture
def add_rule() -> Any:
    from axioms.core.registry import RULES, rule

    added: list[str] = []

    def add(name: str, function: Any) -> str:
        rule(name, on="linear")(function)
        added.append(name)
        return name

    yield add
    for name in added:
        del RULES._entries[name]


def test_a_users_rule_is_held_to_its_value(add_rule: Any) -> None:
    from axioms.core.errors import MethodFailed

    def wrong(change: Any) -> Any:
        return lambda operation: change(operation.forward())

    x = torch.ones(2, 3, dtype=torch.float64)
    model = nn.Linear(3, 2).double()

    def run(name: str, change: Any) -> torch.Tensor:
        add_rule(name, wrong(change))
        return axioms.attribute(model, x, target=0, method="lrp", rules=[{"on": "linear", "rule": name}]).scores

    def one_nan(value: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.arange(2) == 0, value, float("nan"))

    half = run("t_half", lambda value: value.detach() + 0.5 * (value - value.detach()))
    torch.testing.assert_close(half, 0.5 * x * model.weight[0].detach())
    near = run("t_near", lambda value: value * (1 + 1e-5))
    torch.testing.assert_close(near, 2 * half, rtol=1e-4, atol=1e-6)
    for name, change, said in (
        ("t_changed", lambda value: value * 1.1, "changed the value of the operation"),
        ("t_nan", one_nan, "returned NaN or infinity"),
        ("t_shape", lambda value: value[:1], r"returned shape \(1, 2\); return a tensor of shape \(2, 2\)"),
        ("t_type", lambda value: 3, "returned int"),
        ("t_raises", lambda value: 1 / 0, "raised ZeroDivisionError"),
    ):
        with pytest.raises(MethodFailed, match=said):
            run(name, change)


def test_a_model_that_is_no_number_somewhere_may_stay_so(add_rule: Any) -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2, bias=False).double()
            self.first.weight.data = torch.tensor([[1.0, 2.0], [float("nan"), 1.0]], dtype=torch.float64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(x)

    name = add_rule("t_plain", lambda operation: operation.forward())
    x = torch.ones(1, 2, dtype=torch.float64)
    found = axioms.attribute(Broken(), x, target=0, method="lrp", rules=[{"on": "linear", "rule": name}]).scores
    assert found[0, 1] == 2


def test_a_users_rule_sees_every_token_of_a_long_batch(add_rule: Any) -> None:
    from axioms.subjects.models.tiny import tiny

    seen: list[tuple[int, ...]] = []

    def look(operation: Any) -> torch.Tensor:
        seen.append(tuple(operation.input.shape[:2]))
        value: torch.Tensor = operation.forward()
        return value

    name = add_rule("t_look", look)
    ids = torch.randint(3, 40, (20, 8), generator=torch.Generator().manual_seed(0))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    model = tiny(architecture="bert")
    rules = [{"on": "linear", "rule": name}]
    found = axioms.attribute(model, given, target=0, method="lrp", rules=rules).scores
    layers = [shape for shape in seen if shape[1:] != (16,)]
    assert layers.count((20, 8)) == 12  # six linear maps in each of two layers, none of them cut short
    torch.testing.assert_close(found, axioms.attribute(model, given, target=0, method="attnlrp").scores)


class Joined(nn.Module):
    """A class token beside what is computed, and zeros beside it."""

    def __init__(self, constant: float) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.full((1, 2), constant, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.token.expand(len(x), -1), x], dim=1).sum(1, keepdim=True)


@pytest.mark.parametrize("constant", [0.0, 1.0, 3.0])
def test_constants_beside_variables_keep_their_share(constant: float) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    book = axioms.attribute(Joined(constant), x, method="attnlrp", ledger=True).ledger
    assert book is not None
    assert book.absorbed("position") == pytest.approx(4 * constant)
    assert book.unexplained == pytest.approx(0, abs=1e-12)
    assert ("cat" in [entry.operation for entry in book.entries]) == (constant != 0)
