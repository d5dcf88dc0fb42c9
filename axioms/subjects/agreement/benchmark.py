"""The agreement benchmark as data: sentences, then what one model reads of them, then what it gets right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.subjects.agreement.align import Aligned, align
from axioms.subjects.agreement.sample import Sample

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.models.language import LanguageModel

FILTERS = {
    "malformed": "rows that are not five columns with one mask",
    "same_forms": "the singular and plural form are the same",
    "not_nsubj": "the verb has no nominal subject, or several",
    "not_present": "the verb is not in the present tense (VBZ, VBP)",
    "subject_after_verb": "part of the subject follows the verb, where a causal model cannot see it",
    "split_verb": "one of the forms is not one token",
    "uncovered_subject": "no token covers the subject",
    "too_short": "the input has fewer than two tokens",
    "only_subject": "the subject is the whole input",
    "too_long": "the input is longer than the model takes",
    "wrong": "the model prefers the form that does not agree",
}
"""Why a sentence does not count, in the order in which the filters apply."""


@dataclass(frozen=True)
class Agreement:
    """Sentences of the benchmark, and how many fell to each filter."""

    samples: tuple[Sample, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many were `read`, and how many fell to each of FILTERS."""
    aligned: tuple[Aligned, ...] = ()
    """The sentences as one model reads them; nothing before a model is chosen."""

    def for_model(self, model: LanguageModel) -> Agreement:
        """Return the sentences that this model can be asked about."""
        from axioms.subjects.models.language import token_limit

        if model.tokenizer is None:
            raise InputError("this model has no tokenizer, so it cannot be asked about sentences.")
        aligned, dropped = align(self.samples, model.tokenizer, model.reads, token_limit(model))
        counts = {**self.counts, **dropped}
        if not aligned:
            raise InputError(f"no sentence is left for this model: {describe_counts(counts)}.")
        return replace(self, counts=counts, aligned=tuple(aligned))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the model reads."""
        return tuple(sentence.text for sentence in self.aligned)

    def rows(self, start: int, stop: int) -> Agreement:
        """Return some of the sentences; the counts are still those of all."""
        return replace(self, aligned=self.aligned[start:stop])

    def forms(self) -> tuple[Tensor, Tensor]:
        """Return the token ids of the forms that agree, and of the others."""
        import torch

        agrees, other = zip(*(sentence.forms for sentence in self.aligned), strict=True)
        return torch.tensor(agrees), torch.tensor(other)

    def keep_correct(self, correct: Sequence[int]) -> Agreement:
        """Return the sentences that the model gets right, with the others counted (Arras et al. 2025, Section 4.1)."""
        if not correct:
            raise InputError("the model prefers the wrong form in every sentence, and only right ones are evaluated.")
        wrong = len(self.aligned) - len(correct)
        aligned = tuple(self.aligned[index] for index in correct)
        return replace(self, aligned=aligned, counts={**self.counts, "wrong": wrong})

    @property
    def accuracy(self) -> float:
        """The share of sentences that the model gets right, of those it was asked about."""
        return len(self.aligned) / (len(self.aligned) + self.counts.get("wrong", 0))


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return the counts as the end of a sentence."""
    dropped = [f"{counts[name]} {name}" for name in FILTERS if counts.get(name)]
    return f"of {counts.get('read', 0)} read, {', '.join(dropped) or 'none dropped'}"


def of_samples(samples: Sequence[Sample], counts: Mapping[str, int] | None = None) -> Agreement:
    """Return the benchmark of these sentences, before any model has seen them."""
    return Agreement(tuple(samples), dict(counts or Counter(read=len(samples))))
