"""summary.md: a run on one page."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from axioms.report.tables import cell, markdown, matrix, measured


def summary_markdown(document: dict[str, Any]) -> str:
    """The verdict in one line, the matrix, then each spec with its numbers."""
    records, skipped = document["checks"], document["skipped"]
    failed = [record for record in records if not record["passed"]]
    count = f"{len(records) - len(failed)} of {len(records)} checks pass, {len(skipped)} skipped"
    packages = ", ".join(
        f"{name} {version}" for name, version in document["environment"]["packages"].items() if version
    )
    lines = ["# Axioms", "", f"**{count}.** Run {document['run']['status']}.", ""]
    if records:
        lines += [*markdown(*matrix(records)), "", "`VIOLATED*`: violated, as the spec claims.", ""]
    for spec, group in groupby(records, key=lambda record: record["spec"]):
        lines += _section(spec, list(group))
    lines += [
        "",
        f"Commit {document['run']['git_commit'] or 'unknown'}; Python {document['environment']['python']}; {packages}.",
        "",
    ]
    return "\n".join(lines)


def _section(spec: str, records: list[dict[str, Any]]) -> list[str]:
    lines = [f"## {spec}", "", records[0]["claim"], ""]
    if records[0]["note"]:
        lines += [f"Note: {records[0]['note']}", ""]
    rows = []
    for record in records:
        decided = "; ".join(f"{bound['metric']} {bound['bound']}" for bound in record["bounds"]) or record["reason"]
        subject = record["method"] or "the pair"
        label = f"{subject} over {record['than']}" if record["than"] else subject
        rows.append([str(record["line"]), record["axiom"], label, cell(record), decided])
    lines += [*markdown(["line", "axiom", "method", "verdict", "decided by"], rows), ""]
    header, numbers = measured(records)
    return [*lines, *markdown(header, numbers), ""] if numbers else lines
