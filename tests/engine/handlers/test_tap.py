"""Relevance at layers, heads, neurons and modules."""

from __future__ import annotations

import pytest
import torch

import axioms
from axioms.core.errors import InputError, NotDefined
from axioms.engine import facts
from axioms.engine.facts import Facts
from axioms.engine.handlers.patch import outputs_with, values_at
from axioms.engine.handlers.tap import ACTIVE, Tap, _makes_scores, _reads_weights, layers_of, tapping
from axioms.engine.operations import Product
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.subjects.models.tiny import tiny

TEXT = {
    "input_ids": torch.tensor([[5, 9, 13, 4], [7, 7, 30, 21]]),
    "attention_mask": torch.ones(2, 4, dtype=torch.long),
}


@pytest.mark.parametrize("layer", [1, 2])
def test_relevance_is_conserved_from_layer_to_layer(layer: int) -> None:
    """CP-LRP without biases on a rotary model: each layer's relevance sums to the logit."""
    model = tiny(architecture="llama", biases=False)
    found = axioms.attribute(model, TEXT, method="cp_lrp", at=f"layer.{layer}")
    assert found.at is not None
    assert found.at.shape == (2, 4, 16)
    torch.testing.assert_close(found.at.sum((1, 2)), found.output, rtol=1e-9, atol=0)


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
def test_heads(method: str, backend: str) -> None:
    """What the heads of a layer hold is what their output projection sends back to them."""
    model = tiny(architecture="bert", backend=backend)  # type: ignore[arg-type]
    heads = axioms.attribute(model, TEXT, method=method, at="layer.2.heads").at
    projected = axioms.attribute(model, TEXT, method=method, at="bert.encoder.layer.1.attention.self").at
    assert heads is not None
    assert projected is not None
    assert heads.shape == (2, 2, 4, 8)
    torch.testing.assert_close(heads.transpose(1, 2).flatten(2), projected)


@pytest.mark.parametrize(
    ("at", "what"),
    [("layer.3", "there is no layer 3; the model has 2"), ("bert.encodr", "no module 'bert.encodr'. Did you mean")],
)
def test_a_place_that_is_not_there(at: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        axioms.attribute(tiny(architecture="bert"), TEXT, at=at)


def test_a_method_that_does_not_propagate() -> None:
    with pytest.raises(InputError, match="brought no relevance to"):
        axioms.attribute(tiny(architecture="bert"), TEXT, method="loo", at="layer.1")


PLACES = ["layer.1", "layer.2.heads", "layer.1.mlp", "layer.2.queries", "layer.1.keys", "classifier"]


@pytest.mark.parametrize("method", ["attnlrp", "gradient", "atp", "atp_qk"])
@pytest.mark.parametrize("at", PLACES)
def test_relevance_at_a_place_is_a_number_for_each_value_there_and_no_graph(at: str, method: str) -> None:
    model = tiny(architecture="bert")
    found = axioms.attribute(model, TEXT, target=0, method=method, at=at).at
    (value,) = values_at(Model(model), read_inputs(model, TEXT), [at])
    assert found is not None
    assert not found.requires_grad
    assert bool(found.isfinite().all())
    assert found.shape[:-1] == value.shape[:-1]
    if method != "atp_qk" or at.split(".")[-1] not in ("queries", "keys"):
        assert found.shape == value.shape


@pytest.mark.parametrize("at", PLACES)
def test_what_is_put_at_a_place_is_what_the_model_goes_on_with(at: str) -> None:
    """The value itself changes nothing; twice the value is the slope times it, where the rest is linear in it."""
    module = tiny(architecture="bert")
    model, inputs = Model(module), read_inputs(module, TEXT)
    with torch.no_grad(), model.at_rest():
        plain = model(inputs)
    same = outputs_with(model, inputs, {at: lambda value: value.clone()})
    torch.testing.assert_close(same, plain)
    (value,) = values_at(model, inputs, [at])
    seen: list[torch.Tensor] = []

    def a_little_more(value: torch.Tensor) -> torch.Tensor:
        seen.append(value)
        return value * 1.001

    moved = outputs_with(model, inputs, {at: a_little_more})
    assert torch.equal(seen[0], value)
    change = axioms.attribute(module, TEXT, target=0, method="atp", at=at).at
    assert change is not None
    estimated = change.flatten(1).sum(1) * 0.001
    torch.testing.assert_close((moved - plain)[:, 0], estimated, rtol=2e-2, atol=1e-7)


def test_places_by_name() -> None:
    parts = {"layer.12": (12, None), "layer.3.heads": (3, "heads"), "layer.3.mlp": (3, "mlp")}
    for at, (layer, part) in {**parts, "layer.2.queries": (2, "queries"), "layer.2.keys": (2, "keys")}.items():
        assert (Tap(at).layer, Tap(at).part) == (layer, part)
    for other in ("layers.3", "layer.x", "layer.3.head", "encoder.layer.3", "layer.3.heads.x"):
        assert (Tap(other).layer, Tap(other).part) == (None, None)
    bert, nested = tiny(architecture="bert"), torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()), torch.nn.ReLU())
    assert layers_of(bert) == {1: "bert.encoder.layer.0", 2: "bert.encoder.layer.1"}
    assert layers_of(nested) == {1: "0", 2: "1"}


