"""Table 2 in the paper's layout, and the heatmaps."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from axioms.papers import PAPERS
from axioms.papers.arras2025 import remarks
from axioms.papers.grid import Grid, Number
from axioms.papers.tables import every_table, paper_tables
from axioms.record import CheckRecord, SentenceExample
from axioms.report.heatmaps import heatmap, write_heatmaps
from axioms.report.render import RENDERERS, write_paper_pages, write_tables
from tests.records import changed, make_check, make_run, plain_method, quantity

PAPER = PAPERS["arras2025"]


def check(
    method: str | None, axiom: str, metrics: dict[str, Any], reported: dict[str, float] | None = None
) -> CheckRecord:
    return make_check(
        id=f"specs/agreement.yaml::{axiom}[{method or 'model'}]",
        spec="specs/agreement.yaml",
        subject="some-llama",
        axiom=axiom,
        method=method,
        metrics=metrics,
        reported=reported or {},
        examples=[EXAMPLE] if method else [],
    )


EXAMPLE = SentenceExample(
    tokens=["<s>", "Ġthe", "Ġke", "ys", "Ġ<b>"],
    scores=[0.5, 0.0, 1.0, -1.0, 0.1],
    truth=[2, 3],
    words=[1, 2, 3, 4],
    forms=("lie", "lies"),
    difference=3.25,
)


def scores(pg: float, low: float = 0.1) -> dict[str, Any]:
    named = {f"{name}.mean": quantity(pg) for name in ("pg", "mrr", "rma", "pta")}
    return {**named, "mrr_over_chance.mean": quantity(low + 0.1, [low, low + 0.2])}


CHECKS = [
    check(None, "task", {"accuracy": quantity(0.97), "wrong": quantity(9), "malformed": quantity(0)}),
    check(
        None,
        "chance",
        {name: quantity(0.25) for name in ("pg", "mrr", "rma", "pta", "pg_sd", "mrr_sd", "rma_sd", "pta_sd")},
    ),
    check("gradient_l1", "ground_truth", scores(0.3, low=-0.1)),
    check("gradient_l2", "ground_truth", scores(0.4)),
    check("attnlrp", "ground_truth", scores(0.9), {"pg.mean": 0.884}),
    check("loo", "ground_truth", scores(0.8)),
]


METHODS = {label: plain_method() for label in ("gradient_l1", "gradient_l2", "attnlrp", "loo")}


def tables(checks: list[CheckRecord]) -> dict[str, Grid]:
    return {grid.name: grid for grid in paper_tables(PAPER, make_run(*checks, methods=METHODS))}


def test_the_papers_rows_come_first_and_random_last(tmp_path: Path) -> None:
    (page,) = write_paper_pages(make_run(*CHECKS), tmp_path)
    lines = page.read_text().splitlines()
    assert lines[0] == "# Subject-verb agreement"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = rows[rows.index(["XAI-Method", "some-llama: PG2 ↑", "MRR ↑", "RMA ↑", "PTA ↑"]) :]
    assert [row[0] for row in rows[2:7]] == ["AttnLRP", "Gradient", "loo", "Random mean", "±std"]
    assert rows[2][1:3] == ["**0.900** (0.884)", "**0.900**"]
    assert rows[3][1] == "0.400"  # the better of the two norms
    assert rows[4][1] == "<u>0.800</u>"
    assert ["accuracy", "0.970"] in rows
    assert ["wrong", "9"] in rows
    assert not any(row[0] == "malformed" for row in rows)


def test_every_table_is_markdown_latex_and_csv_in_files_of_its_own(tmp_path: Path) -> None:
    grids = every_table(make_run(*CHECKS, methods=METHODS))
    written = {file.relative_to(tmp_path).as_posix() for file in write_tables(grids, tmp_path / "tables")}
    assert written == {f"tables/agreement-table-{number}.{kind}" for number in (1, 2, 3) for kind in RENDERERS}
    rows = list(csv.DictReader((tmp_path / "tables/agreement-table-2.csv").read_text().splitlines()))
    cell = next(row for row in rows if row["row"] == "AttnLRP" and row["column"] == "PG2")
    assert (cell["group"], cell["ours"], cell["paper"]) == ("some-llama", "0.9", "0.884")
    latex = (tmp_path / "tables/agreement-table-2.tex").read_text()
    assert r"AttnLRP & \textbf{0.900} \textcolor{black!60}{(0.884)} & \textbf{0.900}" in latex
    assert r"\underline{0.800}" in latex
    assert r"$\pm$std" in latex
    write_tables([], tmp_path / "tables")
    assert list((tmp_path / "tables").iterdir()) == [], "an earlier run's tables are not of this one"


def test_more_models_than_fit_side_by_side_go_on_in_another_part() -> None:
    names = ["one/a", "one/b", "c", "d"]
    grids = tables([changed(check, spec=f"specs/{name}.yaml", subject=name) for name in names for check in CHECKS])
    assert list(grids) == [f"agreement-table-{name}" for name in ("1", "2", "2-part-2", "3")]
    assert grids["agreement-table-2"].groups == [("", 1), ("a", 4), ("b", 4), ("c", 4)]
    assert grids["agreement-table-2-part-2"].groups == [("", 1), ("d", 4)]
    assert grids["agreement-table-3"].header == ["", "a", "b", "c", "d"]


def test_a_model_without_a_method_has_an_empty_cell_and_equal_numbers_share_a_place() -> None:
    other = [changed(check, spec="specs/other.yaml") for check in CHECKS if check.method != "loo"]
    tied = [*CHECKS, check("lrp_gamma", "ground_truth", scores(0.9))]
    rows = {row[0]: row for row in tables(tied + other)["agreement-table-2"].blocks[0].rows}
    assert rows["loo"][5] == Number(digits=3)
    places = {name: row[1].place for name, row in rows.items() if isinstance(row[1], Number)}
    assert places == {"AttnLRP": 1, "Gradient": 0, "loo": 2, "lrp_gamma": 1}


def test_methods_at_chance_are_named() -> None:
    assert remarks(make_run(*CHECKS)) == ["some-llama: not above chance on MRR (95% interval): gradient_l1."]
    assert "every method" in remarks(make_run(*CHECKS[3:]))[0]


def test_files_are_written_only_where_there_is_something(tmp_path: Path) -> None:
    def write(*checks: CheckRecord) -> list[Path]:
        run = make_run(*checks)
        return [*write_paper_pages(run, tmp_path), *write_heatmaps(run, tmp_path)]

    assert write(changed(check("loo", "loo_correlation", {}), examples=[])) == []
    page, heatmaps = write(*CHECKS)
    assert [page.name, heatmaps.name] == ["agreement.md", "heatmaps-agreement.html"]
    assert heatmaps.read_text().count("<h2>") == 4
    assert write() == []
    assert list(tmp_path.iterdir()) == [], "what an earlier run left is not of this one"


def test_a_heatmap_underlines_the_subject_and_ends_with_the_verb() -> None:
    shown = heatmap(EXAMPLE)
    assert "<u>ke</u>" in shown
    assert "<u>ys</u>" in shown
    assert "&lt;b&gt;" in shown
    assert shown.endswith('<span class="verb">lie</span> <span class="number">3.25</span>')
    assert "214,39,40,0.750" in shown  # the largest positive
    assert "31,119,180,0.750" in shown  # the largest negative


def test_the_verb_stands_in_the_masks_place() -> None:
    masked = {"tokens": ["[CLS]", "the", "keys", "[MASK]", "here"], "words": [1, 2, 4], "truth": [2]}
    shown = heatmap(EXAMPLE.model_copy(update=masked))
    assert "[MASK]" not in shown
    assert shown.index("keys") < shown.index("lie") < shown.index("here")
