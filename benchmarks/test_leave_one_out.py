"""Leave-one-out by the attention mask beside captum's FeatureAblation at its best `perturbations_per_eval`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms

CAPTUM = "captum's FeatureAblation"


def ablate(model: nn.Module, inputs: dict[str, Tensor], target: Tensor, at_once: int, **options: Any) -> Tensor:
    """Leave-one-out by captum: every token's entry of the mask is set to zero, `at_once` of them in a forward pass."""
    from captum.attr import FeatureAblation

    def explain(mask: Tensor, ids: Tensor, target: Tensor) -> Tensor:
        logits = model(input_ids=ids, attention_mask=mask, **options).logits
        logits = logits[:, -1] if logits.dim() == 3 else logits
        return logits.gather(1, target.unsqueeze(1)).squeeze(1)

    with torch.no_grad():
        return FeatureAblation(explain).attribute(
            inputs["attention_mask"],
            baselines=0,
            additional_forward_args=(inputs["input_ids"], target),
            perturbations_per_eval=at_once,
        )


def best_captum(model: nn.Module, inputs: dict[str, Tensor], choices: tuple[int, ...], **options: Any) -> Any:
    """Captum with the fastest of these numbers of perturbations at once; the class is known to it beforehand."""
    with torch.no_grad():
        logits = model(**inputs).logits
        target = (logits[:, -1] if logits.dim() == 3 else logits).argmax(dim=1)

    def duration(at_once: int) -> float:
        started = time.perf_counter()
        ablate(model, inputs, target, at_once, **options)
        return time.perf_counter() - started

    fastest = min(choices, key=duration) if len(choices) > 1 else choices[0]
    return lambda: ablate(model, inputs, target, fastest, **options)


def agree(ours: Tensor, theirs: Tensor) -> None:
    """Assert that both are the same to what float32 resolves."""
    assert float((ours - theirs).abs().max()) <= 1e-5 * max(1.0, float(theirs.abs().max()))


@pytest.mark.parametrize(
    ("name", "layers", "width", "batch", "length"),
    [("BERT-base", 12, 768, 4, 24), ("6 layers x 384", 6, 384, 8, 24)],
    ids=["bert-base", "bert-small"],
)
def test_loo_on_an_encoder(
    bert: Any, texts: Any, compare: Any, name: str, layers: int, width: int, batch: int, length: int
) -> None:
    model, inputs = bert(layers, width), texts(batch, length)
    captum = best_captum(model, inputs, (4, 8, 12, 24))
    agree(axioms.attribute(model, inputs, method="loo").scores, captum())
    compare(
        f"loo, {name}, {batch} x {length}",
        lambda: axioms.attribute(model, inputs, method="loo"),
        captum,
        of=CAPTUM,
        goal=0.80,
    )


@pytest.mark.parametrize(
    ("batch", "length", "choices", "rounds"),
    [(2, 32, (4, 8, 16, 32), 5), (1, 256, (4,), 1)],
    ids=["32-tokens", "256-tokens"],
)
@pytest.mark.parametrize("read", ["all-logits", "read-logits"])
def test_loo_on_a_causal_model(
    llama: Callable[..., nn.Module],
    texts: Any,
    compare: Any,
    batch: int,
    length: int,
    choices: tuple[int, ...],
    rounds: int,
    read: str,
) -> None:
    """The goal is against what one writes; beside it, captum whose forward pass was told to keep the last logits.

    At 256 tokens captum's one choice is 4, the 1024 tokens in a pass that are its best at 32; others take minutes.
    """
    model, inputs = llama(), texts(batch, length, 49152)
    options = {} if read == "all-logits" else {"logits_to_keep": 1}
    captum = best_captum(model, inputs, choices, **options)
    if length <= 32:
        agree(axioms.attribute(model, inputs, method="loo").scores, captum())
    compare(
        f"loo, Llama of 10 layers x 576, {batch} x {length}",
        lambda: axioms.attribute(model, inputs, method="loo"),
        captum,
        of=CAPTUM + ("" if read == "all-logits" else " with logits_to_keep=1"),
        goal=0.35 if read == "all-logits" else None,
        rounds=rounds,
    )
