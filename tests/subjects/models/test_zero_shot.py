"""Classifiers that compare a text with descriptions, and the subjects that need no training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from axioms import attribute
from axioms.core.errors import InputError
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.load import load_model
from axioms.subjects.models.language import tokenize
from axioms.subjects.models.zero_shot import zero_shot_classifier

LABELS = {"negative": "it was bad", "positive": "the film is very good"}
SPEC = Path(__file__).parents[3] / "specs" / "any.yaml"


@pytest.fixture
def encoder(repository: Callable[[str], Path], tmp_path: Path) -> Path:
    """A folder as the asset is: configuration, tokenizer, and weights with a pooler that is not used."""
    torch.manual_seed(0)
    BertModel(BertConfig.from_pretrained(repository("classifier"), initializer_range=0.3)).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(repository("classifier")).save_pretrained(tmp_path)
    return tmp_path


def test_logits_are_differences_of_similarities(encoder: Path) -> None:
    """By hand, one text at a time and without padding."""
    model, tokenizer = BertModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)

    def mean_of(text: str) -> torch.Tensor:
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0)

    texts = ["the film is good", "a dull plot"]
    built = zero_shot_classifier(asset=str(encoder), labels=LABELS)
    with torch.no_grad():
        directions = torch.stack([mean_of(text) / mean_of(text).norm() for text in LABELS.values()])
        similarities = torch.stack([directions @ mean_of(text) for text in texts])
        logits = built.module(**tokenizer(texts, padding=True, return_tensors="pt"))
    torch.testing.assert_close(logits, similarities - similarities.mean(dim=1, keepdim=True), atol=1e-5, rtol=1e-4)


def test_the_ledger_of_such_a_classifier_closes(encoder: Path) -> None:
    built = zero_shot_classifier(asset=str(encoder), labels=LABELS)
    given = tokenize(built, ["the film is good", "dull"]).inputs
    result = attribute(built.module.double(), given, method="cp_lrp", ledger=True)
    assert result.ledger is not None
    assert abs(result.ledger.unexplained) < 1e-9


def test_one_label_is_no_classifier(encoder: Path) -> None:
    with pytest.raises(InputError, match="needs at least two labels"):
        zero_shot_classifier(asset=str(encoder), labels={"only": "good"})


@pytest.mark.parametrize("name", ["gte-small", "e5-small", "all-mpnet-base-v2", "chineseharm-bert", "stories15M"])
def test_committed_subjects_can_be_attributed(name: str, cached_asset: Callable[..., Path]) -> None:
    descriptor = find_descriptor(name, SPEC)
    assert descriptor is not None
    cached_asset(str(descriptor.asset), is_smoke=name == "gte-small")
    model = load_model(name, {}, SPEC)
    text = "今天天气很好" if name == "chineseharm-bert" else "Once upon a time it was great"
    result = attribute(model.module, tokenize(model, [text]).inputs, method="cp_lrp", ledger=True)
    assert result.ledger is not None
    assert abs(result.ledger.unexplained) < 1e-3 * result.output.abs().max()
    assert bool(result.scores.isfinite().all())
