"""The benchmark's registered names: two sources of sentences and the tiny Llama."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.registry import data, subject
from axioms.core.seeds import Seed
from axioms.subjects.agreement.benchmark import of_samples
from axioms.subjects.agreement.goldberg import read, spacy_parser
from axioms.subjects.agreement.grammar import MOST_ATTRACTORS, sentences
from axioms.subjects.data import Data
from axioms.subjects.paths import FilePath

if TYPE_CHECKING:
    from axioms.subjects.models.language import LanguageModel


@data("agreement-sentences")
def agreement_sentences(*, n: int = 300, most_attractors: int = MOST_ATTRACTORS, seed: Seed = 0) -> Data:
    """Sentences of the grammar's test split, with 1 to 4 attractors between the subject and its verb."""
    if n < 1 or not 1 <= most_attractors <= MOST_ATTRACTORS:
        raise InputError(
            f"agreement-sentences needs an n of at least 1 and most_attractors from 1 to {MOST_ATTRACTORS}; "
            f"found {n} and {most_attractors}."
        )
    return Data(agreement=of_samples(sentences(n, split="test", seed=seed, most=most_attractors)))


@data("agreement-file")
def agreement_file(*, path: FilePath, pipeline: str = "en_core_web_trf", n: int | None = None, seed: Seed = 0) -> Data:
    """Goldberg's sentences from lgd_dataset.tsv, with subjects found by a spaCy `pipeline`; `n` rows at random."""
    return Data(agreement=of_samples(*read(Path(path), spacy_parser(pipeline), n=n, seed=seed)))


@subject("agreement-llama")
def agreement_llama(*, files: dict[str, str]) -> LanguageModel:
    """A three-layer Llama that fixtures/agreement/train.py trained on the grammar, with its tokenizer."""
    from transformers import PreTrainedTokenizerFast

    from axioms.subjects.agreement.model import tiny_llama
    from axioms.subjects.models.language import LanguageModel

    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=files["tokenizer"], **names)
    return LanguageModel(tiny_llama(vocabulary=len(tokenizer)), tokenizer)
