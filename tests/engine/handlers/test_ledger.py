"""The ledger closes: features plus everything kept is the output, each part in closed form."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import pytest
import torch
from torch import nn

import axioms
from axioms.core.errors import InputError, UncoveredOperation
from axioms.core.registry import RULES
from axioms.engine.gradients import scale_gradient
from axioms.engine.handlers import ledger
from axioms.subjects.models.modules import ScalarAttention, fixed_linear
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

COMPOSITES: dict[str, dict[str, Any]] = {
    "attnlrp": {},
    "cp_lrp": {},
    "attnlrp with epsilon": {"epsilon": 1e-2},
    "lrp_epsilon": {"epsilon": 1e-2},
    "lrp_gamma": {"gamma": 0.5},
    "lrp_alpha1_beta0": {},
}


def inputs_for(architecture: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    if architecture == "vit":
        return {"pixel_values": torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=generator)}
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {"input_ids": torch.randint(3, 40, (2, 7), generator=generator), "attention_mask": mask}


@pytest.mark.parametrize("composite", COMPOSITES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_is_unexplained(architecture: str, composite: str) -> None:
    method, options = composite.split()[0], COMPOSITES[composite]
    model = tiny(architecture=architecture)
    found = axioms.attribute(model, inputs_for(architecture), method=method, ledger=True, **options)
    assert found.ledger is not None
    assert found.ledger.output == pytest.approx(found.output.sum().item(), rel=1e-12)
    assert found.ledger.features == pytest.approx(found.scores.sum().item(), rel=1e-9, abs=1e-12)
    assert abs(found.ledger.unexplained / found.ledger.output) < 1e-9


@pytest.mark.parametrize("architecture", [name for name, family in ARCHITECTURES.items() if family.rotary])
def test_cp_lrp_conserves_where_positions_are_rotary_and_biases_zero(architecture: str) -> None:
    model = tiny(architecture=architecture, biases=False)
    found = axioms.attribute(model, inputs_for(architecture), method="cp_lrp")
    torch.testing.assert_close(found.scores.sum(1), found.output, rtol=1e-9, atol=0)


def test_a_learned_sink_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-OSS adds a logit to the softmax's denominator, and experts with biases and a one, which keep some."""
    model = tiny(architecture="gpt-oss", biases=False)
    found = axioms.attribute(model, inputs_for("gpt-oss"), method="cp_lrp", ledger=True)
    assert found.ledger is not None
    keeping = {entry.path for entry in found.ledger.entries if any(abs(x) > 1e-9 for x in entry.absorbed.values())}
    assert keeping == {"model.layers.0.mlp.experts", "model.layers.1.mlp.experts"}

    def without_the_one(experts: Any, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up[..., ::2], gate_up[..., 1::2]
        return up * (gate * torch.sigmoid(gate * experts.alpha))

    experts: Any = [layer.mlp.experts for layer in model.model.layers]  # type: ignore[union-attr]
    for expert in experts:
        with torch.no_grad():  # matrices by their shape, and so not zero yet
            expert.gate_up_proj_bias.zero_()
            expert.down_proj_bias.zero_()
    monkeypatch.setattr(type(experts[0]), "_apply_gate", without_the_one)
    found = axioms.attribute(model, inputs_for("gpt-oss"), method="cp_lrp")
    torch.testing.assert_close(found.scores.sum(1), found.output, rtol=1e-9, atol=0)


def test_every_entry_by_hand() -> None:
    """f = 3 x1 - x2 + 4 at (1, 1) is 6; with epsilon 2 every share is 6 / 8."""
    model = fixed_linear([[3.0, -1.0]], [4.0])
    found = axioms.attribute(
        model, torch.ones(1, 2, dtype=torch.float64), method="lrp_epsilon", epsilon=2.0, ledger=True
    )
    assert found.ledger is not None
    (entry,) = found.ledger.entries
    assert entry.arrived == 6
    assert entry.absorbed == {"bias": 3.0, "epsilon": 1.5}
    assert entry.passed == found.ledger.features == 1.5
    assert found.ledger.unexplained == 0


def test_the_softmax_keeps_what_the_hand_computation_says() -> None:
    """tests/methods/test_lrp_by_hand.py: 19 in all, of which 19/2 + 60 ln 2 / 13 reaches the tokens."""
    model = ScalarAttention(query=0.6931471805599453, key=1.0, value=13.0)
    found = axioms.attribute(model, torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64), ledger=True)
    assert found.ledger is not None
    assert found.ledger.absorbed("softmax") == pytest.approx(19 / 2 - 60 * 0.6931471805599453 / 13)
    assert "softmax" in found.ledger.table()


