"""The table of methods says what the engine does, and what Arras et al. (2025) print in their Table 1."""

from __future__ import annotations

import pytest
import torch

from axioms.commands.rules import rules_table
from axioms.core.registry import METHODS
from axioms.engine.composite import Composite
from axioms.methods.attribute import attribute
from axioms.papers.grid import Grid
from axioms.papers.methods import method_table
from axioms.run.records import method_records
from axioms.subjects.data import random_tokens
from axioms.subjects.models.tiny import tiny

OPERATIONS = {
    "linear": ("linear",),
    "matmul": ("product", "linear"),  # linear where one factor is held constant
    "softmax": ("softmax",),
    "layer_norm": ("norm",),
    "add": ("sum",),
    "GELUActivation": ("activation",),
    "Tanh": ("activation",),
    "BertSelfAttention": ("block",),
}
"""Kinds of the operations of a BERT, by the names that the ledger has for them."""
PROPAGATING = [name for name in METHODS if (made := METHODS.get(name).composite) is not None and made().entries]


def test_every_composite_is_one_with_the_methods_default_options() -> None:
    for name in METHODS:
        make = METHODS.get(name).composite
        assert make is None or isinstance(make(), Composite)
    assert {"attnlrp", "cp_lrp", "lrp_epsilon", "lrp_gamma", "degree_lrp", "block_lrp"} <= set(PROPAGATING)


@pytest.mark.parametrize("name", PROPAGATING)
def test_the_rules_are_those_that_the_engine_applied(name: str) -> None:
    make = METHODS.get(name).composite
    assert make is not None
    model = tiny(architecture="bert").double()
    ledger = attribute(model, dict(random_tokens(n=2).inputs), 0, name, ledger=True).ledger
    assert ledger is not None
    applied = {(each.operation, each.rule) for each in ledger.entries}
    assert {operation for operation, _ in applied} >= {"linear", "layer_norm", "add", "GELUActivation"}
    for operation, rule in applied:
        wanted = [make().rule(kind, "", "") for kind in OPERATIONS[operation]]
        assert rule in ["gradient" if each is None else each.name for each in wanted], operation


def test_no_rules_are_the_plain_gradient() -> None:
    model, inputs = tiny(architecture="bert").double(), dict(random_tokens(n=2).inputs)
    plain = attribute(model, inputs, 0, "lrp", rules=[], base="plain").scores
    torch.testing.assert_close(attribute(model, inputs, 0, "gradient_x_input").scores, plain)


def table(*methods: str) -> Grid | None:
    return method_table("t", "T", "C", method_records(methods))


def test_table_1_of_the_paper() -> None:
    """Treat normalization as a linear layer, treat attention as a constant: its third and fourth column."""
    grid = table("cp_lrp", "attnlrp", "gradient", "gradient_x_input", "alti_logit", "mine")
    assert grid is not None
    norm, softmax = grid.header.index("norm"), grid.header.index("softmax")
    said = {row[0]: (row[norm] == "norm as linear", row[softmax] == "stop") for row in grid.blocks[0].rows}
    paper = {"cp_lrp": (True, True), "attnlrp": (True, False), "gradient": (False, False)}
    assert {name: said[name] for name in paper} == paper
    assert said["gradient_x_input"] == (False, False)
    assert grid.blocks[0].rows[-1] == ["alti_logit", "0.67", *["-"] * 5], "unknown labels are left out"


def test_options_that_matter_are_shown_and_columns_that_nobody_uses_are_not() -> None:
    rows = {row[0]: row for row in rules_table().blocks[0].rows}
    assert rows["lrp_gamma"][2] == "gamma 0.25"
    assert rows["block_lrp"][-1] == "aumann shapley 16"
    assert rows["attnlrp"][-1] == "-"
    assert table("nobody") is None
    alone = table("attnlrp")
    assert alone is not None
    assert "attention block" not in alone.header
