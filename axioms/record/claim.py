"""What a spec stands for and what became of it: the claim's verdict, the checks that decided it, and its numbers."""

from __future__ import annotations

from typing import Literal

from axioms.record.parts import Part, Quantity

ClaimStatus = Literal["asserted", "open"]
"""An asserted claim that is not shown fails the run; an open one is a question, which passes either way."""
ClaimVerdict = Literal["shown", "contradicted", "not_shown", "not_run"]
"""`not_shown` is neither shown nor excluded; `not_run` lacks a check that decides it."""


class ClaimNumber(Quantity):
    """A number that a claim rests on, with its interval and over how many examples."""

    check: str
    """The id of the check that measured it."""
    about: str
    """The method, or `cp_lrp over attnlrp`; empty where it is about the model."""
    metric: str
    """With its axiom: `loo_correlation.pearson.mean`."""
    unit: str
    """How a scorecard abbreviates it: `r`, `gap`; a difference of two has a `+` or `-` before its value."""
    is_difference: bool = False


class PrintedNumber(Part):
    """A number of the paper that a claim rests on."""

    value: float
    what: str
    """Whose it is: `cp_lrp`, `attnlrp`."""
    place: str
    """`Table 2`, `Figure 1`, `Section 4.2`."""


class ScorecardRow(Part):
    """A claim of a paper, as its scorecard lists it."""

    paper: str
    """The name under which the paper is registered: `you2025`."""
    key: str
    """`C5`."""
    claim: str
    """In the scorecard's few words."""
    place: str
    """`Table 2 (SST)`."""
    order: int
    """Position among the paper's claims."""
    printed: list[PrintedNumber]
    printed_text: str
    """The printed numbers as the scorecard shows them: `0.52 against 0.22`."""


class ClaimRecord(Part):
    """A claim on one subject, and its verdict."""

    id: str
    """`specs/a.yaml::claim`, `::claim2` for the spec's second, with `[label]` where it has several subjects."""
    spec: str
    label: str | None = None
    """Of the subject, where the spec has several."""
    subject: str
    """What a scorecard calls the subject: `MiniLM`."""
    claim: str
    source: str | None = None
    row: ScorecardRow | None = None
    """None where it is no paper's."""
    status: ClaimStatus
    verdict: ClaimVerdict
    decided_by: list[str]
    """Ids of the checks that it stands or falls with."""
    numbers: list[ClaimNumber]
    """Of these checks, the one that decided the verdict first."""
    missing: str = ""
    """Why it was not run, or why nothing decides it; empty elsewhere."""

    @property
    def part(self) -> str:
        """The spec, with the subject's label where it has several: as `CheckRecord.part`."""
        return self.spec if self.label is None else f"{self.spec}, {self.label}"

    @property
    def number(self) -> ClaimNumber | None:
        """The number that decided the verdict; None where nothing was measured."""
        return self.numbers[0] if self.numbers else None
