"""The records of claims: what the specs of a run state, beside what its checks show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from axioms.papers import PAPERS
from axioms.record import ClaimRecord, ErrorCheck, PrintedNumber, ScorecardRow, SkippedCheck
from axioms.run.results import Results
from axioms.spec import Claim
from axioms.verdict.claims import decide, numbers_of

MOST_NUMBERS = 12
"""Of a claim that hundreds of checks decide, results.json repeats the first ones; the checks have all."""
UNDECIDED = "nothing in this spec judges it: give a check an `expect`, and name it under `decided_by`"


def claim_record(claim: Claim, spec: str, ids: Sequence[str], results: Results) -> ClaimRecord:
    """Return the record of a claim from the ids of the checks that decide it, and what became of them."""
    checks, absent = results.ran, results.absent
    ids = [nodeid for nodeid in ids if not _does_not_apply(absent.get(nodeid))]
    run = [checks[nodeid] for nodeid in ids if nodeid in checks]
    missing = list(_missing(ids, results))
    verdict = decide(run, len(missing)) if ids else "not_shown"
    return ClaimRecord(
        id=claim_id(claim, spec),
        spec=spec,
        label=claim.label,
        subject=claim.subject,
        claim=claim.stated.claim,
        source=claim.source,
        row=scorecard_row(claim.stated.paper),
        status="open" if claim.is_open else "asserted",
        verdict=verdict,
        decided_by=list(ids),
        numbers=numbers_of(run, verdict)[:MOST_NUMBERS],
        missing=UNDECIDED if not ids else _in_words(missing, len(ids)) if verdict == "not_run" else "",
    )


def claim_id(claim: Claim, spec: str) -> str:
    """Return the name under which a baseline knows a claim: `specs/a.yaml::claim`."""
    label = "" if claim.label is None else f"[{claim.label}]"
    return f"{spec}::claim{claim.number if claim.number > 1 else ''}{label}"


def scorecard_row(paper: Mapping[str, str] | None) -> ScorecardRow | None:
    """Return the row of a paper's scorecard that a spec names."""
    for name, key in (paper or {}).items():
        rows = PAPERS[name].claims
        order = [row.key for row in rows].index(key)
        row = rows[order]
        printed = [PrintedNumber(value=float(number.text), what=number.what, place=row.place) for number in row.printed]
        return ScorecardRow(
            paper=name,
            key=key,
            claim=row.claim,
            place=row.place,
            order=order,
            printed=printed,
            printed_text=row.printed_text,
        )
    return None


def _does_not_apply(check: SkippedCheck | ErrorCheck | None) -> bool:
    """Tell whether a check was skipped because its rewrite does not apply to the model, so that nothing is missing."""
    return isinstance(check, SkippedCheck) and check.not_applicable is not None


def _missing(ids: Sequence[str], results: Results) -> Iterator[str]:
    """Yield why each check that was not run was not: what it said, or the option that runs it."""
    absent = results.absent
    for nodeid in ids:
        check = absent.get(nodeid)
        if isinstance(check, ErrorCheck):
            yield f"{nodeid.rpartition('::')[2]}: {check.error}"
        elif check is not None:
            yield check.reason
        elif nodeid in results.above_tier:
            yield f"--axioms-tier {results.above_tier[nodeid]}"
        elif nodeid not in results.ran:
            yield "not selected in this run"


def _in_words(missing: Sequence[str], among: int) -> str:
    """`--axioms-tier paper`, or `2 of 5 checks: ...` where the others were run."""
    reasons = "; ".join(dict.fromkeys(missing))
    return reasons if len(missing) == among else f"{len(missing)} of {among} checks: {reasons}"
