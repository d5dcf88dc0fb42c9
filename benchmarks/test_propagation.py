"""Propagation beside plain Gradient x Input, written by hand as one forward and one backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms

BATCH, LENGTH = 8, 32
PLAIN = "plain Gradient x Input"


def gradient_x_input(model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
    """Embedding x gradient of the largest logit, summed over the width; parameters are frozen."""
    model.requires_grad_(False)
    embedded = model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_()
    logits = model(inputs_embeds=embedded, attention_mask=inputs["attention_mask"]).logits
    logits = logits[:, -1] if logits.dim() == 3 else logits
    (gradient,) = torch.autograd.grad(logits.amax(dim=1).sum(), embedded)
    return (embedded.detach() * gradient).sum(-1)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(
    ("method", "goal"), [("gradient_x_input", None), ("attnlrp", 1.05), ("cp_lrp", 0.95), ("lrp_epsilon", None)]
)
def test_bert(
    bert: Callable[..., nn.Module], texts: Callable[..., Any], compare: Any, method: str, goal: float, attention: str
) -> None:
    model, inputs = bert(attention=attention), texts(BATCH, LENGTH)
    compare(
        f"{method}, BERT-base, {attention}, {BATCH} x {LENGTH}",
        lambda: axioms.attribute(model, inputs, method=method),
        lambda: gradient_x_input(model, inputs),
        of=PLAIN,
        goal=goal,
    )


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "lrp_epsilon"])
def test_llama(
    llama: Callable[..., nn.Module], texts: Callable[..., Any], compare: Any, method: str, attention: str
) -> None:
    model, inputs = llama(layers=6, width=512, vocabulary=1000, attention=attention), texts(BATCH, LENGTH)
    compare(
        f"{method}, Llama of 6 layers, {attention}, {BATCH} x {LENGTH}",
        lambda: axioms.attribute(model, inputs, method=method),
        lambda: gradient_x_input(model, inputs),
        of=PLAIN,
    )


def test_explicit_engine(bert: Callable[..., nn.Module], texts: Callable[..., Any], compare: Any) -> None:
    """Arras et al. 2025 print 1.83 to 1.98 for LXT's two implementations on GPUs."""
    model, inputs = bert(attention="eager"), texts(BATCH, LENGTH)
    compare(
        "explicit attnlrp, BERT-base, eager",
        lambda: axioms.attribute(model, inputs, method="attnlrp", engine="explicit"),
        lambda: axioms.attribute(model, inputs, method="attnlrp"),
        of="attnlrp by the fast engine",
    )
