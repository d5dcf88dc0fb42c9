"""One sentence of the subject-verb agreement benchmark (Arras et al. 2025, Section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""First character and the one after the last."""


@dataclass(frozen=True)
class Sample:
    """A sentence, its verb in both numbers, and the subject that decides between them."""

    text: str
    verb: Span
    """Where the verb stands in the text."""
    forms: tuple[str, str]
    """The verb form that agrees with the subject, and the other."""
    subject: Span
    """The ground truth: where the subject stands in the text."""
    attractors: int
    """How many nouns of the opposite number stand between the subject and the verb."""

    @property
    def context(self) -> str:
        """What a causal language model reads: everything before the verb, without the space between them."""
        return self.text[: self.verb[0]].rstrip()

    def masked(self, mask: str) -> str:
        """What a masked language model reads: the sentence with the mask in the verb's place."""
        return self.text[: self.verb[0]] + mask + self.text[self.verb[1] :]
