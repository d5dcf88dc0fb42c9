"""The tables of a card: every subject with its methods, families of models, precision, and where relevance went."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from axioms.commands.card.compare import Column, Table, table
from axioms.commands.card.measure import Measured
from axioms.commands.card.parts import FAMILIES
from axioms.record import Account, CheckRecord
from axioms.report.figures_methods import Point, points

UNIT = "specs/{}.yaml"


def subject_tables(measured: Measured) -> list[Table]:
    """Return the tables of the subjects on which something was measured."""
    every = [
        _curves(measured, "sentiment", "MiniLM", "64 review sentences, six-layer BERT with a sentiment head."),
        _mnist(measured, "left", "(QK')V"),
        _mnist(measured, "right", "Q(K'V)"),
        _agreement(measured),
        *(
            _curves(measured, "families", f"tiny {name}", "16 random inputs, random weights.", name)
            for name in FAMILIES
        ),
    ]
    return [made for made in every if made.rows]


def _curves(measured: Measured, spec: str, title: str, about: str, label: str = "") -> Table:
    columns = [Column("LOO r", spec, "loo_correlation", "pearson"), Column("delta", spec, "perturbation", "delta")]
    return table(measured, label or spec, title, about, columns, label, bool(label))


def _mnist(measured: Measured, side: str, order: str) -> Table:
    columns = [
        Column("LOO r", "linear_attention", "loo_correlation", f"{side}.pearson"),
        Column("delta", "linear_attention", "perturbation", f"{side}.delta"),
    ]
    about = f"128 test digits of 14 x 14 pixels, linear attention computed as {order}."
    return table(measured, f"mnist-{side}", f"MNIST, {order}", about, columns)


def _agreement(measured: Measured) -> Table:
    columns = [
        Column("LOO r", "remedies_agreement", "loo_correlation", "pearson"),
        Column("delta", "agreement_curves", "perturbation", "delta"),
    ]
    about = "32 sentences of subject-verb agreement, three-layer Llama."
    return table(measured, "agreement", "tiny Llama, agreement", about, columns)


def truth_table(measured: Measured) -> Table:
    """Return how well relevance points at the subject of the verb, of which the evidence is known."""
    names = {"MRR": "mrr", "MRR over chance": "mrr_over_chance", "PG-2": "pg", "RMA": "rma", "PTA": "pta"}
    columns = [Column(title, "agreement", "ground_truth", metric) for title, metric in names.items()]
    about = "300 sentences of subject-verb agreement, three-layer Llama: relevance should point at the verb's subject."
    return table(measured, "truth", "Ground truth", about, columns)


@dataclass(frozen=True)
class Plane:
    """Methods on the plane of LOO r against cost, measured on one subject."""

    subject: str
    points: tuple[Point, ...]


def plane_of(measured: Measured) -> Plane | None:
    """Return LOO r against measured cost on MiniLM, or else on the tiny Llama; None where neither has the method."""
    by_spec = points(measured.records)
    for spec, subject in {
        "remedies_minilm": "MiniLM, 12 reviews",
        "remedies_agreement": "tiny Llama, 32 sentences",
    }.items():
        here = by_spec.get(UNIT.format(spec), [])
        if any(point.method == measured.method for point in here):
            return Plane(subject, tuple(here))
    return None


@dataclass(frozen=True)
class Precision:
    """What fewer digits do to the relevance on one family of models."""

    family: str
    gaps: dict[str, tuple[float, float]]
    """By dtype: the largest relative gap to float64, and how many roundings that is."""


def precisions(measured: Measured) -> list[Precision]:
    """Return the families on which precision was measured."""
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for check in measured.of(measured.method, "precision"):
        gaps = (_largest(check, "relative_gap"), _largest(check, "amplification"))
        rows.setdefault(check.label or check.subject, {})[check.axiom_options.get("dtype", "float32")] = gaps
    return [Precision(family, gaps) for family, gaps in rows.items()]


def _largest(check: CheckRecord, metric: str) -> float:
    numbers = [math.nan if value is None else value for value in check.values.get(metric, [])]
    return float(np.max(np.array(numbers, dtype=float))) if numbers else math.nan


@dataclass(frozen=True)
class Shares:
    """Where the relevance of a method went, as shares of the output."""

    subject: str
    method: str
    shares: dict[str, float]
    """What reached the features, what each kind of operation absorbed, and what nothing explains."""
    losses: tuple[str, ...]
    """The largest single ones, by layer and operation."""


MOST_LOSSES = 4
LEAST_LOSS = 0.01


def ledgers(measured: Measured) -> list[Shares]:
    """Return the accounts of every method that is made of rules, and the plain sum of the others."""
    rows = []
    for spec, subject in {"remedies_minilm": "MiniLM", "remedies_agreement": "tiny Llama"}.items():
        for method in (measured.method, *measured.against):
            for check in measured.of(method, "conservation", spec):
                rows += list(_shares(check, method, subject))
    return rows


def _shares(check: CheckRecord, method: str, subject: str) -> Iterator[Shares]:
    for account in check.accounts.values():
        total = account.output or math.nan
        parts = {"tokens": account.features, **account.absorbed, "unexplained": account.unexplained}
        yield Shares(subject, method, {name: part / total for name, part in parts.items()}, _losses(account, total))
    ratio = check.quantity("ratio.mean")
    if not check.accounts and ratio is not None and ratio.number is not None:
        yield Shares(subject, method, {"tokens": ratio.number}, ())


def _losses(account: Account, total: float) -> tuple[str, ...]:
    """Name the layers and operations that absorbed most."""
    every = [
        (abs(value / total), f"{name} {value / total:+.0%} in {_place(row.layer, row.operation)}")
        for row in account.rows
        for name, value in row.absorbed.items()
        if abs(value / total) >= LEAST_LOSS
    ]
    return tuple(text for _, text in sorted(every, reverse=True)[:MOST_LOSSES])


def _place(layer: int | None, operation: str) -> str:
    return f"{operation} outside the layers" if layer is None else f"{operation} of layer {layer}"
