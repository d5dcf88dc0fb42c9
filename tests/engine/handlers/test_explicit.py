"""The fast engine against the explicit one, which carries relevance itself and shares no rule with it."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from math import log
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import axioms
from axioms.core.errors import UncoveredOperation, UnknownName
from axioms.core.registry import RULES
from axioms.engine import explicit_rules
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.engine.explicit_rules import EXPLICIT_RULES
from axioms.engine.handlers import explicit
from axioms.engine.handlers.explicit import propagate_explicit
from axioms.engine.handlers.ledger import recording
from axioms.engine.handlers.propagate import propagate
from axioms.methods.lrp import attnlrp_composite, cp_lrp_composite
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.subjects.models.modules import ScalarAttention
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

TINY = 1e-12
BUILDS = [(name, backend) for name, family in ARCHITECTURES.items() for backend in family.backends]


def epsilon_everywhere(epsilon: float) -> Composite:
    return attnlrp_composite(epsilon).then(Entry("sum", RuleRef("epsilon", {"epsilon": epsilon})))


COMPOSITES = {
    "attnlrp": attnlrp_composite(0.0),
    "cp_lrp": cp_lrp_composite(0.0),
    "lrp_epsilon": epsilon_everywhere(TINY),
    "lrp_gamma": attnlrp_composite(0.0).then(Entry("linear", RuleRef("gamma", {"gamma": 0.25}))),
    "lrp_alpha1_beta0": attnlrp_composite(0.0).then(Entry("linear", RuleRef("alpha1_beta0"))),
    "one head constant": attnlrp_composite(0.0).then(Entry("softmax", RuleRef("stop", {"heads": (2,)}))),
}


@cache
def subject(architecture: str, backend: str) -> tuple[Model, Inputs, Target]:
    """A tiny model with two examples, of which the second is padded."""
    generator = torch.Generator().manual_seed(1)
    ids, mask = torch.randint(3, 40, (2, 7), generator=generator), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    images = torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=generator)
    module = tiny(architecture=architecture, backend="eager" if backend == "eager" else "sdpa")
    return given_to(
        module, {"pixel_values": images} if architecture == "vit" else {"input_ids": ids, "attention_mask": mask}
    )


def given_to(module: nn.Module, given: Tensor | dict[str, Tensor]) -> tuple[Model, Inputs, Target]:
    model, inputs = Model(module), read_inputs(module, given)
    with model.at_rest(), torch.no_grad():
        return model, inputs, choose("predicted", model(inputs))


def fast(subject: tuple[Model, Inputs, Target], composite: Composite) -> Tensor:
    with subject[0].at_rest():
        return propagate(*subject, composite)


def slow(subject: tuple[Model, Inputs, Target], composite: Composite, epsilon: float = TINY) -> Tensor:
    with subject[0].at_rest():
        return propagate_explicit(*subject, composite, epsilon=epsilon)


def difference(found: Tensor, wanted: Tensor) -> float:
    """Relative to the largest relevance; NaN counts as infinitely far."""
    if not bool(torch.isfinite(found).all() and torch.isfinite(wanted).all()):
        return float("inf")
    return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-30))


@pytest.mark.parametrize("composite", COMPOSITES)
@pytest.mark.parametrize(("architecture", "backend"), BUILDS)
def test_both_engines_agree(architecture: str, backend: str, composite: str) -> None:
    built = subject(architecture, backend)
    assert difference(fast(built, COMPOSITES[composite]), slow(built, COMPOSITES[composite])) < 1e-6


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_both_engines_agree_on_an_epsilon_that_matters(architecture: str) -> None:
    built = subject(architecture, "eager")
    without, found = fast(built, epsilon_everywhere(0.0)), fast(built, epsilon_everywhere(0.1))
    assert difference(found, without) > 1e-2
    assert difference(found, slow(built, epsilon_everywhere(0.1))) < 1e-6


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_difference_is_linear_in_epsilon(architecture: str, method: str) -> None:
    """So that it is epsilon, and nothing else, by which the engines differ."""
    built = subject(architecture, "eager")
    exact = fast(built, COMPOSITES[method])
    more, less = (difference(slow(built, COMPOSITES[method], epsilon), exact) for epsilon in (1e-8, 1e-9))
    assert more / less == pytest.approx(10, rel=0.1)


RULES_OF: dict[str, list[RuleRef | None]] = {
    "linear": [
        None,
        RuleRef("epsilon", {"epsilon": 0.03}),
        RuleRef("gamma", {"gamma": 0.5}),
        RuleRef("alpha1_beta0"),
    ],
    "sum": [None, RuleRef("epsilon", {"epsilon": 0.03})],
    "product": [
        None,
        RuleRef("uniform", {"epsilon": 0.03}),
        RuleRef("signal_take_all"),
        RuleRef("signal_take_all", {"signal": 0}),
        RuleRef("scan_product"),
        RuleRef("epsilon"),
    ],
    "softmax": [None, RuleRef("taylor"), RuleRef("stop"), RuleRef("stop", {"heads": (1,)})],
    "norm": [None, RuleRef("norm_as_linear")],
    "normalizer": [None, RuleRef("stop")],
    "activation": [None, RuleRef("identity"), RuleRef("stop")],
    "gate": [RuleRef("stop"), RuleRef("epsilon")],
}
"""None is the plain gradient."""


@st.composite
def composites(draw: st.DrawFn) -> Composite:
    """A rule for each kind of operation everywhere, and others in some layers."""
    drawn = [
        (kind, draw(st.sampled_from(rules)), layers)
        for kind, rules in RULES_OF.items()
        for layers in (frozenset[int](), frozenset({1}), frozenset({2}))
    ]
    return Composite(Entry(kind, rule, layers=layers) for kind, rule, layers in drawn if rule is not None)


@given(architecture=st.sampled_from(list(ARCHITECTURES)), composite=composites())
def test_both_engines_agree_on_any_composite(architecture: str, composite: Composite) -> None:
    built = subject(architecture, "eager")
    assert difference(fast(built, composite), slow(built, composite)) < 1e-6


@given(architecture=st.sampled_from(list(ARCHITECTURES)), composite=composites())
def test_the_ledger_of_any_composite_closes(architecture: str, composite: Composite) -> None:
    """Also where products, norms and activations are crossed by the plain gradient, or some heads are constant."""
    with recording() as kept:
        fast(subject(architecture, "eager"), composite)
    assert kept.output != 0
    assert abs(kept.unexplained / kept.output) < 1e-9


BY_HAND = {
    "attnlrp": [2 + 24 * log(2) / 13, -1 / 2 + 8 * log(2) / 13, 8 + 28 * log(2) / 13],
    "cp_lrp": [4, -1, 16],
}
"""Worked out in tests/methods/test_lrp_by_hand.py."""


@pytest.mark.parametrize("method", BY_HAND)
def test_three_tokens_by_hand(method: str) -> None:
    module = ScalarAttention(query=log(2), key=1.0, value=13.0)
    built = given_to(module, torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64))
    wanted = torch.tensor([BY_HAND[method]], dtype=torch.float64)
    torch.testing.assert_close(slow(built, COMPOSITES[method]), wanted, rtol=0, atol=1e-10)


def test_epsilon_by_hand() -> None:
    """z = 3 - 1 = 2, f = 2 z: (1) keeps z / (z + eps) of the relevance 4 twice: (6, -2) (2 / 2.5) (4 / 4.5)."""

    class TwoMaps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.linear(F.linear(x, x.new_tensor([[3.0, -1.0]])), x.new_tensor([[2.0]]))

    built = given_to(TwoMaps(), torch.ones(1, 2, dtype=torch.float64))
    found = slow(built, Composite.of({"linear": RuleRef("epsilon", {"epsilon": 0.5})}))
    torch.testing.assert_close(found, torch.tensor([[6.0, -2.0]], dtype=torch.float64) * (2 / 2.5) * (4 / 4.5))


class Calls(nn.Module):
    """Calls torch in ways that the tiny models do not, on two products of the features."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self.call = call
        generator = torch.Generator().manual_seed(0)
        self.left, self.right = torch.randn(2, 4, 4, dtype=torch.float64, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        left, right = x @ self.left, x @ self.right
        value: Tensor = getattr(self, self.call)(left, right)
        return value

    def in_place(self, left: Tensor, right: Tensor) -> Tensor:
        left.mul_(right)  # the call's result is dropped
        left -= right
        return left

    def activation_in_place(self, left: Tensor, right: Tensor) -> Tensor:
        F.silu(left, inplace=True)
        return left * right

    def assignment(self, left: Tensor, right: Tensor) -> Tensor:
        left[:, 1:3] = right[:, :2]
        return left * 3 - right

    def accumulation(self, left: Tensor, right: Tensor) -> Tensor:
        total = torch.zeros_like(left).index_add_(1, torch.tensor([0, 1, 1, 3]), left)
        return total.scatter_add(1, torch.tensor([[0, 0, 2, 2]] * 2), -right) / 2

    def keyword(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.mul(left, other=right)

    def square(self, left: Tensor, right: Tensor) -> Tensor:
        return left**2 + right * right

    def quotient(self, left: Tensor, right: Tensor) -> Tensor:
        return left / (right * right).sum(-1, keepdim=True).sqrt() + torch.einsum("bi,i->bi", right, self.left[0])

    def masked(self, left: Tensor, right: Tensor) -> Tensor:
        """Minus infinity once by filling and once by adding."""
        mask = torch.tensor([[0.0, float("-inf")], [0.0, 0.0]], dtype=torch.float64)
        logits = left.reshape(-1, 2, 2).masked_fill(mask < 0, float("-inf")) + mask
        return (torch.softmax(logits, -1) @ right.reshape(-1, 2, 2)).flatten(1)


@pytest.mark.parametrize("composite", ["attnlrp", "cp_lrp", "lrp_gamma"])
@pytest.mark.parametrize("call", ["assignment", "accumulation", "square", "quotient", "masked"])
def test_both_engines_agree_on_other_calls(call: str, composite: str) -> None:
    built = given_to(Calls(call), torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)))
    assert difference(fast(built, COMPOSITES[composite]), slow(built, COMPOSITES[composite])) < 1e-6


