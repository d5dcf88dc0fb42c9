"""Targets: what is picked, and that methods, ledger and both engines start from it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

import axioms
from axioms.core.errors import InputError
from axioms.model.targets import LogitDifference, ProbabilityOf, choose
from axioms.subjects.models.tiny import tiny

OUTPUTS = torch.tensor([[1.0, 3.0, 2.0], [0.5, -1.0, 0.0]], dtype=torch.float64)
LABELS = torch.tensor([2, 1])
TEXT = {
    "input_ids": torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]]),
    "attention_mask": torch.tensor([[1] * 4, [1, 1, 0, 0]]),
}
MAPPINGS: list[dict[str, Any]] = [
    {"probability": "predicted"},
    {"logit_difference": "predicted"},
    {"logit_difference": [2, 0]},
]


@cache
def bert() -> nn.Module:
    return tiny(architecture="bert")


@pytest.mark.parametrize(
    ("wanted", "values"),
    [
        ("predicted", [3.0, 0.5]),
        ("label", [2.0, -1.0]),
        (0, [1.0, 0.5]),
        (torch.tensor([1, 2]), [3.0, 0.0]),
        ({"probability": "predicted"}, [OUTPUTS.softmax(1)[0, 1].item(), OUTPUTS.softmax(1)[1, 0].item()]),
        ({"probability": "label"}, [OUTPUTS.softmax(1)[0, 2].item(), OUTPUTS.softmax(1)[1, 1].item()]),
        ({"probability": 0}, OUTPUTS.softmax(1)[:, 0].tolist()),
        ({"logit_difference": [2, 0]}, [1.0, -0.5]),
        ({"logit_difference": "predicted"}, [1.0, 0.5]),
    ],
)
def test_what_is_picked(wanted: Any, values: list[float]) -> None:
    target = choose(wanted, OUTPUTS, LABELS)
    torch.testing.assert_close(target(OUTPUTS), torch.tensor(values, dtype=torch.float64))
    index = torch.tensor([1, 0, 1])
    torch.testing.assert_close(target.select(index)(OUTPUTS[index]), target(OUTPUTS)[index])
    torch.testing.assert_close(target.rows(1, 2)(OUTPUTS[1:2]), target(OUTPUTS)[1:2])


@pytest.mark.parametrize(
    ("wanted", "outputs", "what"),
    [
        ({"probability": 3}, OUTPUTS, "out of range"),
        (2**63, OUTPUTS, "out of range"),
        ({"logit_difference": [0, 3]}, OUTPUTS, "out of range"),
        ({"logit_difference": [0]}, OUTPUTS, "a target is a class, {probability: class}"),
        ({"odds": 1}, OUTPUTS, "a target is a class"),
        ({"probability": 0, "logit_difference": [0, 1]}, OUTPUTS, "a target is a class"),
        ({"probability": "predicted"}, OUTPUTS[:, :1], "at least two outputs"),
        ({"logit_difference": "predicted"}, OUTPUTS[:, :1], "at least two outputs"),
        ({"probability": "label"}, OUTPUTS, "needs data with labels"),
        ("largest", OUTPUTS, "must be 'predicted'"),
    ],
)
def test_what_cannot_be_picked(wanted: Any, outputs: torch.Tensor, what: str) -> None:
    with pytest.raises(InputError, match=what):
        choose(wanted, outputs)


@pytest.mark.parametrize("wanted", MAPPINGS)
@pytest.mark.parametrize("method", ["loo", "gradient_x_input", "integrated_gradients", "attnlrp", "cp_lrp"])
def test_methods_explain_it(method: str, wanted: dict[str, Any]) -> None:
    """Methods that are linear in where they start give the sum over the logits, each times the target's slope there."""
    model = bert()
    found = axioms.attribute(model, TEXT, wanted, method)
    logits = model(**TEXT).logits.detach()
    target = choose(wanted, logits)
    torch.testing.assert_close(found.output, target(logits))
    if method in ("attnlrp", "cp_lrp", "gradient_x_input"):
        leaf = logits.clone().requires_grad_()
        (slope,) = torch.autograd.grad(target(leaf).sum(), leaf)
        per_logit = [axioms.attribute(model, TEXT, index, method).scores for index in range(3)]
        wanted_scores = sum(slope[:, index : index + 1] * per_logit[index] for index in range(3))
        torch.testing.assert_close(found.scores, wanted_scores)
    if method == "integrated_gradients":
        torch.testing.assert_close(found.scores.sum(1), found.total, rtol=0, atol=1e-3)


@pytest.mark.parametrize("wanted", MAPPINGS)
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
def test_both_engines_and_the_ledger_start_from_it(method: str, wanted: dict[str, Any]) -> None:
    fast = axioms.attribute(bert(), TEXT, wanted, method, ledger=True)
    explicit = axioms.attribute(bert(), TEXT, wanted, method, engine="explicit")
    torch.testing.assert_close(explicit.scores, fast.scores, rtol=1e-6, atol=1e-9)
    assert fast.ledger is not None
    assert abs(fast.ledger.unexplained) < 1e-9