def test_a_wrong_rule_is_unexplained(replace_rule: Any) -> None:
    """The closed forms know nothing of the rules' code: a rule that is one percent off shows."""
    original = RULES.get("identity").function
    replace_rule("identity", lambda operation: scale_gradient(original(operation), 1.01))
    found = axioms.attribute(tiny(architecture="bert"), inputs_for("bert"), ledger=True)
    assert found.ledger is not None
    assert abs(found.ledger.unexplained / found.ledger.output) > 1e-4


def test_a_method_that_does_not_propagate_has_no_ledger() -> None:
    with pytest.raises(InputError, match="does not propagate relevance"):
        axioms.attribute(nn.Linear(2, 2), torch.ones(1, 2), method="loo", ledger=True)


def test_what_is_not_covered_is_noted_where_the_call_is_not_strict() -> None:
    class Cosine(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.cos(x)

    model = nn.Sequential(Cosine())
    with pytest.raises(UncoveredOperation, match="strict=False"):
        axioms.attribute(model, torch.rand(1, 2))
    found = axioms.attribute(model, torch.rand(1, 2), strict=False)
    assert found.ledger is not None
    assert found.ledger.uncovered == ["cos in 0"]
    assert "no rule for cos in 0" in found.ledger.table()


def test_a_call_that_is_not_strict_leaves_the_next_one_strict() -> None:
    class Foreign(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0]

    class Calls(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return Foreign.apply(x)

    model = Calls()
    found = axioms.attribute(model, torch.rand(1, 2), strict=False)
    assert found.ledger is not None
    assert found.ledger.uncovered == ["Foreign in (the model itself)"]
    with pytest.raises(UncoveredOperation, match="Foreign"):
        axioms.attribute(model, torch.rand(1, 2))


class Two(nn.Module):
    """Two layers with biases and a position, of which all relevance can be followed by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 1)]).double()
        for layer, weight, bias in zip(self.layers, ([[1.0, 2], [3, -1]], [[2.0, 4]]), ([1.0, 0], [5.0]), strict=True):
            layer.weight.data, layer.bias.data = torch.tensor(weight).double(), torch.tensor(bias).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[1](self.layers[0](x) + torch.tensor([10.0, 20.0], dtype=torch.float64))


def test_two_layers_and_a_position_by_hand() -> None:
    """x = (1, 2): hidden (6, 1), plus the position (16, 21), output 32 + 84 + 5."""
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    book = axioms.attribute(Two(), x, method="attnlrp", ledger=True).ledger
    assert book is not None
    first, position, second = book.entries
    assert (first.path, first.operation, first.rule, first.layer) == ("layers.0", "linear", "epsilon", 1)
    assert (position.path, position.rule, position.layer) == ("", "gradient", None)
    assert (second.layer, second.rule) == (2, "epsilon")
    assert (second.arrived, second.absorbed, second.passed) == (121, {"bias": 5, "epsilon": 0}, 116)
    assert (position.arrived, position.absorbed, position.passed) == (116, {"position": 20 + 80}, 16)
    assert (first.arrived, first.absorbed, first.passed) == (16, {"bias": 2, "epsilon": 0}, 14)
    assert (book.output, book.features, book.unexplained) == (121, 14, 0)
    assert (book.absorbed("bias"), book.absorbed("position"), book.absorbed("softmax")) == (7, 100, 0)
    assert [(one.layer, one.operation, one.came_in, one.went_out) for one in book.accounts()] == [
        (1, "linear", 16, 14),
        (2, "linear", 121, 116),
        (None, "__add__" if position.operation == "__add__" else "add", 116, 16),
    ]
    rows = [line.split() for line in book.table().splitlines()]
    assert rows[0] == ["layer", *ledger.CATEGORIES]
    assert rows[1] == ["1", "2.0000", *["0.0000"] * 5]
    assert rows[2] == ["2", "5.0000", *["0.0000"] * 5]
    assert rows[3] == ["outside", "0.0000", "100.0000", *["0.0000"] * 4]
    assert rows[4] == ["all", "7.0000", "100.0000", *["0.0000"] * 4]
    assert book.table().splitlines()[5] == "output 121 = features 14 + the above + 0 unexplained"
    assert "<td>100.0000</td>" in book._repr_html_()


def test_a_layer_that_is_called_twice_has_one_account() -> None:
    layer = nn.Linear(2, 2).double()
    twice = nn.Sequential(nn.Sequential(layer, layer), nn.Linear(2, 1).double())
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    book = axioms.attribute(twice, x, method="attnlrp", ledger=True).ledger
    assert book is not None
    calls = [entry for entry in book.entries if entry.layer == 1]
    account = book.accounts()[0]
    assert len(calls) == 2
    assert account.came_in == pytest.approx(sum(entry.arrived for entry in calls))
    assert account.absorbed["bias"] == pytest.approx(sum(entry.absorbed["bias"] for entry in calls))
    assert account.went_out == pytest.approx(account.came_in - account.absorbed["bias"])


def test_a_batch_is_one_sum() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], dtype=torch.float64)
    books = [axioms.attribute(Two(), rows, method="attnlrp", ledger=True).ledger for rows in (x, x[:1], x[1:2], x[2:])]
    whole, *parts = books
    for name in ("output", "features", "unexplained"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(part, name) for part in parts))
    several = axioms.attribute(Two(), x, method="attnlrp", ledger=True, batch_size=2).ledger
    assert whole is not None
    assert several is not None
    assert several.output == pytest.approx(whole.output)
    assert several.features == pytest.approx(whole.features)


class Masked(nn.Module):
    """Attention in which some keys are masked by minus infinity, filled in or added."""

    def __init__(self, way: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.value, self.out = (nn.Linear(3, 3).double() for _ in range(4))
        self.way = way

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        if self.way == "filled":
            scores = scores.masked_fill(hidden, float("-inf"))
        else:
            scores = scores + torch.zeros(hidden.shape, dtype=x.dtype).masked_fill(hidden, float("-inf"))
        return self.out((scores.softmax(-1) @ self.value(x)).sum(1))


@pytest.mark.parametrize("way", ["filled", "added"])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "lrp_epsilon", "gradient_x_input"])
def test_a_masked_logit_takes_and_keeps_nothing(method: str, way: str) -> None:
    """Minus infinity times nothing is nothing, in both engines and in the ledger."""
    model = Masked(way)
    x = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    fast = axioms.attribute(model, x, target=0, method=method, ledger=method != "gradient_x_input")
    assert bool(fast.scores.isfinite().all())
    if fast.ledger is not None:
        assert abs(fast.ledger.unexplained) < 1e-9 * abs(fast.ledger.output)
        explicit = axioms.attribute(model, x, target=0, method=method, engine="explicit")
        torch.testing.assert_close(explicit.scores, fast.scores, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("engine", ["fast", "explicit"])
def test_heads_that_are_held_take_nothing(engine: str) -> None:
    """With every head held, the softmax is bypassed; with one of them, the ledger still closes."""
    model, given = tiny(architecture="bert"), inputs_for("bert")
    heads = int(model.config.num_attention_heads)  # type: ignore[union-attr,arg-type]

    def run(rule: Any, **options: Any) -> Any:
        rules = [{"on": "softmax", "rule": rule, "layers": [1]}]
        return axioms.attribute(model, given, target=0, method="lrp", rules=rules, **options)

    every = run({"stop": {"heads": tuple(range(1, heads + 1))}}, engine=engine).scores
    torch.testing.assert_close(every, run("stop", engine=engine).scores, rtol=1e-6, atol=1e-8)
    some = run({"stop": {"heads": (2,)}}, ledger=True)
    assert some.ledger is not None
    assert abs(some.ledger.unexplained) < 1e-9 * abs(some.ledger.output)
    assert not torch.allclose(some.scores, every)
    torch.testing.assert_close(run({"stop": {"heads": (2,)}}, engine=engine).scores, some.scores, rtol=1e-6, atol=1e-8)


def test_rules_without_options_close_too() -> None:
    model, given = tiny(architecture="bert"), inputs_for("bert")
    rules = [{"on": kind, "rule": "epsilon"} for kind in ("linear", "sum", "product", "norm", "activation")]
    for more in ([], [{"on": "product", "rule": "uniform"}], [{"on": "linear", "rule": "gamma"}]):
        found = axioms.attribute(model, given, target=0, method="lrp", base="plain", rules=[*rules, *more], ledger=True)
        assert found.ledger is not None
        assert abs(found.ledger.unexplained) < 1e-9 * abs(found.ledger.output)


def test_a_value_that_is_listened_to_is_let_go_of() -> None:
    """Its hook holds its number and not itself, a circle that would wait for the collector."""
    gc.disable()
    try:
        with ledger.recording() as book:
            x = torch.ones(2, requires_grad=True)
            value = x.exp()
            seen = weakref.ref(value)
            book._listen(ledger.LedgerEntry("", "exp", "gradient"), value, {})
            value.sum().backward()
            assert book.entries[0].arrived == pytest.approx(2 * math.e)
            del value
            assert seen() is None
    finally:
        gc.enable()
