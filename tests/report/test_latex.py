"""Every table compiles, fits its page, and says what it should; needs pdflatex."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.main import main
from axioms.commands.rules import rules_table
from axioms.core.registry import METHODS
from axioms.papers.grid import Block, Grid, Number
from axioms.papers.tables import every_table
from axioms.record import CheckRecord
from axioms.report.latex import document, escape, latex_table
from axioms.run.records import method_records
from tests.records import make_check, make_run, quantity, save_run

REQUIRED = "AXIOMS_REQUIRE_LATEX"


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[[str], str]:
    """What LaTeX says of a document that it compiled."""
    if shutil.which("pdflatex") is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, and there is no pdflatex.")
        pytest.skip("there is no pdflatex: install texlive-latex-recommended")

    def compile(text: str) -> str:
        (tmp_path / "tables.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
        assert (tmp_path / "tables.pdf").read_bytes().startswith(b"%PDF")
        return (tmp_path / "tables.log").read_text(errors="replace")

    return compile


def number(value: float) -> dict[str, Any]:
    return quantity(value, [value - 0.05, value + 0.05], 64)


def check(spec: str, axiom: str, method: str | None, metrics: dict[str, Any], table: str | None = None) -> CheckRecord:
    """A check of which the paper printed every number."""
    return make_check(
        spec=spec,
        subject=f"someone/{spec}_model",
        axiom=axiom,
        method=method,
        metrics=metrics,
        reported={name: metric["value"] for name, metric in metrics.items()},
        table=None if table is None else {"name": table, "block": f"{spec} & 50% of_it"},
    )


def checks() -> list[CheckRecord]:
    """A run that feeds every table, with all that can stand in a cell."""
    made: list[CheckRecord] = []
    methods = ("loo", "integrated_gradients", "attnlrp", "cp_lrp", "mine_{%}")
    for place, method in enumerate(methods):
        r = number(-0.004 + place / 10)
        sum_normalized = {f"{side}pearson_sum_normalized.mean": r for side in ("left.", "right.")}
        pearson = {"pearson_sum_normalized.mean": r}
        made += [
            check("mnist", "implementation_invariance", method, pearson, "table-1"),
            check("mnist", "loo_correlation", method, sum_normalized, "table-1"),
        ]
        curves = {f"{name}.mean": r for name in ("lerf", "morf", "delta")}
        for spec in ("sst", "imdb"):
            made.append(check(spec, "loo_correlation", method, {"pearson.mean": r}, "table-2"))
            made.append(check(spec, "perturbation", method, curves, "table-2"))
    modes = ("front_to_back", "back_to_front", "single")
    for spec, depth in (("sst", 12), ("imdb", 12), ("deep", 30)):
        vector = {"value": [-0.25] * depth, "interval": None, "n": depth}
        made.append(check(spec, "bypass_gain", "attnlrp", dict.fromkeys(modes, vector), "table-a3"))
        curves = {f"{mode}_{name}": vector for mode in modes for name in ("lerf", "morf", "delta")}
        made.append(check(spec, "bypass_perturbation", "attnlrp", curves, "table-a3"))
    for spec in ("bert-base-uncased", "gpt2-small", "llama-3.2-1b", "llama-3.2-3b"):
        chance = {f"{name}{end}": number(0.1) for name in ("pg", "mrr", "rma", "pta") for end in ("", "_sd")}
        made.append(check(spec, "chance", None, chance))
        made.append(check(spec, "task", None, {"accuracy": number(0.969), "not_present": number(148)}))
        for method in ("alti_logit", "cp_lrp", "attnlrp", "gradient_l1", "gradient_x_input"):
            metrics = {f"{name}.mean": number(0.5) for name in ("pg", "mrr", "rma", "pta")}
            made.append(check(spec, "ground_truth", method, metrics))
    return made


def every_grid() -> list[Grid]:
    run = make_run(*checks(), methods=method_records(METHODS))
    return [*every_table(run), rules_table()]


def test_every_table_compiles_and_fits_its_page(compiled: Callable[[str], str]) -> None:
    grids = every_grid()
    assert [grid.name for grid in grids] == [
        *("table-1", "table-2", "table-a3"),
        *(f"agreement-table-{name}" for name in ("1", "2", "2-part-2", "3")),
        "methods",
    ]
    text = document(grids)
    assert text.count("\\begin{tabular}") == 9, "one for each table, and a second for the long one"
    said = compiled(text)
    for trouble in ("Overfull", "Float too large", "Missing character", "multiply defined"):
        assert trouble not in said


def test_the_command_prints_a_document_that_compiles(
    tmp_path: Path, compiled: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(make_run(*checks()), tmp_path)
    assert main(["report", str(tmp_path), "--format", "tex", "--standalone", "--table", "table-2"]) == 0
    assert "(1 page," in compiled(capsys.readouterr().out)


def test_whatever_stands_in_a_text_is_printed(compiled: Callable[[str], str]) -> None:
    text = "".join(map(chr, range(32, 127))) + "éüßñøŁ ×±Δ↑↓εγ–—’… λ 漢 🙂"
    grid = Grid("t", "T", text, [(text, 2)], ["", text], [Block(text, [[text, Number(-1.5, place=2)]], {0: text})])
    assert "Missing character" not in compiled(document([grid]))
    assert escape("λ🙂") == "[U+03BB][U+1F642]"


def test_standalone_goes_with_latex(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path), "--standalone"]) == 2
    assert "it goes with --format tex, not with md" in capsys.readouterr().err


def test_a_long_table_goes_on_and_loses_nothing() -> None:
    rows: list[list[Any]] = [[f"row {number}", Number(number)] for number in range(100)]
    blocks = [Block("First", rows[:10], {}), Block("Second", rows[10:], {0: "begins", 60: "goes on"})]
    text = latex_table(Grid("t", "T", "C", [], ["", "x"], blocks))
    assert text.count("\\begin{table}") == text.count("\\toprule") == 4
    assert [f"row {number} &" in text for number in range(100)] == [True] * 100
    assert [text.count(each) for each in ("{begins}", "{goes on}", "{Second}", "{Second, continued}")] == [1, 1, 1, 2]
    assert ["\\label{tab:t}" in text, "\\label{tab:t-2}" in text] == [True, True]


def test_a_wide_table_lies_on_its_side() -> None:
    names = [f"column {number}" for number in range(12)]
    wide = Grid("t", "T", "C", [], ["", *names], [Block("", [["row", *(Number(0.5) for _ in names)]], {})])
    assert "\\begin{sidewaystable}" in latex_table(wide)
    assert "\\begin{table}" in latex_table(Grid("t", "T", "C", [], ["", "x"], [Block("", [["row", Number(1)]], {})]))
