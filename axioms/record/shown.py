"""What a report shows of a check beside its numbers: relevance of examples, and ledgers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from axioms.record.parts import Part


class TextExample(Part):
    """A text with the relevance of its tokens."""

    kind: Literal["text"] = "text"
    tokens: list[str]
    scores: list[float]
    output: float


class SentenceExample(Part):
    """A sentence of the agreement benchmark with the relevance of its tokens."""

    kind: Literal["sentence"] = "sentence"
    tokens: list[str]
    scores: list[float]
    truth: list[int]
    """Positions of the tokens of the subject."""
    words: list[int]
    """Positions of the tokens that are no special ones."""
    forms: tuple[str, str]
    """The form of the verb that agrees, and the other."""
    difference: float
    """Of the logits of the two forms."""


class ImageExample(Part):
    """An image with the relevance of its pixels for both models of a pair."""

    kind: Literal["image"] = "image"
    name: str
    image: list[list[float]]
    left: list[list[float]]
    right: list[list[float]]


Example = Annotated[TextExample | SentenceExample | ImageExample, Field(discriminator="kind")]


class AccountRow(Part):
    """What came in, went out and was absorbed at one operation of one layer."""

    layer: int | None
    """None outside the layers."""
    operation: str
    came_in: float
    went_out: float
    absorbed: dict[str, float]
    """By what absorbed it: bias, position, epsilon, softmax, norm or gradient."""


class Account(Part):
    """The ledger of a method: where relevance went, summed over the first examples."""

    n: int
    output: float
    features: float
    absorbed: dict[str, float]
    unexplained: float
    rows: list[AccountRow]