def test_taps_are_open_inside_and_closed_after() -> None:
    tap = Tap("layer.1")
    with tapping(tap) as taps:
        assert taps == (tap,)
        assert ACTIVE.get() == (tap,)
    assert ACTIVE.get() == ()
    with pytest.raises(NotDefined, match=r"the model has no 'layer.1.heads'"):
        values_at(Model(torch.nn.Linear(2, 1)), Inputs(torch.ones(1, 2)), ["layer.1.heads"])


def test_scores_are_made_of_two_variables_that_are_neither_weights_nor_scores() -> None:
    def product(*known: Facts, contracts: bool = True) -> Product:
        factors = tuple(torch.ones(2, 2) for _ in known)
        for factor, fact in zip(factors, known, strict=True):
            facts.note(factor, fact)
        return Product("product", "matmul", lambda: torch.ones(2, 2), factors, torch.matmul, contracts)

    plain, weights, scores = Facts(), Facts(is_weights=True), Facts(is_scores=True)
    assert _makes_scores(product(plain, plain))
    for wrong in ((weights, plain), (plain, weights), (scores, plain), (plain, scores), (weights, weights)):
        assert not _makes_scores(product(*wrong))
    assert not _makes_scores(product(plain, plain, contracts=False))
    assert not _makes_scores(product(plain, plain, plain))
    for known, wanted in ((weights, True), (plain, False), (scores, False)):
        assert _reads_weights(product(plain, known)) == wanted
        assert _reads_weights(product(known, plain)) == wanted


@pytest.mark.parametrize("method", ["gradient", "gradient_x_input", "attnlrp", "atp"])
def test_features_are_left_alone_where_a_tap_is_open(method: str) -> None:
    from axioms.core.registry import METHODS
    from axioms.model.targets import Target

    module = tiny(architecture="bert")
    model, inputs = Model(module), read_inputs(module, TEXT)
    with torch.enable_grad(), model.at_rest(), tapping(Tap("layer.1")):
        METHODS.get(method).function(model, inputs, Target(torch.tensor([0, 1])))
    assert not inputs.features.requires_grad


def test_what_a_module_puts_out_beside_the_value_stays() -> None:
    class Three(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x, 10 * x, 100 * x

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Three()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second, third = self.inner(x)
            return first + second + third

    found = outputs_with(Model(Outer()), Inputs(torch.ones(1, 2)), {"inner": lambda value: value * 5})
    assert found.tolist() == [[115.0, 115.0]]
