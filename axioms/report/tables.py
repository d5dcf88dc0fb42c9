"""The checks of a run as rows: the matrix of verdicts, the numbers beside the paper's, and what does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from axioms.record import CheckRecord
from axioms.report.text import Table, brief, effect, printed, short_list, show

FAILED, CLAIMED, HOLDS, REFUSED = "FAILED", "VIOLATED*", "holds", "refused"
VIOLATED, INCONCLUSIVE = "violated", "inconclusive"
"""Where nothing is claimed: of an open question, or of a method that was added on the command line."""
MOST_TELLING = (FAILED, VIOLATED, CLAIMED, INCONCLUSIVE, HOLDS)


def cell(check: CheckRecord) -> str:
    """A verdict as a reader should see it: `VIOLATED*` is a violation that the spec claims; a record is its number."""
    if not check.passed:
        return FAILED
    violated = CLAIMED if check.violation_claimed else VIOLATED  # an answer to a question, not a failure
    judged = {"violated": violated, "holds": HOLDS, "refused": REFUSED, "inconclusive": INCONCLUSIVE}
    if check.verdict in judged:
        return judged[check.verdict]
    first = next(iter(check.metrics)).rpartition("left.")[2]
    sides = [check.metrics[name] for name in (first, f"left.{first}", f"right.{first}") if name in check.metrics]
    values = [side.value for side in sides]
    texts = [short_list(value) if isinstance(value, list) else brief(value or 0.0) for value in values]
    return " / ".join(dict.fromkeys(texts))


def matrix(checks: Sequence[CheckRecord]) -> Table:
    """Method x axiom; where several specs meet in a cell, the most telling one stands for all."""
    single = single_checks(checks)
    axioms = list(dict.fromkeys(check.axiom for check in single))
    cells: dict[tuple[str | None, str], list[str]] = {}
    for check in single:
        cells.setdefault((check.method, check.axiom), []).append(cell(check))
    rows = [
        [method, *(_most_telling(cells.get((method, axiom), ["-"])) for axiom in axioms)]
        for method in dict.fromkeys(str(check.method) for check in single)
    ]
    return ["", *axioms], rows


def single_checks(checks: Iterable[CheckRecord]) -> list[CheckRecord]:
    """The checks of one method, which are neither comparisons nor about the model alone."""
    return [check for check in checks if check.than is None and check.method is not None]


def _most_telling(cells: Sequence[str]) -> str:
    return next((verdict for verdict in MOST_TELLING if verdict in cells), cells[0])


def beside_paper(checks: Sequence[CheckRecord]) -> Table:
    """Every number that a paper printed, with ours beside it."""
    rows = [
        [
            label(check),
            f"{check.axiom}.{name}",
            show(check.metrics[name]),
            str(check.metrics[name].n),
            printed(paper),
        ]
        for check in checks
        for name, paper in check.reported.items()
    ]
    return ["method", "metric", "ours (interval)", "n", "paper"], rows


def numbers(checks: Sequence[CheckRecord]) -> Table:
    """Method x metric, for the checks of one axiom; the paper's number follows ours."""
    names = list(dict.fromkeys(name for check in checks for name in check.metrics))
    rows = []
    for check in checks:
        row = [label(check)]
        for name in names:
            text = show(check.metrics[name]) if name in check.metrics else "-"
            paper = check.reported.get(name)
            row.append(text if paper is None else f"{text}; paper {printed(paper)}")
        rows.append(row)
    return ["", *names], rows


def comparisons(checks: Sequence[CheckRecord]) -> Table:
    """Every comparison of a spec: the difference, its interval, the paired test and the effect sizes."""
    compared = [check for check in checks if check.paired]
    several = len({check.removal for check in compared}) > 1
    rows = [
        [
            label(check) + (f", {check.removal}" if several and check.removal else ""),
            f"{check.axiom}.{name}",
            show(test.quantity),
            *effect(test),
            check.shows.replace("_", " ") if check.passed and check.shows else cell(check),
        ]
        for check in compared
        for name, test in check.paired.items()
    ]
    return ["comparison", "metric", "difference (interval)", "p", "Holm p", "d_z", "wins", "verdict"], rows


def label(check: CheckRecord) -> str:
    """What a check is about."""
    name = f"the {check.about}" if check.method is None else check.method
    return f"{name} over {check.than}" if check.than else name


def axiom_labels(checks: Sequence[CheckRecord]) -> list[str]:
    """The axiom of each check, with its options where these checks have it with others: `precision (dtype x)`."""
    variants: dict[str, list[dict[str, Any]]] = {}
    for check in checks:
        options = variants.setdefault(check.axiom, [])
        if check.axiom_options not in options:
            options.append(check.axiom_options)

    def named(check: CheckRecord) -> str:
        options = ", ".join(f"{name} {value}" for name, value in check.axiom_options.items())
        return f"{check.axiom} ({options})" if options and len(variants[check.axiom]) > 1 else check.axiom

    return [named(check) for check in checks]


def nonexistent(checks: Iterable[CheckRecord]) -> Table:
    """Combinations that do not exist, a row for each reason of a spec: an axiom that a model has no two sides for, a
    method that is not defined for it. What a rewrite refuses stands in its own matrix.
    """
    plain = [check for check in checks if check.rewrite is None and check.method is not None]
    rows = []
    for part in dict.fromkeys(check.part for check in plain):
        here = [check for check in plain if check.part == part]
        pairs = list(zip(axiom_labels(here), (str(check.method) for check in here), strict=True))
        reasons = [(check.because or check.reason) if check.verdict == "refused" else None for check in here]
        for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
            refused = [pair for pair, other in zip(pairs, reasons, strict=True) if other == reason]
            rows.append([part, _either(refused, pairs, 0), _either(refused, pairs, 1), reason])
    return ["spec", "axiom", "method", "because"], rows


def _either(pairs: Sequence[tuple[str, str]], every: Sequence[tuple[str, str]], place: int) -> str:
    """The axioms (0) or methods (1) of these pairs, or `every` where those that they occur with occur with no other."""
    names = list(dict.fromkeys(pair[place] for pair in pairs))
    partners = {pair[1 - place] for pair in pairs}
    all_of_them = {pair[place] for pair in every if pair[1 - place] in partners}
    return "every" if set(names) == all_of_them else ", ".join(names)
