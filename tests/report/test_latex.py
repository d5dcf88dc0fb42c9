"""Every table compiles, fits its page, and says what it should; needs pdflatex."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.main import main
from axioms.report.agreement_tables import agreement_tables
from axioms.report.grid import Block, Grid, Number
from axioms.report.latex import document, escape, latex_table
from axioms.report.method_table import every_method
from axioms.report.paper import paper_tables
from axioms.report.tables import Record
from axioms.run.records import SCHEMA_VERSION

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


def number(value: float, **more: Any) -> dict[str, Any]:
    return {"value": value, "interval": [value - 0.05, value + 0.05], "n": 64, **more}


def record(spec: str, axiom: str, method: str | None, metrics: dict[str, Any], table: str | None = None) -> Record:
    """A check of which the paper printed every number."""
    return {
        "spec": spec,
        "subject": f"someone/{spec}_model",
        "axiom": axiom,
        "method": method,
        "than": None,
        "metrics": metrics,
        "values": {},
        "reported": {name: each["value"] for name, each in metrics.items()},
        "table": None if table is None else {"name": table, "block": f"{spec} & 50% of_it"},
        "run": {"confidence": 0.95, "seed": 0},
    }


def records() -> list[Record]:
    """A run that feeds every table, with all that can stand in a cell."""
    found: list[Record] = []
    methods = ("loo", "integrated_gradients", "attnlrp", "cp_lrp", "mine_{%}")
    for place, method in enumerate(methods):
        r = number(-0.004 + place / 10)
        sum_normalized = {f"{side}pearson_sum_normalized.mean": r for side in ("left.", "right.")}
        pearson = {"pearson_sum_normalized.mean": r}
        found += [
            record("mnist", "implementation_invariance", method, pearson, "table-1"),
            record("mnist", "loo_correlation", method, sum_normalized, "table-1"),
        ]
        curves = {f"{name}.mean": r for name in ("lerf", "morf", "delta")}
        for spec in ("sst", "imdb"):
            found.append(record(spec, "loo_correlation", method, {"pearson.mean": r}, "table-2"))
            found.append(record(spec, "perturbation", method, curves, "table-2"))
    modes = ("front_to_back", "back_to_front", "single")
    for spec, depth in (("sst", 12), ("imdb", 12), ("deep", 30)):
        vector = {"value": [-0.25] * depth, "interval": None, "n": depth}
        found.append(record(spec, "bypass_gain", "attnlrp", dict.fromkeys(modes, vector), "table-a3"))
        curves = {f"{mode}_{name}": vector for mode in modes for name in ("lerf", "morf", "delta")}
        found.append(record(spec, "bypass_perturbation", "attnlrp", curves, "table-a3"))
    for spec in ("bert-base-uncased", "gpt2-small", "llama-3.2-1b", "llama-3.2-3b"):
        chance = {f"{name}{end}": number(0.1) for name in ("pg", "mrr", "rma", "pta") for end in ("", "_sd")}
        found.append(record(spec, "chance", None, chance))
        found.append(record(spec, "task", None, {"accuracy": number(0.969), "not_present": number(148)}))
        for method in ("alti_logit", "cp_lrp", "attnlrp", "gradient_l1", "gradient_x_input"):
            metrics = {f"{name}.mean": number(0.5) for name in ("pg", "mrr", "rma", "pta")}
            found.append(record(spec, "ground_truth", method, metrics))
    return found


def every_table() -> list[Grid]:
    return [*paper_tables(records()), *agreement_tables(records()), every_method()]


def test_every_table_compiles_and_fits_its_page(compiled: Callable[[str], str]) -> None:
    grids = every_table()
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
    (tmp_path / "results.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION, "checks": records()}))
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
