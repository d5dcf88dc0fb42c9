"""Sentences as one language model reads them: texts, the subject's tokens, the two forms' token ids.

Characters become tokens through the tokenizer's offsets, whatever kind of tokenizer it is: a token belongs to the
subject if it covers one of its characters. The filters are those of Arras et al. (2025, Appendix B), each counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from axioms.core.errors import InputError
from axioms.subjects.agreement.sample import Sample, Span

Reads = Literal["last", "mask"]
"""Where the model is asked for the verb: behind the last token of what precedes it, or at a mask in its place."""


@dataclass(frozen=True)
class Aligned:
    """A sentence as one model reads it."""

    sample: Sample
    text: str
    forms: tuple[int, int]
    """Token ids of the form that agrees and of the other."""
    truth: tuple[int, ...]
    """The places of the subject's tokens in the text."""
    words: tuple[int, ...]
    """The places of the tokens that are neither special nor the mask."""
    length: int
    """The number of tokens in all."""


def align(
    samples: Iterable[Sample], tokenizer: Any, reads: Reads, limit: int | None = None
) -> tuple[list[Aligned], Counter[str]]:
    """Return the sentences that this model can be asked about, and how many fell to each filter."""
    if not getattr(tokenizer, "is_fast", False):
        raise InputError("the subject's tokens are found through offsets, which only a fast tokenizer gives.")
    if reads == "mask" and tokenizer.mask_token is None:
        raise InputError("the model is asked at a mask, and its tokenizer has no mask token.")
    counts: Counter[str] = Counter()
    aligned = []
    for sample in samples:
        result = _align_sample(sample, tokenizer, reads, limit)
        if isinstance(result, Aligned):
            aligned.append(result)
        else:
            counts[result] += 1
    return aligned, counts


def _align_sample(sample: Sample, tokenizer: Any, reads: Reads, limit: int | None) -> Aligned | str:
    """Return the sentence for this model, or the filter that it falls to."""
    text, subject = sample.context, sample.subject
    if reads == "mask":
        text = sample.masked(tokenizer.mask_token)
        if subject[0] >= sample.verb[1]:
            moved = len(text) - len(sample.text)
            subject = subject[0] + moved, subject[1] + moved
    elif subject[1] > len(text):
        return "subject_after_verb"
    forms = [one_token(tokenizer, sample.context, form) for form in sample.forms]
    if forms[0] is None or forms[1] is None or forms[0] == forms[1]:
        return "split_verb"
    encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
    mask = tokenizer.mask_token_id if reads == "mask" else None
    words = tuple(place for place, token in enumerate(ids) if not special[place] and token != mask)
    truth = covering(encoded["offset_mapping"], subject)
    if not truth:
        return "uncovered_subject"
    if len(words) < 2:
        return "too_short"
    if len(truth) >= len(words):
        return "only_subject"
    if limit is not None and len(ids) > limit:
        return "too_long"
    return Aligned(sample, text, (forms[0], forms[1]), truth, words, len(ids))


def covering(offsets: Iterable[Span], span: Span) -> tuple[int, ...]:
    """Return the tokens that cover a character of the span. Special tokens cover none: their offsets are empty."""
    return tuple(place for place, (start, stop) in enumerate(offsets) if max(start, span[0]) < min(stop, span[1]))


def one_token(tokenizer: Any, context: str, word: str) -> int | None:
    """Return the one token that the word adds to its context, or None where it adds several or changes those before.

    The context matters, because most tokenizers mark the space before a word, each in its own way.
    """
    before = tokenizer(context, add_special_tokens=False, verbose=False)["input_ids"] if context else []
    whole = tokenizer(f"{context} {word}".strip(), add_special_tokens=False, verbose=False)["input_ids"]
    if len(whole) != len(before) + 1 or whole[:-1] != before or whole[-1] == tokenizer.unk_token_id:
        return None
    return whole[-1]
