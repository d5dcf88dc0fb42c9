"""The tables of docs/results/remedies.md on budgets and sinks, from runs of specs/full/budget.yaml and sinks.yaml.

pytest specs/full/budget.yaml specs/full/sinks.yaml --axioms-tier full --axioms-report budget
python benchmarks/budget_table.py budget
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

Check = dict[str, Any]
GOAL = 0.90


def read(report: Path) -> list[Check]:
    """Return the checks of a run."""
    checks: list[Check] = json.loads((report / "results.json").read_text())["checks"]
    return checks


def quantity(check: Check, metric: str) -> dict[str, Any]:
    """Return what was measured, with its number of examples and its interval."""
    found: dict[str, Any] = {**check["extra_metrics"], **check["metrics"]}[metric]
    return found


def cell(found: dict[str, Any], digits: int = 2) -> str:
    """Return a mean with its interval."""
    low, high = found["interval"] or (found["value"], found["value"])
    return f"{found['value']:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def by_subject(checks: list[Check], spec: str, axiom: str) -> dict[str, dict[str, Check]]:
    """Return the checks of an axiom by subject and method, comparisons left out."""
    found: dict[str, dict[str, Check]] = {}
    for check in checks:
        if check["spec"].endswith(spec) and check["axiom"] == axiom and check["than"] is None:
            found.setdefault(check["label"], {})[check["method"]] = check
    return found


def print_budget(checks: list[Check]) -> None:
    """Print LOO r with its interval, and the measured passes, of each method on each subject; then what is missed."""
    agreement, costs = (by_subject(checks, "budget.yaml", axiom) for axiom in ("loo_correlation", "cost"))
    if not agreement:
        return
    labels = list(agreement)
    counts = {label: quantity(next(iter(agreement[label].values())), "pearson.mean")["n"] for label in labels}
    print(f"| LOO r; passes | {' | '.join(f'{label}, n = {counts[label]}' for label in labels)} |")
    print(f"|---|{'---|' * len(labels)}")
    for method in agreement[labels[0]]:
        cells = []
        for label in labels:
            if agreement[label][method]["verdict"] == "refused":
                cells.append("not defined")
                continue
            passes = quantity(costs[label][method], "passes")["value"]
            cells.append(f"{cell(quantity(agreement[label][method], 'pearson.mean'))}; {passes:.1f}")
        print(f"| `{method}` | {' | '.join(cells)} |")
    print("\n| subject | loo_budget | goal of 0.90 | one pass, exact_block | goal of 0.85 |\n|---|---|---|---|---|")
    for label in labels:
        rows = []
        for method, goal in (("loo_budget", GOAL), ("removal_taylor_exact", 0.85)):
            check = agreement[label][method]
            value = quantity(check, "pearson.mean")["value"]
            missed = "" if value >= goal else f", missed by {goal - value:.2f}"
            rows += [cell(quantity(check, "pearson.mean")), f"{check['shows'].replace('_', ' ')}{missed}"]
        print(f"| {label} | {' | '.join(rows)} |")


def print_sinks(checks: list[Check]) -> None:
    """Print the sink's share of relevance and of leave-one-out for each method on each subject."""
    shares = by_subject(checks, "sinks.yaml", "sink_share")
    for label, methods in shares.items():
        first = next(iter(methods.values()))
        named = {name: quantity(first, f"{name}.mean") for name in ("attention", "loo", "first")}
        layers = [f"{value:.2f}" for value in first["curves"]["attention_by_layer"]["mean"]]
        print(
            f"\n{label} (n = {named['loo']['n']}): attention {cell(named['attention'])}, share of leave-one-out "
            f"{cell(named['loo'])}, the sink is the first token in {named['first']['value']:.0%}; by layer {layers}\n"
        )
        print("| method | share of relevance | minus that of leave-one-out | gap |\n|---|---|---|---|")
        for method, check in methods.items():
            cells = [cell(quantity(check, f"{name}.mean")) for name in ("relevance", "excess", "gap")]
            print(f"| `{method}` | {' | '.join(cells)} |")


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, help="folders that hold results.json")
    checks = [check for report in parser.parse_args().reports for check in read(report)]
    print_budget(checks)
    print_sinks(checks)


if __name__ == "__main__":
    main()
