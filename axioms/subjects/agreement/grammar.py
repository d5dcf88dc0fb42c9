"""Sentences whose subject is known by construction: the offline stand-in for Goldberg's Wikipedia sentences.

    sentence  = [opening] "the" [adjective] SUBJECT modifier* VERB ending "."
    opening   = adverb "," | preposition NP "," | NP past-verb "that"
    modifier  = preposition NP | "that" past-verb NP | "that" NP past-verb
    NP        = "the" [adjective] noun

In the test split 1 to 4 attractors stand between the subject and its verb, all of the opposite number, as in Linzen et
al. (2016). In the training split up to 4 nouns of either number stand there: were they all of the opposite one, a model
could learn to disagree with the last noun and never look at the subject. The opening may hold a noun of either number,
so that the subject is not simply the first noun; verbs of relative clauses are in the past tense, which has no number
to give away.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal, NamedTuple

from axioms.subjects.agreement.sample import Sample, Span

NOUNS = tuple(
    tuple(pair.split("/"))
    for pair in (
        "teacher/teachers doctor/doctors farmer/farmers student/students king/kings queen/queens boy/boys girl/girls "
        "driver/drivers singer/singers lawyer/lawyers artist/artists worker/workers writer/writers officer/officers "
        "man/men woman/women child/children brother/brothers sister/sisters friend/friends guest/guests player/players "
        "leader/leaders actor/actors judge/judges guard/guards nurse/nurses pilot/pilots soldier/soldiers poet/poets "
        "cook/cooks baker/bakers clerk/clerks author/authors captain/captains engineer/engineers musician/musicians "
        "neighbor/neighbors visitor/visitors"
    ).split()
)
VERBS = tuple(
    tuple(pair.split("/"))
    for pair in (
        "is/are has/have knows/know likes/like wants/want needs/need sees/see makes/make takes/take gives/give "
        "comes/come works/work lives/live plays/play runs/run keeps/keep"
    ).split()
)
PAST = "saw met helped followed visited called found admired".split()
SAID = "said thought knew heard".split()
PREPOSITIONS = ("near", "behind", "with", "by", "beside", "in front of", "next to")
ADJECTIVES = "old young tall quiet happy famous".split()
ADVERBS = "today yesterday now often here".split()
ENDINGS = ("something", "the same things", "a lot", "more than before", "this house", "it again")

Split = Literal["train", "test"]
MOST_ATTRACTORS = 4
HELD_OUT = 4
"""One in so many combinations of subject and other noun is kept for the test split."""


def is_held_out(subject: int, other: int) -> bool:
    """Whether a combination of nouns belongs to the test split: a Latin square, so that every noun is in both."""
    return (subject + other) % HELD_OUT == 0


class _Noun(NamedTuple):
    lemma: int
    plural: bool

    @property
    def word(self) -> str:
        return NOUNS[self.lemma][self.plural]


class _Words:
    """A sentence under construction: words joined by spaces, and where each began."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, words: str) -> Span:
        """Append words and return their span."""
        start = len(self.text) + bool(self.text)
        self.text += (" " if self.text else "") + words
        return start, len(self.text)


def sentences(n: int, *, split: Split = "test", seed: int = 0, most: int = MOST_ATTRACTORS) -> list[Sample]:
    """Return `n` distinct sentences with up to `most` nouns between the subject and its verb."""
    distinct: dict[str, Sample] = {}
    for sample in stream(split=split, seed=seed, most=most):
        distinct.setdefault(sample.text, sample)
        if len(distinct) == n:
            return list(distinct.values())
    raise AssertionError("the stream does not end")


def stream(*, split: Split, seed: int, most: int = MOST_ATTRACTORS) -> Iterator[Sample]:
    """Yield sentences without end. No subject meets a noun in `test` that it meets in `train`."""
    draw = random.Random(f"{split} {seed}")
    while True:
        yield _sentence(draw, split, draw.randint(1 if split == "test" else 0, most))


def _sentence(draw: random.Random, split: Split, between: int) -> Sample:
    subject = _Noun(draw.randrange(len(NOUNS)), draw.random() < 0.5)
    others = [noun for noun in range(len(NOUNS)) if is_held_out(subject.lemma, noun) == (split == "test")]

    def other(plural: bool) -> str:
        adjective = f"{draw.choice(ADJECTIVES)} " if draw.random() < 0.15 else ""
        return f"the {adjective}{_Noun(draw.choice(others), plural).word}"

    words = _Words()
    opening = draw.random()
    if opening < 0.15:
        words.add(f"{draw.choice(ADVERBS)} ,")
    elif opening < 0.3:
        words.add(f"{draw.choice(PREPOSITIONS)} {other(draw.random() < 0.5)} ,")
    elif opening < 0.5:
        words.add(f"{other(draw.random() < 0.5)} {draw.choice(SAID)} that")
    words.add("the")
    if draw.random() < 0.2:
        words.add(draw.choice(ADJECTIVES))
    span = words.add(subject.word)
    plurals = [not subject.plural if split == "test" else draw.random() < 0.5 for _ in range(between)]
    for plural in plurals:
        noun, kind = other(plural), draw.random()
        if kind < 0.5:
            words.add(f"{draw.choice(PREPOSITIONS)} {noun}")
        elif kind < 0.75:
            words.add(f"that {draw.choice(PAST)} {noun}")
        else:
            words.add(f"that {noun} {draw.choice(PAST)}")
    verbs = draw.choice(VERBS)
    forms = verbs[subject.plural], verbs[not subject.plural]
    verb = words.add(forms[0])
    words.add(f"{draw.choice(ENDINGS)} .")
    return Sample(words.text, verb, forms, span, sum(plural != subject.plural for plural in plurals))
