"""What the tests share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch
import torch._dynamo
from hypothesis import HealthCheck, settings

# Imported here, because pytester drops what an inner run imports, and none of these can be imported twice.
import axioms.engine.handlers.propagate
import axioms.run.runner  # noqa: F401
from axioms.core.registry import RULES

settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

WORDS = "the film is good bad not very a dull fine plot and but it was".split()
ROOT = Path(__file__).parent.parent

GOOD_SPEC = """
claim: A sum is a sum.
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: [[1, 1], [2, 5]]}
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - axiom: conservation
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests measure everything anew: what they change in the running program is in no digest."""
    monkeypatch.setenv("AXIOMS_FRESH", "1")


@pytest.fixture(autouse=True)
def at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside tests print what they print at a desk: where CI is set, pytest tells each failure a second time."""
    for variable in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def replace_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[..., Any]], None]:
    """Put another function in the place of a rule's."""

    def replace(name: str, function: Callable[..., Any]) -> None:
        monkeypatch.setitem(RULES._entries, name, dataclasses.replace(RULES.get(name), function=function))

    return replace


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def good_spec() -> str:
    """A spec with nothing wrong, to break."""
    return GOOD_SPEC


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., Path]:
    """Write a spec under `specs/` of a temporary folder."""

    def write(text: str = GOOD_SPEC, name: str = "mine.yaml") -> Path:
        file = tmp_path / "specs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    return write


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder laid out as a hub repository, for each task: config, safetensors, tokenizer."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS])}
    size: dict[str, Any] = {
        "vocab_size": len(vocabulary),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 12,
        "pad_token_id": 0,
        "num_labels": 2,
    }
    made: dict[str, Path] = {}

    def make(task: str) -> Path:
        if task in made:
            return made[task]
        folder = tmp_path_factory.mktemp(task)
        tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = Whitespace()
        if task != "causal-lm":
            ends = [(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")]
            tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
        named = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
        if task != "causal-lm":
            named |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
        model: Any
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            if task == "causal-lm":
                model = LlamaForCausalLM(LlamaConfig(**size, bos_token_id=2, eos_token_id=3))
            else:
                kind = BertForMaskedLM if task == "masked-lm" else BertForSequenceClassification
                model = kind(BertConfig(**size))
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.normal_(std=0.3)
        model.save_pretrained(folder)
        made[task] = folder
        return folder

    return make
