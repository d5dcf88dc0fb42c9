"""Relevance at layers, heads, neurons and modules."""

from __future__ import annotations

import pytest
import torch

import axioms
from axioms.core.errors import InputError
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
