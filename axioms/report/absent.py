"""Combinations that do not exist: an axiom that a model has no two sides for, a method that is not defined for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axioms.report.tables import Row, axiom_labels, markdown

ABOUT = "Each was tried, and refused. Everything else in these specs was measured."


def absent(records: Iterable[Mapping[str, Any]]) -> tuple[Row, list[Row]]:
    """Header and rows, one for each reason that a spec gives; what a rewrite refuses stands in its own matrix."""
    plain = [record for record in records if not record.get("rewrite") and record["method"] is not None]
    rows = []
    for spec in dict.fromkeys(record["spec"] for record in plain):
        own = [record for record in plain if record["spec"] == spec]
        named = list(zip(axiom_labels(own), own, strict=True))
        reasons = dict.fromkeys(_reason(record) for record in own if record["verdict"] == "refused")
        for reason in reasons:
            pairs = [(axiom, each["method"]) for axiom, each in named if _reason(each) == reason]
            every = [(axiom, each["method"]) for axiom, each in named]
            rows.append([spec, _either(pairs, every, 0), _either(pairs, every, 1), reason])
    return ["spec", "axiom", "method", "because"], rows


def _reason(record: Mapping[str, Any]) -> str | None:
    return str(record["because"] or record["reason"]) if record["verdict"] == "refused" else None


def _either(pairs: Sequence[tuple[str, str]], every: Sequence[tuple[str, str]], place: int) -> str:
    """The axioms (0) or methods (1) of these pairs, or `every` where those that they occur with occur with no other."""
    names = list(dict.fromkeys(pair[place] for pair in pairs))
    partners = {pair[1 - place] for pair in pairs}
    all_of_them = {pair[place] for pair in every if pair[1 - place] in partners}
    return "every" if set(names) == all_of_them else ", ".join(names)


def absent_markdown(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The list, or nothing where everything exists."""
    header, rows = absent(records)
    return ["## Combinations that do not exist", "", ABOUT, "", *markdown(header, rows), ""] if rows else []
