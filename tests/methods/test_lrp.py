"""Rules as a spec writes them, and methods that are made of composites."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

import axioms
from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.methods.block import block_composite
from axioms.methods.lrp import (
    RuleSpec,
    alpha1_beta0_composite,
    attnlrp_composite,
    composite_method,
    composite_of,
    cp_lrp_composite,
    epsilon_composite,
    gamma_composite,
    rule_problem,
)


def test_a_rule_is_written_by_name_or_with_options() -> None:
    rules: list[dict[str, Any]] = [
        {"on": "softmax", "rule": "stop", "layers": [6, 10]},
        {"on": "linear", "rule": {"gamma": {"gamma": 0.5}}, "modules": "*.mlp.*"},
        {"on": "softmax", "rule": {"stop": {"heads": [1, 3]}}},  # a list, as YAML has it
        {"on": "gate", "rule": "stop", "functions": ["exp", "sigmoid"]},
    ]
    found = [RuleSpec.model_validate(rule).entry() for rule in rules]
    assert found == [
        Entry("softmax", RuleRef("stop", {}), layers=frozenset((6, 10))),
        Entry("linear", RuleRef("gamma", {"gamma": 0.5}), modules="*.mlp.*"),
        Entry("softmax", RuleRef("stop", {"heads": [1, 3]})),
        Entry("gate", RuleRef("stop", {}), functions=frozenset(("exp", "sigmoid"))),
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"on": "softmax", "rule": "stpo"}, "unknown rule 'stpo'"),
        ({"on": "softmax", "rule": "gamma"}, "rule 'gamma' is for linear operations, not for 'softmax'"),
        ({"on": "linear", "rule": {"gamma": {"gama": 1.0}}}, "no option 'gama'. Did you mean 'gamma'"),
        ({"on": "linear", "rule": {"gamma": {"gamma": "x"}}}, "rule 'gamma', option 'gamma': "),
        ({"on": "linear", "rule": {"gamma": {}, "epsilon": {}}}, "a rule is a name or"),
        ({"on": "linear", "rule": {}}, "a rule is a name or"),
        ({"on": "lineer", "rule": "gamma"}, "Input should be"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RuleSpec.model_validate(rule)


def test_a_rule_is_what_it_was_written_as() -> None:
    made = RuleSpec.model_validate({"on": "linear", "rule": "gamma"})
    with pytest.raises(ValidationError, match="frozen"):
        made.rule = "stop"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        RuleSpec.model_validate({"on": "linear", "rule": "gamma", "layer": [1]})
    with pytest.raises(ValidationError, match="valid integer"):
        RuleSpec.model_validate({"on": "linear", "rule": "gamma", "layers": ["1"]})


def test_a_good_rule_has_no_problem() -> None:
    assert rule_problem(Entry("linear", RuleRef("epsilon", {"epsilon": 0.1}))) is None
    problem = rule_problem(Entry("norm", RuleRef("taylor")))
    assert problem is not None
    assert problem.endswith("for that there are: epsilon, norm_as_linear, stop")


def names(composite: Composite, **place: Any) -> dict[str, tuple[str, dict[str, Any]] | None]:
    """The rule of each kind of operation somewhere, with its options."""
    found = {}
    for kind in ("linear", "sum", "product", "softmax", "norm", "normalizer", "activation", "gate"):
        rule = composite.rule(kind, place.get("function", ""), "", place.get("owned", frozenset()))
        found[kind] = None if rule is None else (rule.name, dict(rule.options))
    return found


PLAIN = {"epsilon": 0.0}
ATTNLRP = {
    "linear": ("epsilon", PLAIN),
    "sum": None,
    "product": ("uniform", PLAIN),
    "softmax": ("taylor", {}),
    "norm": ("norm_as_linear", {}),
    "normalizer": ("stop", {}),
    "activation": ("identity", {}),
    "gate": None,
}


def test_the_rules_of_each_method() -> None:
    assert names(attnlrp_composite()) == ATTNLRP
    half = {"epsilon": 0.5}
    assert names(attnlrp_composite(0.5)) == {**ATTNLRP, "linear": ("epsilon", half), "product": ("uniform", half)}
    small = {"epsilon": 1e-6}
    assert names(epsilon_composite()) == {
        **ATTNLRP,
        **dict.fromkeys(("linear", "sum"), ("epsilon", small)),
        "product": ("uniform", small),
    }
    assert names(gamma_composite()) == {**ATTNLRP, "linear": ("gamma", {"gamma": 0.25})}
    assert names(alpha1_beta0_composite()) == {**ATTNLRP, "linear": ("alpha1_beta0", {})}
    for epsilon, composite in ((0.0, cp_lrp_composite()), (0.5, cp_lrp_composite(0.5))):
        found = names(composite)
        assert found["softmax"] == ("stop", {})
        assert found["linear"] == ("epsilon", {"epsilon": epsilon})
        assert found["product"] is not None
        assert found["product"][0] == "signal_take_all"


@pytest.mark.parametrize("make", [attnlrp_composite, cp_lrp_composite])
def test_a_selective_scan_and_a_swish_that_is_written_out_have_rules_of_their_own(make: Any) -> None:
    scan = names(make(), owned=frozenset(("A_log",)))
    assert scan["gate"] == ("stop", {})
    assert scan["product"] == ("scan_product", {})
    swish = names(make(), owned=frozenset(("gate_up_proj",)), function="sigmoid")
    assert swish["gate"] == ("stop", {})
    assert names(make(), owned=frozenset(("gate_up_proj",)), function="exp")["gate"] is None


@pytest.fixture
def forgetting() -> Iterator[None]:
    known = set(METHODS)
    yield
    for name in set(METHODS) - known:
        del METHODS._entries[name]


def damped(*, share: float = 0.5, kind: str = "linear") -> Composite:
    """Epsilon as large as `share`."""
    return attnlrp_composite().then(Entry(kind, RuleRef("epsilon", {"epsilon": share})))


def test_a_method_is_made_of_a_function_that_makes_composites(forgetting: None) -> None:
    entry = composite_method("test_damped", damped)
    assert entry.passes == 1
    assert entry.settles
    assert not entry.is_ours
    assert entry.summary == "Epsilon as large as `share`."
    options = entry.options_model().model_fields
    assert {name: field.default for name, field in options.items()} == {
        "engine": "fast",
        "share": 0.5,
        "kind": "linear",
    }
    assert options["share"].annotation is float  # and no text, though annotations are not evaluated here
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    x = torch.ones(1, 3, dtype=torch.float64)
    for share in (0.5, 0.1):
        wanted = axioms.attribute(
            model, x, method="lrp", rules=[{"on": "linear", "rule": {"epsilon": {"epsilon": share}}}]
        ).scores
        for engine in ("fast", "explicit", {"explicit": 1e-10}):
            found = axioms.attribute(model, x, method="test_damped", share=share, engine=engine).scores
            torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-9)
    coarse = axioms.attribute(model, x, method="attnlrp", engine={"explicit": 0.5}).scores
    torch.testing.assert_close(coarse, axioms.attribute(model, x, method="attnlrp", epsilon=0.5).scores)
    assert entry.validate is not None
    entry.validate(share=0.2)
    with pytest.raises(InputError, match="method 'test_damped': rule 'epsilon' is for"):
        entry.validate(kind="linaer")


def test_a_composite_is_a_method_too_and_can_be_built_on(forgetting: None) -> None:
    entry = composite_method("test_fixed", attnlrp_composite())
    assert set(entry.options_model().model_fields) == {"engine"}
    assert entry.summary == "The rules of 'test_fixed'."
    assert composite_of("test_fixed").entries == attnlrp_composite().entries
    composite_method("test_damped", damped)
    assert composite_of("test_damped", share=0.1).entries == damped(share=0.1).entries
    assert composite_of("attnlrp", epsilon=0.5).rule("linear", "", "") == RuleRef("epsilon", {"epsilon": 0.5})
    with pytest.raises(InputError, match="method 'loo' is not made of rules"):
        composite_of("loo")


@pytest.mark.parametrize("composite", [damped, attnlrp_composite()])
def test_a_method_belongs_to_the_module_that_makes_it_of_a_composite(forgetting: None, composite: Any) -> None:
    function = composite_method("test_mine", composite).function
    assert (function.__module__, function.__qualname__) == (__name__, "test_mine")


def test_a_base_is_what_the_rules_are_put_on() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)).double()
    x = torch.ones(1, 3, dtype=torch.float64)

    def scores(method: str, **options: Any) -> torch.Tensor:
        return axioms.attribute(model, x, method=method, **options).scores

    torch.testing.assert_close(scores("lrp", rules=[], base="plain"), scores("gradient_x_input"))
    torch.testing.assert_close(scores("lrp", rules=[], base="cp_lrp"), scores("cp_lrp"))
    torch.testing.assert_close(scores("lrp", rules=[]), scores("attnlrp"))


def test_parameters_of_any_kind_become_options_by_name() -> None:
    def made(epsilon: float = 0.5) -> Composite:
        return epsilon_composite(epsilon)

    entry = composite_method("t_by_name", made)
    try:
        parameters = inspect.signature(entry.function).parameters
        assert parameters["epsilon"].kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameters["epsilon"].annotation, parameters["epsilon"].default) == (float, 0.5)
        assert list(parameters) == ["model", "inputs", "target", "engine", "epsilon"]
    finally:
        del METHODS._entries["t_by_name"]


def test_an_engine_is_named_or_has_its_epsilon() -> None:
    options = METHODS.get("attnlrp").options_model()
    for engine in ("fast", "explicit", {"explicit": 1e-6}):
        assert options.model_validate({"engine": engine}).engine == engine  # type: ignore[attr-defined]
    for engine in ("slow", {}, {"fast": 1.0}):
        with pytest.raises(ValidationError):
            options.model_validate({"engine": engine})


def test_blocks_are_cut_at_sixteen_nodes_unless_it_is_said() -> None:
    assert block_composite().entries == block_composite(16).entries
    assert block_composite().entries != block_composite(17).entries
