"""Which operations an entry means, and which entry decides."""

from __future__ import annotations

import pytest

from axioms.engine.composite import Composite, Entry, RuleRef, layer_number

RULE = RuleRef("stop")
NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("", None),
        ("head", None),
        ("encoder.layer.0.attention", 1),
        ("11.mlp", 12),
        ("model.layers.3", 4),
        ("h.2.mlp.5", 3),
        ("conv1.weight", None),
        ("layer2.block", None),
        ("7", 8),
    ],
)
def test_a_layer_is_the_first_number_of_a_path(path: str, number: int | None) -> None:
    assert layer_number(path) == number


@pytest.mark.parametrize(
    ("entry", "meant", "not_meant"),
    [
        (Entry("softmax", RULE), ("softmax", "f", "a.0", NONE), ("linear", "f", "a.0", NONE)),
        (
            Entry("gate", RULE, functions=frozenset(("exp", "sigmoid"))),
            ("gate", "exp", "", NONE),
            ("gate", "softplus", "", NONE),
        ),
        (Entry("linear", RULE, modules="*.mlp.*"), ("linear", "f", "a.mlp.up", NONE), ("linear", "f", "a.mlp", NONE)),
        (Entry("linear", RULE, layers=frozenset((2, 3))), ("linear", "f", "h.1.x", NONE), ("linear", "f", "h.3", NONE)),
        (Entry("linear", RULE, layers=frozenset((2,))), ("linear", "f", "h.1", NONE), ("linear", "f", "head", NONE)),
        (
            Entry("gate", RULE, owning="A_log"),
            ("gate", "exp", "", frozenset(("A_log", "D"))),
            ("gate", "exp", "", frozenset(("D",))),
        ),
    ],
)
def test_an_entry_means_what_it_names(entry: Entry, meant: tuple, not_meant: tuple) -> None:  # type: ignore[type-arg]
    assert entry.matches(*meant)
    assert not entry.matches(*not_meant)


def test_the_last_entry_that_matches_decides() -> None:
    first, second = RuleRef("epsilon"), RuleRef("gamma", {"gamma": 0.5})
    composite = Composite.of({"linear": first, "sum": RULE}).then(Entry("linear", second, layers=frozenset((1,))))
    assert composite.rule("linear", "f", "h.0") is second
    assert composite.rule("linear", "f", "h.1") is first
    assert composite.rule("sum", "add", "h.0") is RULE
    assert composite.rule("gate", "exp", "h.0") is None
    assert composite.has("sum")
    assert not composite.has("gate")
    assert len(composite.entries) == 3
