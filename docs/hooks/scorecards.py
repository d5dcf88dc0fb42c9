"""The papers' scorecards as the README has them: written there by a run, shown on the site, typed by nobody.

After a run of `pytest specs/` that is accepted as the baseline, `python docs/hooks/scorecards.py reports/latest` writes
its scorecards into the README. A test counts the verdicts there against those of reports/baseline.json.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from axioms.record import read_record
from axioms.report.scorecard import scorecard_lines

README = Path(__file__).resolve().parents[2] / "README.md"
LAST = "Other claims: "
"""How the last line of the scorecards begins."""
VERDICTS = ("shown", "contradicted", "not shown")


def printed_lines(readme: str) -> list[str]:
    """Return the scorecards that the README has."""
    lines = readme.splitlines()
    end = next(number for number, line in enumerate(lines) if line.startswith(LAST))
    start = max(number for number in range(end) if lines[number] == "```text") + 1
    return lines[start : end + 1]


def printed_verdicts(readme: str) -> Counter[str]:
    """Return how many claims were shown, contradicted and not shown, by the README's scorecards."""
    *rows, others = printed_lines(readme)
    columns = [re.split(r"  +", row.strip()) for row in rows]
    verdicts = Counter(verdict for row in columns for verdict in row if verdict in VERDICTS)
    for count, verdict in re.findall(rf"(\d+) ({'|'.join(VERDICTS)})\b", others):
        verdicts[verdict] += int(count)
    return verdicts


def write(run: Path) -> None:
    """Write the scorecards of a run into the README."""
    record = read_record(run)
    if record.run.status != "passed":
        sys.exit(f"the run {run} is {record.run.status}; give one that passed")
    readme = README.read_text(encoding="utf-8")
    ours = "\n".join(scorecard_lines(record.claims))
    README.write_text(readme.replace("\n".join(printed_lines(readme)), ours), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
