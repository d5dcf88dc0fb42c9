"""Overlap against a plain re-implementation, and on the ways in which SST-2 differs from Rotten Tomatoes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.subjects.data.overlap import LENGTH, SHARE, ngrams, overlapping

LONG = "the harbour scenes don't work (at all), but naïve uncle bob is a joy to watch"


@pytest.mark.parametrize(
    "other",
    [
        "the harbour scenes do n't work -lrb- at all -rrb- , but naïve uncle bob is a joy to watch .",
        "the harbour scenes do n't work lrb at all rrb , but naive uncle bob is a joy to watch",
        "but naive uncle bob is a joy to watch",  # a sentence that was split
        "THE HARBOUR SCENES DON'T WORK",
        f"an earlier sentence that nobody copied . {LONG} , or so they say in the village where it was shot .",
    ],
)
def test_a_text_overlaps_itself_however_it_is_tokenized_cut_or_extended(other: str) -> None:
    assert overlapping([LONG], [other]) == [True]
    assert overlapping([other], [LONG]) == [True]


@pytest.mark.parametrize("other", ["the harbour looks grey and the actors look bored by everything", "", "a joy"])
def test_common_words_alone_are_no_overlap(other: str) -> None:
    assert overlapping([LONG], [other]) == [False]


def test_short_texts_are_compared_whole() -> None:
    assert overlapping(["so dull .", "so dumb ."], ["So dull!"]) == [True, False]


words = st.lists(st.sampled_from("film lamp harbour never joyful dull the of lrb".split()), max_size=12).map(" ".join)


def plain_grams(text: str) -> set[str]:
    letters = "".join(word for word in text.split() if word != "lrb")
    if len(letters) <= LENGTH:
        return {letters}
    return {letters[at : at + LENGTH] for at in range(len(letters) - LENGTH + 1)}


@given(st.lists(words, max_size=5), st.lists(words, max_size=5))
def test_overlap_is_the_common_share_of_the_shorter_text(texts: list[str], others: list[str]) -> None:
    def overlap(one: str, two: str) -> bool:
        a, b = plain_grams(one), plain_grams(two)
        return bool(a & b) and len(a & b) >= SHARE * min(len(a), len(b))

    assert all(ngrams(text) == plain_grams(text) for text in texts)
    assert overlapping(texts, others) == [any(overlap(text, other) for other in others) for text in texts]