@pytest.mark.parametrize("composite", ["attnlrp", "cp_lrp", "lrp_gamma", "lrp_epsilon"])
@pytest.mark.parametrize("call", ["in_place", "activation_in_place", "keyword", "accumulation", "square"])
def test_relevance_is_conserved_however_a_call_is_spelled(call: str, composite: str) -> None:
    """None of these has a bias, a softmax or another constant that could absorb relevance."""
    model, inputs, target = given_to(
        Calls(call), torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    )
    output = target(model(inputs))
    found = slow((model, inputs, target), COMPOSITES[composite]).sum(1)
    torch.testing.assert_close(found, output, rtol=1e-8, atol=0)


def test_relevance_is_zero_where_every_path_is_stopped() -> None:
    built = given_to(nn.Softmax(dim=1), torch.rand(2, 3, dtype=torch.float64))
    assert torch.equal(slow(built, COMPOSITES["cp_lrp"]), torch.zeros(2, 3, dtype=torch.float64))


def test_what_it_does_not_know_it_says() -> None:
    built = given_to(nn.Linear(3, 2, dtype=torch.float64), torch.rand(2, 3, dtype=torch.float64))
    with pytest.raises(UnknownName, match=r"unknown rule 'gama'\. Did you mean 'gamma'"):
        slow(built, Composite.of({"linear": RuleRef("gama")}))
    gate = given_to(nn.Sigmoid(), torch.rand(2, 3, dtype=torch.float64))
    with pytest.raises(UncoveredOperation, match="'sigmoid'"):
        slow(gate, COMPOSITES["attnlrp"])


