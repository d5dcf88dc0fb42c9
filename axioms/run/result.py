"""What a check showed, with everything that a report needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axioms.record import Example
from axioms.spec import Check, Run
from axioms.verdict.judge import Finding, Judgement
from axioms.verdict.measure import Measurement
from axioms.verdict.statistics import PairedTest


@dataclass(frozen=True)
class Result:
    """The verdict of a check with its measurement."""

    check: Check
    run: Run
    judgement: Judgement
    measurement: Measurement
    seconds: float
    worst: str = ""
    """The example that speaks most against the bound."""
    tests: Mapping[str, PairedTest] = field(default_factory=dict)
    """Of a comparison, by metric."""
    examples: Sequence[Example] = ()
    """Sentences, texts or images with their relevance."""
    accounts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of a check of conservation, by side: where relevance went, per layer and operation."""


def worst_example(judgement: Judgement, measurement: Measurement, names: Sequence[str]) -> str:
    """Return the number, the value and the name of the example that decided the first bound; "" where none did."""
    for finding in judgement.findings:
        index = _worst_index(finding, measurement)
        if index is not None:
            value = measurement.values[finding.metric.rpartition(".")[0]][index]
            return f"#{index} {value:.4g}  {names[index]}".rstrip()
    return ""


def _worst_index(finding: Finding, measurement: Measurement) -> int | None:
    """Return the example with the largest value where a mean must not be large; elsewhere the quantity knows."""
    metric, _, aggregate = finding.metric.rpartition(".")
    if metric not in measurement.values:
        return None
    if aggregate == "mean" and finding.bound.comparator in ("lt", "le"):
        return int(measurement.values[metric].argmax())
    return finding.quantity.worst
