"""Tokens of SentencePiece with their scores, as the tokenizer files that transformers reads."""

from __future__ import annotations

from typing import Any

Piece = tuple[str, float]
"""A token as text, and its score: of all neighbours that make a token, those with the highest are joined first."""
SPECIAL = ("<unk>", "<s>", "</s>")
BYTES = 256
"""Behind the special tokens comes one for each byte, then the words."""
SPACE = "▁"
"""What stands for a space in a token."""


def tokenizer(pieces: list[Piece]) -> dict[str, Any]:
    """Return the content of tokenizer.json: byte-pair encoding by the scores, unknown characters as bytes."""
    vocabulary = {text: number for number, (text, _) in enumerate(pieces)}
    words = sorted(pieces[len(SPECIAL) + BYTES :], key=lambda piece: -piece[1])
    splits = [(text[:at], text[at:]) for text, _ in words for at in range(1, len(text))]
    start = {"SpecialToken": {"id": SPECIAL[1], "type_id": 0}}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": text, **flags} for number, text in enumerate(SPECIAL)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": SPACE},
                {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [start, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {SPECIAL[1]: {"id": SPECIAL[1], "ids": [1], "tokens": [SPECIAL[1]]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": SPECIAL[0],
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocabulary,
            "merges": [[left, right] for left, right in splits if left in vocabulary and right in vocabulary],
        },
    }


def tokenizer_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the content of tokenizer_config.json."""
    names = dict(zip(("unk_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    limit = config["max_position_embeddings"]
    return {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": limit, **names}
