"""What decides the gap CP-LRP minus AttnLRP, from a run of specs/full/division.yaml: text length, flips and spread.

    pytest specs/full/division.yaml --axioms-tier full --axioms-report division
    python benchmarks/division_study.py division

Looked at after the run, and so no part of its decision rule. Means over examples, with the standard error.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from axioms.subjects.load import load_data

SPEC = Path(__file__).parents[1] / "specs" / "full" / "division.yaml"
DATA: tuple[str, dict[str, Any]] = ("rotten-tomatoes", {"split": "held-out", "n": 400})
"""As the spec says."""
THIRDS = ("shortest third", "middle third", "longest third")
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def read_values(results: Path) -> dict[str, dict[str, dict[str, Numbers]]]:
    """Return the values of each example by subject, method and metric."""
    found: dict[str, dict[str, dict[str, Numbers]]] = {}
    for check in json.loads(results.read_text())["checks"]:
        if check["than"] is None:
            values = {name: np.array(numbers, dtype=np.float64) for name, numbers in check["values"].items()}
            found.setdefault(check["subject"], {})[check["method"]] = values
    return found


def mean(values: Numbers) -> str:
    """Return the mean with its standard error."""
    return f"{values.mean():+.3f} +- {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def rows_of(methods: dict[str, dict[str, Numbers]], groups: dict[str, Numbers]) -> list[str]:
    """Return for each group of examples the gap as it is and divided, and the shares of maps that flip."""
    attnlrp, cp_lrp = methods["attnlrp"], methods["cp_lrp"]
    rows = []
    for name, chosen in groups.items():
        gaps = [mean((cp_lrp[metric] - attnlrp[metric])[chosen]) for metric in ("pearson", "pearson_sum_normalized")]
        flips = [f"{method['sign_flipped'][chosen].mean():.2f}" for method in (attnlrp, cp_lrp)]
        rows.append(f"| {' | '.join([name, str(int(chosen.sum())), *gaps, *flips])} |")
    return rows


def main() -> None:
    """Print one table for each subject of the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, help="folders that hold results.json")
    arguments = parser.parse_args()
    texts = load_data(*DATA, SPEC, None).texts
    assert texts is not None
    words = np.array([len(text.split()) for text in texts], dtype=np.float64)
    third = np.searchsorted(np.quantile(words, [1 / 3, 2 / 3]), words)
    groups = {"all": np.ones(len(words), dtype=bool)} | {name: third == at for at, name in enumerate(THIRDS)}
    for report in arguments.reports:
        for subject, methods in read_values(report / "results.json").items():
            print(f"\n{subject}\n| sentences | n | gap as it is | gap divided | AttnLRP flips | CP-LRP flips |")
            print("|---|---|---|---|---|---|", *rows_of(methods, groups), sep="\n")


if __name__ == "__main__":
    main()
