"""One check of a run: what was stated, measured and decided."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

from pydantic import Field

from axioms.core.html import html_table, verdict_word
from axioms.record.claim import ClaimVerdict
from axioms.record.parts import (
    Comparison,
    Curve,
    Decision,
    Metric,
    Numbers,
    Part,
    Place,
    Quantity,
    TablePlace,
    VerdictName,
)
from axioms.record.shown import Account, Example


class Setting(Part):
    """How a check was computed."""

    dtype: str
    device: str
    seed: int
    batch_size: int
    confidence: float


class Located(Part):
    """A check by its id, and the spec that states it."""

    id: str
    """Pytest's."""
    spec: str
    label: str | None = None
    """Of its subject, where the spec has several."""

    @property
    def part(self) -> str:
        """The spec, with the subject's label where it has several: what is reported together."""
        return self.spec if self.label is None else f"{self.spec}, {self.label}"


class CheckRecord(Located):
    """One check that was run."""

    order: int
    """Position among the checks of its spec."""
    place: Place
    claim: str
    source: str | None
    note: str | None
    tier: str
    subject: str
    """The model, or both models of a pair; of a rewritten pair the model that was rewritten."""
    about: Literal["method", "model", "pair"]
    axiom: str
    axiom_options: dict[str, Any]
    method: str | None
    """Its label; in a comparison, that of the method that is claimed to be the better one."""
    method_name: str | None = None
    """The registered name of the method that `method` labels: `block_lrp` of `block_lrp_24`."""
    than: str | None
    """In a comparison, the label of the other method."""
    options: dict[str, Any]
    removal: str | None
    """What leaving a feature out means, where the spec says."""
    rewrite: str | None
    because: str | None
    violation_claimed: bool
    verdict: VerdictName
    passed: bool
    shows: ClaimVerdict | None = None
    """What it says of the claim that it decides; None where it decides none, as a control does."""
    reason: str
    bounds: list[Decision]
    metrics: dict[str, Metric]
    """What the spec asks for."""
    extra_metrics: dict[str, Quantity]
    """What tables and figures show beside that."""
    curves: dict[str, Curve]
    values: dict[str, list[Numbers]]
    """The value or curve of each example; null where it is not defined."""
    paired: dict[str, Comparison]
    """Of a comparison, by metric."""
    reported: dict[str, float | list[float]]
    """What the paper printed, by metric."""
    table: TablePlace | None
    worst: str
    """The example that speaks most against the bound, in words."""
    notes: list[str] = Field([])
    """How it was computed, where there is something to say: a model that could not reuse what removals share."""
    examples: list[Example]
    accounts: dict[str, Account]
    """Of a check of conservation, by side."""
    run: Setting
    seconds: float

    def _repr_html_(self) -> str:
        """Return the verdict in its colour, with its numbers, for a notebook."""
        rows = [[escape(name), escape(str(metric))] for name, metric in self.metrics.items()]
        why = f"{'passes' if self.passed else 'fails'}: {escape(self.reason)}"
        said = f"<p><code>{escape(self.id)}</code> {verdict_word(self.verdict)}, {why}</p>"
        return said + html_table(["metric", "measured"], rows)

    def quantity(self, metric: str) -> Quantity | None:
        """The metric, whether the spec or only a table asks for it; None where it was not measured."""
        return self.metrics.get(metric) or self.extra_metrics.get(metric)


class SkippedCheck(Located):
    """A check that was not run."""

    axiom: str
    rewrite: str | None
    reason: str
    not_applicable: str | None = None
    """Why its rewrite does not apply to the model; None where it was skipped for another reason."""


class ErrorCheck(Located):
    """A check that raised: nothing was judged, and the run has failed."""

    order: int
    place: Place
    claim: str
    tier: str
    subject: str
    axiom: str
    method: str | None
    method_name: str | None = None
    than: str | None
    rewrite: str | None
    error: str
    """`ValueError: no such layer`, on one line."""
    where: str = ""
    """File and line that raised it, where that is not one of ours that says it in a sentence."""
