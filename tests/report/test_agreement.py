"""Table 2 in the paper's layout, and the heatmaps."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from axioms.report.agreement import agreement_markdown, write_agreement
from axioms.report.agreement_tables import agreement_tables
from axioms.report.files import write_tables
from axioms.report.grid import Grid, Number
from axioms.report.heatmaps import heatmap
from axioms.report.render import RENDERERS


def quantity(value: float, interval: list[float] | None = None) -> dict[str, Any]:
    return {"value": value, "n": 5, "interval": interval}


def record(method: str | None, axiom: str, metrics: dict[str, Any], reported: dict[str, float] | None = None) -> Any:
    return {
        "id": f"specs/agreement.yaml::{axiom}[{method or 'model'}]",
        "spec": "specs/agreement.yaml",
        "subject": "some-llama",
        "axiom": axiom,
        "method": method,
        "than": None,
        "metrics": metrics,
        "reported": reported or {},
        "examples": [EXAMPLE] if method else [],
    }


EXAMPLE = {
    "tokens": ["<s>", "Ġthe", "Ġke", "ys", "Ġ<b>"],
    "scores": [0.5, 0.0, 1.0, -1.0, 0.1],
    "truth": [2, 3],
    "words": [1, 2, 3, 4],
    "forms": ["lie", "lies"],
    "difference": 3.25,
}


def scores(pg: float, low: float = 0.1) -> dict[str, Any]:
    named = {f"{name}.mean": quantity(pg) for name in ("pg", "mrr", "rma", "pta")}
    return {**named, "mrr_over_chance.mean": quantity(low + 0.1, [low, low + 0.2])}


RECORDS = [
    record(None, "task", {"accuracy": quantity(0.97), "wrong": quantity(9), "malformed": quantity(0)}),
    record(
        None,
        "chance",
        {name: quantity(0.25) for name in ("pg", "mrr", "rma", "pta", "pg_sd", "mrr_sd", "rma_sd", "pta_sd")},
    ),
    record("gradient_l1", "ground_truth", scores(0.3, low=-0.1)),
    record("gradient_l2", "ground_truth", scores(0.4)),
    record("attnlrp", "ground_truth", scores(0.9), {"pg.mean": 0.884}),
    record("loo", "ground_truth", scores(0.8)),
]


def tables(records: list[Any]) -> dict[str, Grid]:
    return {grid.name: grid for grid in agreement_tables(records)}


def test_the_papers_rows_come_first_and_random_last() -> None:
    lines = agreement_markdown(RECORDS)
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
    records = [{**each, "table": None} for each in RECORDS]
    written = {file.relative_to(tmp_path).as_posix() for file in write_tables(records, tmp_path)}
    assert written == {f"tables/agreement-table-{number}.{kind}" for number in (1, 2, 3) for kind in RENDERERS}
    rows = list(csv.DictReader((tmp_path / "tables/agreement-table-2.csv").read_text().splitlines()))
    cell = next(each for each in rows if each["row"] == "AttnLRP" and each["column"] == "PG2")
    assert (cell["group"], cell["ours"], cell["paper"]) == ("some-llama", "0.9", "0.884")
    latex = (tmp_path / "tables/agreement-table-2.tex").read_text()
    assert r"AttnLRP & \textbf{0.900} \textcolor{black!60}{(0.884)} & \textbf{0.900}" in latex
    assert r"\underline{0.800}" in latex
    assert r"$\pm$std" in latex
    write_tables([], tmp_path)
    assert list((tmp_path / "tables").iterdir()) == [], "an earlier run's tables are not of this one"


def test_more_models_than_fit_side_by_side_go_on_in_another_part() -> None:
    names = ["one/a", "one/b", "c", "d"]
    records = [{**each, "spec": f"specs/{name}.yaml", "subject": name} for name in names for each in RECORDS]
    found = tables(records)
    assert list(found) == [f"agreement-table-{name}" for name in ("1", "2", "2-part-2", "3")]
    assert found["agreement-table-2"].groups == [("", 1), ("a", 4), ("b", 4), ("c", 4)]
    assert found["agreement-table-2-part-2"].groups == [("", 1), ("d", 4)]
    assert found["agreement-table-3"].header == ["", "a", "b", "c", "d"]


def test_a_model_without_a_method_has_an_empty_cell_and_equal_numbers_share_a_place() -> None:
    other = [{**each, "spec": "specs/other.yaml"} for each in RECORDS if each["method"] != "loo"]
    tied = [*RECORDS, record("lrp_gamma", "ground_truth", scores(0.9))]
    rows = {row[0]: row for row in tables(tied + other)["agreement-table-2"].blocks[0].rows}
    assert rows["loo"][5] == Number(digits=3)
    places = {name: row[1].place for name, row in rows.items() if isinstance(row[1], Number)}
    assert places == {"AttnLRP": 1, "Gradient": 0, "loo": 2, "lrp_gamma": 1}


def test_methods_at_chance_are_named() -> None:
    assert agreement_markdown(RECORDS)[-1].endswith("not above chance on MRR (95% interval): gradient_l1.")
    assert "every method" in agreement_markdown(RECORDS[3:])[-1]


def test_files_are_written_only_where_there_is_something(tmp_path: Path) -> None:
    assert write_agreement([record("loo", "loo_correlation", {})], tmp_path / "none") == []
    written = write_agreement(RECORDS, tmp_path / "report")
    assert [file.name for file in written] == ["agreement.md", "heatmaps-agreement.html"]
    assert written[1].read_text().count("<h2>") == 4
    assert write_agreement([], tmp_path / "report") == []
    assert list((tmp_path / "report").iterdir()) == [], "what an earlier run left is not of this one"


def test_a_heatmap_underlines_the_subject_and_ends_with_the_verb() -> None:
    shown = heatmap(EXAMPLE)
    assert "<u>ke</u>" in shown
    assert "<u>ys</u>" in shown
    assert "&lt;b&gt;" in shown
    assert shown.endswith('<span class="verb">lie</span> <span class="number">3.25</span>')
    assert "214,39,40,0.750" in shown  # the largest positive
    assert "31,119,180,0.750" in shown  # the largest negative


def test_the_verb_stands_in_the_masks_place() -> None:
    one = {**EXAMPLE, "tokens": ["[CLS]", "the", "keys", "[MASK]", "here"], "words": [1, 2, 4], "truth": [2]}
    shown = heatmap(one)
    assert "[MASK]" not in shown
    assert shown.index("keys") < shown.index("lie") < shown.index("here")
