"""Relevance that a report can show: a few sentences, texts or images of a shard, each with a rank among all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.record import Example, ImageExample, SentenceExample, TextExample

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.attribution import Attribution
    from axioms.subjects.built import BuiltSubject

SENTENCES = 5
"""Sentences of the agreement benchmark, as many as Figure 2 of Arras et al. (2025) has."""
EXAMPLES = 3
"""Texts and images."""
Ranked = tuple[float, Example]
"""An example, and how much it deserves to be shown."""
DIGITS = 5
"""Enough for a colour and a tooltip; results.json has the metrics in full."""


def sentences(subject: BuiltSubject, attribution: Attribution) -> list[Ranked]:
    """Return the sentences with the highest logit difference, with the relevance of each of their tokens."""
    agreement = subject.data.agreement
    if agreement is None:
        return []
    highest = attribution.output.argsort(descending=True)[:SENTENCES].tolist()
    return [
        (
            float(attribution.output[index]),
            SentenceExample(
                tokens=list(subject.tokens[index]),
                scores=attribution.scores[index, : len(subject.tokens[index])].tolist(),
                truth=list(agreement.aligned[index].truth),
                words=list(agreement.aligned[index].words),
                forms=agreement.aligned[index].sample.forms,
                difference=float(attribution.output[index]),
            ),
        )
        for index in highest
    ]


def texts(subject: BuiltSubject, attribution: Attribution) -> list[Ranked]:
    """Return the first texts, with the relevance of each of their tokens."""
    return [
        (
            -index,
            TextExample(
                tokens=list(tokens),
                scores=rounded(attribution.scores[index, : len(tokens)]),
                output=float(attribution.output[index]),
            ),
        )
        for index, tokens in enumerate(subject.tokens[:EXAMPLES])
    ]


def images(subject: BuiltSubject, left: Attribution, right: Attribution) -> list[Ranked]:
    """Return the images on which the relevance of a pixel differs most between the two models of a pair."""
    shape = subject.data.shape
    pixels = subject.sides["left"].inputs.features
    if shape is None or pixels.shape[1] != shape[0] * shape[1]:
        return []
    return [
        (
            gap,
            ImageExample(
                name=subject.data.name(index),
                image=rounded(pixels[index].reshape(shape)),
                left=rounded(left.scores[index].reshape(shape)),
                right=rounded(right.scores[index].reshape(shape)),
            ),
        )
        for index, gap in most_different(left.scores, right.scores)
    ]


def most_different(left: Tensor, right: Tensor) -> list[tuple[int, float]]:
    """Return the examples with the largest relative gaps, and these; of equal ones the earlier."""
    largest = left.abs().maximum(right.abs()).amax(dim=1)
    gaps = ((left - right).abs().amax(dim=1) / largest).nan_to_num(nan=0.0, posinf=0.0)
    order: list[int] = gaps.sort(descending=True, stable=True).indices.tolist()
    return [(index, float(gaps[index])) for index in order[:EXAMPLES]]


def rounded(values: Tensor) -> list[Any]:
    """Numbers, or rows of them, to a few digits; what is not finite is shown as zero."""
    import torch

    plain = torch.nan_to_num(values.detach().double().cpu(), nan=0.0, posinf=0.0, neginf=0.0)
    return _digits(plain.tolist())


def _digits(values: list[Any]) -> list[Any]:
    return [_digits(value) if isinstance(value, list) else float(f"{value:.{DIGITS}g}") for value in values]
