"""The papers' scorecards, from the claims of a committed run: nobody types a number of theirs.

After a run of `pytest specs/` that is accepted, `python docs/hooks/scorecards.py reports/latest` keeps its claims in
docs/results/claims.json and writes its scorecards into README.md; the site is drawn from the kept file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from axioms.record import ClaimRecord, read_record
from axioms.report.scorecard import scorecard_lines

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "results" / "claims.json"
README = ROOT / "README.md"
OTHERS = "Other claims: "
"""How the line behind the scorecards begins, which the README has from the end of the same run."""


def kept_lines() -> list[str]:
    """Return the scorecards of the committed run, as a terminal shows them."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    return scorecard_lines([ClaimRecord.model_validate(claim) for claim in kept["claims"]])


def kept_run() -> str:
    """Return the command, the commit and the day of the committed run."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    return f"`{kept['command']}` at {kept['commit'][:7]}, {kept['started'][:10]}"


def printed_lines(readme: str) -> list[str]:
    """Return the scorecards that the README has."""
    lines = readme.splitlines()
    end = next(number for number, line in enumerate(lines) if line.startswith(OTHERS))
    start = max(number for number in range(end) if lines[number] == "```text") + 1
    return lines[start:end]


def keep(run: Path) -> None:
    """Keep the papers' claims of a run, and write its scorecards into the README."""
    record = read_record(run)
    if record.run.status != "passed":
        sys.exit(f"{run} is a run that {record.run.status}; keep one that passed")
    claims = [claim.model_dump(mode="json", exclude_defaults=True) for claim in record.claims if claim.row]
    head = {"command": record.run.command, "commit": record.run.git_commit, "started": record.run.started}
    rows = ",\n".join(json.dumps(claim, ensure_ascii=False) for claim in claims)
    KEPT.write_text(f'{json.dumps(head)[:-1]}, "claims": [\n{rows}\n]}}\n', encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    README.write_text(readme.replace("\n".join(printed_lines(readme)), "\n".join(kept_lines())), encoding="utf-8")


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
