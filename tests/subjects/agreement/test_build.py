"""A spec's subject on the benchmark: what the model reads, what is explained, and which sentences remain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from axioms.core.entries import Registered
from axioms.core.errors import InputError
from axioms.core.registry import DATA, SUBJECTS
from axioms.model.targets import choose
from axioms.run.source import build_subject
from axioms.spec import Run, Subject
from axioms.subjects.agreement.benchmark import of_samples
from axioms.subjects.agreement.sample import Sample
from axioms.subjects.built import BuiltSubject
from axioms.subjects.data import Data
from axioms.subjects.models.language import LanguageModel

ROOT = Path(__file__).parents[3]
RUN = Run(dtype="float64", device="cpu")


def built(model: Any, data: Any) -> BuiltSubject:
    written = {"model": model, "data": data, "target": {"logit_difference": "forms"}}
    file = ROOT / "specs" / "agreement.yaml"
    return build_subject(Subject.model_validate(written, context={"file": file}), RUN, file)


def test_a_causal_model_is_asked_after_the_context_and_only_right_sentences_remain() -> None:
    subject = built("agreement-llama", {"agreement-sentences": {"n": 40, "seed": 5}})
    agreement, (side,) = subject.data.agreement, subject.sides.values()
    assert agreement is not None
    assert len(side.inputs) == len(agreement.aligned) == len(subject.tokens) == len(subject.data.texts)
    assert len(side.inputs) + agreement.counts["wrong"] == agreement.counts["read"] == 40
    difference = subject.target(side.outputs)
    assert bool((difference > 0).all())
    for index, one in enumerate(agreement.aligned):
        assert one.text == one.sample.context
        agrees, other = side.outputs[index, list(one.forms)]
        assert difference[index].item() == pytest.approx((agrees - other).item())
        spelt = "".join(subject.tokens[index][place] for place in one.truth).replace("Ġ", "")
        assert spelt == one.sample.text[slice(*one.sample.subject)]


def masked_model(tokenizer: Any) -> LanguageModel:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=80, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
    return LanguageModel(BertForMaskedLM(config), tokenizer, "mask")


def masked_sentences() -> Data:
    text = "the key to the cabinets is old ."
    agrees = Sample(text, (24, 26), ("is", "are"), (4, 7), 1)
    swapped = Sample(text.replace("is", "are"), (24, 27), ("are", "is"), (4, 7), 1)
    return Data(agreement=of_samples([agrees, swapped]))


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch, word_piece: Any) -> None:
    monkeypatch.setitem(
        SUBJECTS._entries, "masked-for-test", Registered("masked-for-test", lambda: masked_model(word_piece))
    )
    monkeypatch.setitem(DATA._entries, "sentences-for-test", Registered("sentences-for-test", masked_sentences))


@pytest.mark.usefixtures("masked")
def test_a_masked_model_is_asked_at_the_mask(word_piece: Any) -> None:
    """Of two sentences that differ in which form is said to agree alone, exactly one is right."""
    subject = built("masked-for-test", "sentences-for-test")
    (side,), agreement = subject.sides.values(), subject.data.agreement
    assert agreement is not None
    (one,) = agreement.aligned
    assert one.text == "the key to the cabinets [MASK] old ."
    ids = side.inputs.fixed["input_ids"]
    place = ids[0].tolist().index(word_piece.mask_token_id)
    with torch.no_grad():
        logits = side.model.module.eval()(input_ids=ids).logits[0, place]
    wanted = logits[one.forms[0]] - logits[one.forms[1]]
    assert wanted > 0
    assert subject.target(side.outputs)[0].item() == pytest.approx(wanted.item(), abs=1e-9)
    assert agreement.accuracy == 0.5
    assert place not in one.words


def test_forms_need_the_benchmark() -> None:
    with pytest.raises(InputError, match="agreement benchmark"):
        choose({"logit_difference": "forms"}, torch.zeros(1, 3))


def test_a_model_without_a_tokenizer_cannot_be_asked() -> None:
    with pytest.raises(InputError, match="no tokenizer"):
        built({"tiny": {"architecture": "llama"}}, {"agreement-sentences": {"n": 2}})
