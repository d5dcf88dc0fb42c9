"""Whether a text begins with the BOS token, whatever the tokenizer does by itself."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from axioms.core.errors import InputError
from axioms.subjects.models.language import LanguageModel, beginning, tokenize
from axioms.subjects.models.tiny import tiny


def tokenizer(*, adds_bos: bool, **names: str) -> Any:
    plain = Tokenizer(models.WordLevel({"<s>": 1, "<unk>": 2, "a": 3, "b": 4}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    if adds_bos:
        plain.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", **names)


@pytest.mark.parametrize("adds_bos", [True, False])
def test_a_text_begins_as_it_is_told(adds_bos: bool) -> None:
    own = tokenizer(adds_bos=adds_bos, bos_token="<s>")
    model = LanguageModel(tiny(architecture="llama"), own)
    for bos, wanted, special in ((True, [1, 3, 4], [1, 0, 0]), (False, [3, 4], [0, 0])):
        inputs = tokenize(beginning(model, bos), ["a b"]).inputs
        assert inputs["input_ids"].tolist() == [wanted]
        assert inputs["special_tokens_mask"].tolist() == [special]
    assert own("a b").input_ids == ([1, 3, 4] if adds_bos else [3, 4])  # the tokenizer itself is left alone


def test_without_such_a_token_it_says_so() -> None:
    with pytest.raises(InputError, match="has no BOS token"):
        beginning(LanguageModel(tiny(architecture="llama"), tokenizer(adds_bos=False)), True)
