"""Texts that share their words with others, whatever their tokenization: to keep training and evaluation apart.

SST-2 was cut from Rotten Tomatoes, tokenized anew (`does n't`, `-lrb-`) and split into sentences, so that equality
misses what a model has seen. Character n-grams of the letters and digits alone do not depend on tokenization.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

LENGTH = 12
"""Letters and digits in an n-gram: about three words."""
SHARE = 0.3
"""Two texts overlap if this share of the shorter one's n-grams is in the other."""
BRACKETS = re.compile(r"\b[lr][rsc]b\b")


def ngrams(text: str, length: int = LENGTH) -> frozenset[str]:
    """Return all runs of `length` letters and digits, in lower case, without accents, spaces, punctuation and `lrb`.

    A shorter text is one n-gram itself.
    """
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(sign))
    letters = re.sub(r"[^a-z0-9]", "", BRACKETS.sub(" ", plain))
    return frozenset(letters[at : at + length] for at in range(max(1, len(letters) - length + 1)))


def overlapping(texts: Sequence[str], others: Iterable[str], share: float = SHARE) -> list[bool]:
    """Return whether each text overlaps any of the others: common n-grams / n-grams of the shorter one >= `share`."""
    sizes: list[int] = []
    holders: dict[str, list[int]] = defaultdict(list)
    for index, other in enumerate(others):
        grams = ngrams(other)
        sizes.append(len(grams))
        for gram in grams:
            holders[gram].append(index)
    return [_overlaps(ngrams(text), sizes, holders, share) for text in texts]


def _overlaps(grams: frozenset[str], sizes: Sequence[int], holders: dict[str, list[int]], share: float) -> bool:
    common: dict[int, int] = defaultdict(int)
    for gram in grams:
        for index in holders.get(gram, ()):
            common[index] += 1
    return any(count >= share * min(len(grams), sizes[index]) for index, count in common.items())