def test_every_rule_has_an_explicit_version() -> None:
    """Or an oracle of another kind: Euler's theorem in test_degrees.py, Simpson's rule in test_blocks.py."""
    assert set(RULES) - {"degree", "aumann_shapley"} <= set(EXPLICIT_RULES)


@pytest.mark.parametrize("module", [explicit, explicit_rules])
def test_no_rule_is_shared(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"axioms.engine.rules", "axioms.engine.selective_scan", "axioms.engine.handlers.propagate"}


def test_what_no_rule_covers_is_named_with_its_module() -> None:
    class Odd(nn.Module):
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2).double())
            self.function = function

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.function(self.inner(x))

    x = torch.ones(1, 2, dtype=torch.float64)
    for function, name in ((torch.cos, "cos"), (torch.sigmoid, "sigmoid"), (lambda x: x.log_softmax(1), "log_softmax")):
        with pytest.raises(UncoveredOperation, match=f"no explicit rule covers '{name}' in module ''"):
            axioms.attribute(Odd(function), x, target=0, method="attnlrp", engine="explicit")
    stopped = Odd(lambda x: x)
    rules = [{"on": "linear", "rule": "stop"}]
    found = axioms.attribute(stopped, x, target=0, method="lrp", rules=rules, engine="explicit")
    assert not bool(found.scores.any())


def test_the_explicit_engine_leaves_the_features_alone() -> None:
    from axioms.engine.handlers.explicit import propagate_explicit
    from axioms.methods.lrp import attnlrp_composite
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

    inputs = Inputs(torch.ones(1, 2, dtype=torch.float64))
    model = Model(nn.Linear(2, 1).double())
    with model.at_rest():
        found = propagate_explicit(model, inputs, Target(torch.tensor([0])), attnlrp_composite())
    assert not inputs.features.requires_grad
    assert not found.requires_grad
