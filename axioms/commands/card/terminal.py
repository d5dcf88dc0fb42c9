"""The ten-line version of a card."""

from __future__ import annotations

import textwrap

from axioms.commands.card.compare import Table
from axioms.commands.card.content import Card, Verdict

NAME = 12
MISSING = "not here"
MOST_BEATEN = 3
SHOWN = ("LOO r", "delta", "MRR")


def short_lines(card: Card, width: int = 120) -> list[str]:
    """Return the card in about ten lines for a terminal."""
    lines = [f"{card.headline}."]
    for name, text in _rows(card):
        # What is missing, and how to run it, is said whole.
        text = text if name == MISSING else textwrap.shorten(text, width - NAME - 2, placeholder=" ...")
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=f"  {name:<{NAME}}",
            subsequent_indent=" " * (NAME + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _rows(card: Card) -> list[tuple[str, str]]:
    """Return what each line says, after its name; lines that would say nothing are left out."""
    real = [table for table in card.subjects if not table.is_random]
    agreement = [table for table in real if table.key == "agreement"]
    rows = [
        ("keeps", ", ".join(card.keeps)),
        *(("breaks", _broken(verdict)) for verdict in card.verdicts if verdict.verdict == "violated"),
        *(("unclear", _broken(verdict)) for verdict in card.verdicts if verdict.verdict == "inconclusive"),
        ("smallest", _smallest(card)),
        ("MiniLM", _compared(*(table for table in real if table.key == "sentiment"))),
        ("MNIST", _compared(*(table for table in real if table.key == "mnist-left"))),
        ("tiny Llama", _compared(*agreement, card.truth)),
        ("families", _families(card)),
        ("cost", _cost(card)),
        ("ledger", _ledger(card)),
        *((MISSING, gap) for gap in card.gaps),
    ]
    return [(name, text) for name, text in rows if text]


def _broken(verdict: Verdict) -> str:
    count = verdict.total - verdict.holding
    return f"{verdict.axiom} in {count} of {verdict.total}: {'; '.join(verdict.places)}"


def _smallest(card: Card) -> str:
    """Return the counterexample on one line."""
    lines = [line.strip() for line in card.counterexample.splitlines()[1:]]
    return "; ".join(" ".join(line.partition("   (")[0].split()) for line in lines)


def _compared(*tables: Table) -> str:
    """Return the method's own numbers, each with the methods that it differs from for certain."""
    texts = []
    for table in tables:
        for at, column in enumerate(table.columns):
            own = table.own_estimate(column.title)
            if own is not None and column.title in SHOWN:
                texts.append(f"{column.title} {own.text()}{_relations(table, at)}")
    return "; ".join(texts)


def _relations(table: Table, at: int) -> str:
    """Return ` (above cp_lrp, below loo)`: the methods whose paired difference excludes zero."""
    relations = []
    for direction, word in (("higher", "above"), ("lower", "below")):
        names = [
            row.method
            for row in table.rows
            if (difference := row.cells[at].difference) is not None and difference.direction == direction
        ]
        relations += [f"{word} {', '.join(names)}"] if names else []
    return f" ({'; '.join(relations)})" if relations else ""


def _families(card: Card) -> str:
    estimates = {table.key: table.own_estimate("LOO r") for table in card.subjects if table.is_random}
    texts = [f"{name} {estimate.mean:.2f}" for name, estimate in estimates.items() if estimate is not None]
    return f"LOO r {', '.join(texts)}" if texts else ""


def _cost(card: Card) -> str:
    if card.plane is None:
        return ""
    own = next(point for point in card.plane.points if point.method == card.method)
    beaten = [point for point in card.plane.points if point.passes <= own.passes and point.r > own.r]
    better = ", ".join(f"{point.method} ({point.passes:.1f}, r {point.r:.2f})" for point in beaten[:MOST_BEATEN])
    where = f"; no dearer and closer to LOO: {better}" if better else "; none is cheaper and closer to LOO"
    return f"{own.passes:.1f} passes, LOO r {own.r:.2f} ({card.plane.subject}){where}"


def _ledger(card: Card) -> str:
    own = next((row for row in card.ledger if row.method == card.method), None)
    if own is None:
        return ""
    shares = [f"{name} {share:.0%}" for name, share in own.shares.items() if abs(share) >= 0.005]
    if len(own.shares) == 1:  # a method without rules has a sum and no ledger
        return f"none: it is not made of rules; its relevance sums to {own.shares['tokens']:.0%} of the output"
    return f"where the output went: {', '.join(shares)} ({own.subject})"