def test_a_difference_conserves_and_a_probability_does_not() -> None:
    """CP-LRP without biases and with rotary positions; no rule distributes relevance over the target's own softmax."""
    model = tiny(architecture="llama", biases=False)
    difference = axioms.attribute(model, TEXT, {"logit_difference": [2, 0]}, "cp_lrp")
    torch.testing.assert_close(difference.scores.sum(1), difference.output)
    probability = axioms.attribute(model, TEXT, {"probability": "predicted"}, "cp_lrp")
    assert (probability.scores.sum(1) - probability.output).abs().min() > 1e-3


@pytest.mark.parametrize("index", [[0, 3], [-1, 0], [3, 3], [0, -4]])
def test_a_class_that_the_model_does_not_have(index: list[int]) -> None:
    with pytest.raises(InputError, match="the model has 3 outputs, numbered from 0"):
        choose(torch.tensor(index), OUTPUTS)
    with pytest.raises(InputError, match="numbered from 0"):
        choose({"logit_difference": index}, OUTPUTS)
    with pytest.raises(InputError, match="numbered from 0"):
        choose("label", OUTPUTS, torch.tensor(index))


def test_every_class_that_it_has() -> None:
    assert choose(torch.tensor([2, 0]), OUTPUTS)(OUTPUTS).tolist() == [2.0, 0.5]
    assert choose(2, OUTPUTS)(OUTPUTS).tolist() == [2.0, 0.0]
    assert choose(0, OUTPUTS[:, :1])(OUTPUTS[:, :1]).tolist() == [1.0, 0.5]
    for wrong in (3, -1):
        with pytest.raises(InputError, match="out of range"):
            choose(wrong, OUTPUTS)
    for shape in (torch.tensor([0]), torch.tensor([0, 0, 0]), torch.tensor([[0, 0]])):
        with pytest.raises(InputError, match=r"one class per example \(2\)"):
            choose(shape, OUTPUTS)
    for strange in (True, 1.5, "best", None):
        with pytest.raises(InputError, match="target must be"):
            choose(strange, OUTPUTS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs data with labels"):
        choose("label", OUTPUTS)
    mapping: dict[str, Any]
    for mapping in ({"probability": 0}, {"logit_difference": "predicted"}):
        with pytest.raises(InputError, match="at least two outputs; this one has one"):
            choose(mapping, OUTPUTS[:, :1])
        assert choose(mapping, OUTPUTS[:, :2])(OUTPUTS[:, :2]).shape == (2,)
    for mapping in ({}, {"a": 1}, {"logit_difference": [1]}, {"probability": 0, "logit_difference": [0, 1]}):
        with pytest.raises(InputError, match="a target is a class"):
            choose(mapping, OUTPUTS)
    with pytest.raises(InputError, match="needs sentences of the agreement benchmark"):
        choose({"logit_difference": "forms"}, OUTPUTS)
    forms = torch.tensor([0, 1]), torch.tensor([2, 2])
    assert choose({"logit_difference": "forms"}, OUTPUTS, forms=forms)(OUTPUTS).tolist() == [-1.0, -1.0]
    assert choose("predicted", OUTPUTS.to("meta")).index.is_meta


@pytest.mark.parametrize("wanted", [1, *MAPPINGS])
def test_where_propagation_starts(wanted: Any) -> None:
    """Each output times the target's slope there; the outputs themselves are left alone."""
    outputs = OUTPUTS.clone()
    target = choose(wanted, outputs)
    found = target.start(outputs)
    leaf = OUTPUTS.clone().requires_grad_()
    (slope,) = torch.autograd.grad(target(leaf).sum(), leaf)
    torch.testing.assert_close(found, OUTPUTS * slope)
    assert not found.requires_grad
    assert not outputs.requires_grad
    with torch.no_grad():
        torch.testing.assert_close(target.start(outputs), found)


def test_what_a_spec_asks_for_cannot_be_changed_afterwards() -> None:
    for made in (ProbabilityOf(probability=1), LogitDifference(logit_difference=[1, 0])):
        with pytest.raises(ValidationError, match="frozen"):
            made.probability = 2  # type: ignore[union-attr,misc]
        with pytest.raises(ValidationError, match="Extra inputs"):
            type(made).model_validate({**made.model_dump(), "more": 1})
        assert choose(made, OUTPUTS)(OUTPUTS).shape == (2,)
    for wrong in ([1], [1, 2, 3], ["1", 2]):
        with pytest.raises(ValidationError):
            LogitDifference.model_validate({"logit_difference": wrong})
