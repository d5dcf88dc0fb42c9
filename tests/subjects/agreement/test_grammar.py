"""The generator: exact spans, attractors of the opposite number, and a split that holds."""

from __future__ import annotations

from itertools import islice

import pytest

from axioms.core.errors import InputError
from axioms.subjects.agreement.grammar import NOUNS, VERBS, sentences, stream
from axioms.subjects.agreement.sample import Sample
from axioms.subjects.agreement.sources import agreement_sentences

LEMMA = {word: (lemma, number) for lemma, pair in enumerate(NOUNS) for number, word in enumerate(pair)}
N = 500


def nouns(text: str) -> list[tuple[int, int]]:
    return [LEMMA[word] for word in text.split() if word in LEMMA]


def pairs(samples: list[Sample]) -> set[tuple[int, int]]:
    """Every subject with every other noun of its sentence."""
    pairs = set()
    for sample in samples:
        subject = LEMMA[sample.text[slice(*sample.subject)]][0]
        rest = sample.text[: sample.subject[0]] + sample.text[sample.subject[1] :]
        pairs |= {(subject, lemma) for lemma, _ in nouns(rest)}
    return pairs


def test_sentences_are_distinct_and_repeatable() -> None:
    first = sentences(N)
    assert len({sample.text for sample in first}) == N
    assert sentences(N) == first != sentences(N, seed=1)


def test_spans_and_attractors_are_exact() -> None:
    for sample in sentences(N):
        between = nouns(sample.text[sample.subject[1] : sample.verb[0]])
        number = LEMMA[sample.text[slice(*sample.subject)]][1]
        assert all(plural != number for _, plural in between)
        assert 1 <= len(between) == sample.attractors <= 4
        assert sample.text[slice(*sample.verb)] == sample.forms[0]
        assert (sample.forms if number == 0 else sample.forms[::-1]) in VERBS
        assert f"{sample.context} {sample.forms[0]} " in sample.text


def test_every_number_of_attractors_and_both_numbers_occur() -> None:
    samples = sentences(N)
    assert {sample.attractors for sample in samples} == {1, 2, 3, 4}
    plurals = sum(LEMMA[sample.text[slice(*sample.subject)]][1] for sample in samples)
    assert 0.4 * N < plurals < 0.6 * N
    # The subject is not simply the first noun.
    assert sum(bool(nouns(sample.text[: sample.subject[0]])) for sample in samples) > 0.2 * N


def test_no_subject_meets_a_noun_in_test_that_it_meets_in_training() -> None:
    training, test = pairs(list(islice(stream(split="train", seed=1), 20_000))), pairs(sentences(N))
    assert training.isdisjoint(test)
    assert {subject for subject, _ in test} <= {subject for subject, _ in training}


def test_the_last_noun_tells_nothing_in_training() -> None:
    """Else a model could learn to disagree with it and never look at the subject."""
    agree = []
    for sample in islice(stream(split="train", seed=0), 4000):
        between = nouns(sample.text[sample.subject[1] : sample.verb[0]])
        if between:
            agree.append(between[-1][1] == LEMMA[sample.text[slice(*sample.subject)]][1])
    assert 0.46 < sum(agree) / len(agree) < 0.54


def test_fewer_attractors_on_request() -> None:
    assert {sample.attractors for sample in sentences(50, most=1)} == {1}
    assert len(agreement_sentences(n=3, most_attractors=2).agreement.samples) == 3  # type: ignore[union-attr]
    with pytest.raises(InputError, match="most_attractors from 1 to 4"):
        agreement_sentences(most_attractors=5)
    with pytest.raises(InputError, match="n of at least 1"):
        agreement_sentences(n=0)
