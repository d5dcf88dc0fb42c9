"""Tiny tokenizers of the three kinds that the paper's models use."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = ["the key to the cabinets is old .", "the keys to the cabinet are old .", "is are is are the the a bookkeeper"]


def make_word_piece() -> Any:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = ["the", "key", "to", "cabinet", "is", "are", "old", ".", "here", "book", "##keeper", "##s", "##keys"]
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrtuvwxyz")]
    vocabulary = {piece: number for number, piece in enumerate([*special, *words, *letters])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return fast(tokenizer, pad_token="[PAD]", **names)


def make_byte_level() -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)  # a token then covers the space before it
    return fast(tokenizer, pad_token="<pad>", mask_token="<mask>")


def make_sentence_piece() -> Any:
    words = ["the", "key", "to", "cabinet", "is", "are", "old", ".", "here", "book"]
    pieces = [*(f"▁{word}" for word in words), "keeper", "s"]
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyz."]
    scores = [*((piece, -1.0) for piece in pieces), *((letter, -9.0) for letter in letters if letter not in pieces)]
    special = [("<pad>", 0.0), ("<s>", 0.0), ("<unk>", 0.0), ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram([*special, *scores], unk_id=2, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return fast(tokenizer, pad_token="<pad>", bos_token="<s>", unk_token="<unk>", mask_token="<mask>")


def fast(tokenizer: Tokenizer, **names: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


KINDS = {"WordPiece": make_word_piece, "byte-level BPE": make_byte_level, "SentencePiece": make_sentence_piece}


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]()


@pytest.fixture
def word_piece() -> Any:
    return make_word_piece()


@pytest.fixture
def byte_level() -> Any:
    return make_byte_level()
