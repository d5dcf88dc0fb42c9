"""A card as Markdown and as a page of its own."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.commands.card.content import Card, words
from axioms.commands.card.figure import draw_plane
from axioms.commands.card.grids import (
    Grid,
    as_text,
    compared_grid,
    cost_grid,
    families_grid,
    ledger_grid,
    precision_grid,
    rewrite_grid,
)
from axioms.record import RunRecord
from axioms.report.html import environment
from axioms.report.text import markdown as markdown_table

PAIRED = "Mean [95% interval]; below it the paired difference, {} minus the row's method."
FAMILIES = (
    "Models of two layers with random weights, 16 random inputs: how it copes with a family, not how well it explains."
)
METRICS = ("LOO r", "delta")
TRUTH = (
    "MRR: one over the subject's best rank; PG-2: whether it is among the two most relevant tokens; RMA: its share of "
    "all positive relevance; PTA: the share of tokens with the right sign."
)
COST = "One pass is the time of CP-LRP on the same batch, measured before and after the method. Measured on {}."
PRECISION = (
    "The largest gap to float64 as a share of the largest relevance; and in roundings, where one is what rounding the "
    "weights and inputs does to exact relevance. Up to 64 of them hold."
)
LEDGER = (
    "Shares of the output: what reached the tokens, what each kind of operation kept, and what no rule accounts for. A "
    "method that is not made of rules has no ledger, and only its sum is shown."
)


def html_page(card: Card, run: RunRecord) -> str:
    """Return the card as one HTML file that needs nothing else."""
    return (
        environment()
        .get_template("card.html")
        .render(
            card=card,
            run=run,
            words=words,
            rewrites=rewrite_grid(card),
            subjects=[(table, compared_grid(table)) for table in card.subjects if not table.is_random],
            families={title: families_grid(card, title) for title in METRICS},
            truth=compared_grid(card.truth),
            cost=cost_grid(card),
            precision=precision_grid(card),
            ledger=ledger_grid(card),
            losses=_losses(card),
            figure="" if card.plane is None else draw_plane(card.plane, card.method),
            notes={
                "paired": PAIRED.format(card.method),
                "families": FAMILIES,
                "truth": TRUTH,
                "precision": PRECISION,
                "ledger": LEDGER,
            }
            | {"cost": "" if card.plane is None else COST.format(card.plane.subject)},
        )
    )


def markdown(card: Card, run: RunRecord, picture: str) -> str:
    """Return the card as Markdown; `picture` is the name of the figure's file beside it."""
    return "\n".join(_lines(card, run, picture)) + "\n"


def _lines(card: Card, run: RunRecord, picture: str) -> Iterator[str]:
    yield f"# {card.headline}\n\n{card.about}\n"
    yield from (f"- {kind}: {rule}" for kind, rule in card.rules.items())
    yield "\n## Axioms\n"
    rows = [
        [words(verdict.axiom), verdict.verdict, f"{verdict.holding} of {verdict.total}", "; ".join(verdict.places)]
        for verdict in card.verdicts
    ]
    yield from markdown_table(["axiom", "verdict", "holds in", "not on"], rows)
    if card.counterexample or card.search:
        yield "\n### The smallest counterexample to implementation invariance\n"
        yield f"```\n{card.counterexample}\n```" if card.counterexample else card.search
    yield from _section("Rewrites that change no output", "", rewrite_grid(card))
    for table in card.subjects:
        if table.is_random:
            continue
        yield from _section(table.title, f"{table.about} {PAIRED.format(card.method)}", compared_grid(table))
    for title in METRICS:
        about = f"{FAMILIES} {PAIRED.format(card.method)}"
        yield from _section(f"Tiny families: {title}", about, families_grid(card, title))
    yield from _section("Ground truth", f"{card.truth.about} {TRUTH}", compared_grid(card.truth))
    if card.plane is not None:
        yield from _section("Cost", COST.format(card.plane.subject), cost_grid(card))
        yield f"\n![LOO r against cost]({picture})"
    yield from _section("Precision", PRECISION, precision_grid(card))
    yield from _section("Where relevance went", LEDGER, ledger_grid(card))
    yield from (f"\n{sentence}" for sentence in _losses(card))
    yield from _missing(card)
    packages = ", ".join(f"{name} {version}" for name, version in run.environment.packages.items() if version)
    made = f"`{run.run.command}`, {run.run.started}, {run.run.seconds:.0f} s"
    yield f"\n---\n{made}; Python {run.environment.python}, {packages}."


def _section(title: str, about: str, grid: Grid) -> Iterator[str]:
    if not grid.rows:
        return
    yield f"\n## {title}\n"
    if about:
        yield f"{about}\n"
    header, rows = as_text(grid)
    yield from markdown_table(header, list(rows))


def _missing(card: Card) -> Iterator[str]:
    if card.undefined:
        yield "\n## Where it is not defined\n"
        yield from (f"- {', '.join(places)}: {why}." for why, places in card.undefined.items())
    if card.gaps:
        yield "\n## What is not here\n"
        yield from (f"- {gap}" for gap in card.gaps)


def _losses(card: Card) -> list[str]:
    """Return where the method itself loses most, one sentence for each subject."""
    rows = [row for row in card.ledger if row.method == card.method and row.losses]
    return [f"{row.method} on {row.subject} keeps most back here: {'; '.join(row.losses)}." for row in rows]
