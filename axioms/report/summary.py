"""summary.md: a run on one page."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from axioms.report.absent import absent_markdown
from axioms.report.accounts import accounts_markdown
from axioms.report.rewrites import applicability_markdown, matrix_markdown
from axioms.report.tables import axiom_labels, cell, comparisons, label, markdown, matrix, numbers


def summary_markdown(document: dict[str, Any]) -> str:
    """The verdict in one line, the matrix, then each spec with its numbers."""
    records, skipped = document["checks"], document["skipped"]
    failed = [record for record in records if not record["passed"]]
    count = f"{len(records) - len(failed)} of {len(records)} checks pass, {len(skipped)} skipped"
    packages = ", ".join(
        f"{name} {version}" for name, version in document["environment"]["packages"].items() if version
    )
    lines = ["# Axioms", "", f"**{count}.** Run {document['run']['status']}.", ""]
    lines += _baseline(document.get("baseline"))
    if records:
        lines += [*markdown(*matrix(records)), "", "`VIOLATED*`: violated, as the spec claims.", ""]
    for spec, group in groupby(records, key=lambda record: record["spec"]):
        lines += _section(spec, list(group))
    lines += absent_markdown(records)
    lines += applicability_markdown(records, {each["id"]: each["reason"] for each in skipped})
    lines += [
        "",
        f"Commit {document['run']['git_commit'] or 'unknown'}; Python {document['environment']['python']}; {packages}.",
        "",
    ]
    return "\n".join(lines)


def _baseline(compared: dict[str, Any] | None) -> list[str]:
    """What changed from the last accepted run, where the run was compared with one."""
    if compared is None:
        return []
    lines = ["## Baseline", "", " ".join(compared["said"]), ""]
    return [*lines, *markdown(compared["header"], compared["rows"]), ""] if compared["rows"] else lines


def _section(spec: str, records: list[dict[str, Any]]) -> list[str]:
    first = records[0]
    setting = f"{first['run']['dtype']}, seed {first['run']['seed']}"
    lines = [f"## {spec}", "", first["claim"] + (f" ({first['source']})" if first["source"] else ""), ""]
    lines += [f"Note: {first['note']}", ""] if first["note"] else []
    if any(record.get("rewrite") for record in records):
        return [*lines, *matrix_markdown(records)]
    rows = []
    for axiom, record in zip(axiom_labels(records), records, strict=True):
        decided = "; ".join(f"{bound['metric']} {bound['bound']}" for bound in record["bounds"]) or record["reason"]
        rows.append([str(record["line"]), axiom, label(record), cell(record), decided])
    lines += [*markdown(["line", "axiom", "method", "verdict", "decided by"], rows), ""]
    header, compared = comparisons(records)
    if compared:
        count = max(each["hypotheses"] for record in records for each in record["paired"].values())
        lines += [f"### Comparisons (Holm's correction over {count})", "", *markdown(header, compared), ""]
    single = [record for record in records if record["metrics"] and not record["paired"]]
    labels = axiom_labels(single)
    for axiom in dict.fromkeys(labels):
        mine = [record for name, record in zip(labels, single, strict=True) if name == axiom]
        n = max(quantity["n"] for record in mine for quantity in record["metrics"].values())
        lines += [f"### {axiom} (n = {n}, {setting})", "", *markdown(*numbers(mine)), ""]
    return [*lines, *accounts_markdown(records)]
