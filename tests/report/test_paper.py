"""The paper's tables and figure, built from made-up records as results.json holds them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axioms.commands.main import main
from axioms.papers.layouts import LAYOUTS, LayerLayout
from axioms.report.figures import save_figures
from axioms.report.files import write_tables
from axioms.report.gallery import draw_all
from axioms.report.grid import Grid, Number
from axioms.report.latex import escape
from axioms.report.paper import paper_tables
from axioms.report.render import RENDERERS
from axioms.report.series import layer_blocks
from axioms.run.records import SCHEMA_VERSION
from axioms.verdict.measure import bootstrap_interval

MODES = ("front_to_back", "back_to_front", "single")


def record(axiom: str, method: str | None, table: str | None, block: str, **changes: Any) -> dict[str, Any]:
    """One check."""
    base: dict[str, Any] = {
        "spec": f"specs/{block or table}.yaml",
        "axiom": axiom,
        "method": method,
        "than": None,
        "metrics": {},
        "values": {},
        "reported": {},
        "paired": {},
        "table": None if table is None else {"name": table, "block": block},
        "run": {"confidence": 0.95, "seed": 0},
    }
    return {**base, **changes}


def quantity(value: Any, interval: list[float] | None = None, n: int = 64) -> dict[str, Any]:
    """One number."""
    return {"value": value, "interval": interval, "n": n}


def text_records(block: str = "SST", **reported: dict[str, float]) -> list[dict[str, Any]]:
    """What feeds a block of Table 2; `reported` is the paper's r and so on, by method."""
    found = []
    numbers = {
        "random": (0.01, 0.5, 0.5),
        "cp_lrp": (0.6312, 1.0, 0.1),
        "attnlrp": (0.65, 0.9, 0.2),
        "loo": (1.0, 1.2, 0.0),
        "mine_%": (-0.004, 0.7, 0.4),
        "integrated_gradients": (0.42, 0.8, 0.3),
    }
    for method, (r, lerf, morf) in numbers.items():
        paper = reported.get(method, {})
        pearson = {"pearson.mean": quantity(r, [r - 0.05, r + 0.05])}
        found.append(record("loo_correlation", method, "table-2", block, metrics=pearson, reported=paper))
        curves = {
            "lerf": [lerf - 0.1, lerf + 0.1],
            "morf": [morf, morf],
            "delta": [lerf - morf - 0.1, lerf - morf + 0.1],
        }
        found.append(record("perturbation", method, "table-2", block, values=curves))
    found.append(record("loo_correlation", "cp_lrp", "table-2", block, than="attnlrp"))
    return found


def layer_records(
    block: str, layers: int, *, paper_layers: int = 0, delta: bool = True, seed: int = 0
) -> list[dict[str, Any]]:
    """What feeds a block of Table A3: sweeps that rise with depth, and the paper's where it has some."""
    rng = np.random.default_rng(seed)

    def curves(depth: int, suffix: str, low: float, high: float) -> dict[str, list[float]]:
        depths = (np.arange(depth) + 1) / depth
        shapes = {"front_to_back": depths**2, "back_to_front": 1 - (depths - 1 / depth) ** 3, "single": 0.3 * depths}
        noise = 0.02 * (high - low)
        return {
            f"{mode}{suffix}": (low + (high - low) * shapes[mode] + noise * rng.normal(size=depth)).tolist()
            for mode in MODES
        }

    reported: dict[str, Any] = curves(paper_layers, "", 0.22, 0.52) if paper_layers else {}
    found = [
        record(
            "bypass_gain",
            "attnlrp",
            "table-a3",
            block,
            metrics={name: quantity(vector, n=layers) for name, vector in curves(layers, "", 0.4, 0.6).items()},
            values={"total_gain": [0.1] * 64, "single": (0.45 + 0.1 * rng.normal(size=(64, layers))).tolist()},
            reported=reported,
        ),
        record(
            "loo_correlation",
            "attnlrp",
            "table-a3",
            block,
            metrics={"pearson.mean": quantity(0.41, [0.38, 0.44])},
            reported={"pearson.mean": 0.22} if paper_layers else {},
        ),
    ]
    if delta:
        vectors = (
            curves(layers, "_lerf", 0.9, 1) | curves(layers, "_morf", 0.1, 0.2) | curves(layers, "_delta", 0.7, 0.95)
        )
        paper = curves(paper_layers, "_delta", 0.78, 0.9) if paper_layers else {}
        metrics = {name: quantity(vector, n=layers) for name, vector in vectors.items()}
        found.append(record("bypass_perturbation", "attnlrp", "table-a3", block, metrics=metrics, reported=paper))
        baseline = {"delta.mean": quantity(0.72)}
        found.append(record("perturbation", "attnlrp", "table-a3", block, metrics=baseline))
    return found


def only(records: list[dict[str, Any]]) -> Grid:
    (grid,) = paper_tables(records)
    return grid


def row(grid: Grid, name: str, block: int = 0) -> list[Number]:
    found = next(each for each in grid.blocks[block].rows if each[0] == name)
    return [cell for cell in found if isinstance(cell, Number)]


def test_table_2_in_the_papers_order_with_places() -> None:
    grid = only(text_records())
    (block,) = grid.blocks
    assert block.title == "SST (n = 64)"
    assert [each[0] for each in block.rows] == ["LOO", "IG", "Random", "mine_%", "AttnLRP", "CP-LRP"]
    assert block.sections == {4: "LRP VARIANTS"}
    assert grid.header == ["Method", "LOO r ↑", "LeRF ↑", "MoRF ↓", "Δ ↑"]
    places = {name: [cell.place for cell in row(grid, name)] for name in ("LOO", "AttnLRP", "CP-LRP", "Random")}
    assert places == {"LOO": [0, 1, 1, 1], "AttnLRP": [1, 0, 0, 0], "CP-LRP": [2, 2, 2, 2], "Random": [0, 0, 0, 0]}


def test_a_metric_that_no_spec_asked_for_is_computed_from_its_values() -> None:
    lerf = row(only(text_records()), "IG")[1]
    assert lerf.ours == pytest.approx(0.8)
    assert (lerf.n, lerf.interval is not None) == (2, True)


def test_the_papers_number_stands_beside_ours_and_comparisons_do_not_enter() -> None:
    grid = only(text_records(cp_lrp={"pearson.mean": 0.52}))
    assert row(grid, "CP-LRP")[0].paper == 0.52
    assert row(grid, "AttnLRP")[0].paper is None
    text = RENDERERS["md"](grid)
    assert "| CP-LRP | *0.63* [0.58, 0.68] (0.52) | *1.00* |" in text
    assert "| mine\\_% | 0.00 [-0.05, 0.05] |" in text, "a rounded zero has no sign"


def test_blocks_of_the_same_name_are_told_apart() -> None:
    other = [{**each, "spec": "specs/other.yaml"} for each in text_records()]
    titles = [block.title for block in only(text_records() + other).blocks]
    assert titles == ["SST (specs/SST.yaml) (n = 64)", "SST (specs/other.yaml) (n = 64)"]


def test_records_without_a_table_feed_nothing() -> None:
    assert paper_tables([record("loo_correlation", "loo", None, "x")]) == []


def test_table_1() -> None:
    both = {"left.pearson_sum_normalized.mean": quantity(0.24), "right.pearson_sum_normalized.mean": quantity(0.45)}
    grid = only(
        [
            record("forward_equivalence", None, "table-1", ""),
            record(
                "implementation_invariance",
                "attnlrp",
                "table-1",
                "",
                metrics={"pearson_sum_normalized.mean": quantity(0.829)},
                reported={"pearson_sum_normalized.mean": 0.7865},
            ),
            record("loo_correlation", "attnlrp", "table-1", "", metrics=both),
        ]
    )
    assert grid.header == ["Explainer", "L vs R", "L vs LOO", "R vs LOO"]
    assert "| AttnLRP | 0.8290 (0.7865) | 0.2400 | 0.4500 |" in RENDERERS["md"](grid)


class TestTableA3:
    def test_rows_stand_as_in_the_paper(self) -> None:
        records = layer_records("SST", 12, paper_layers=12)
        grid = only(records)
        first, last = grid.blocks[0].rows[0], grid.blocks[0].rows[-1]
        assert [cell for cell in first if isinstance(cell, str)] == ["L:1", "L12:", "L1"]
        assert [cell for cell in last if isinstance(cell, str)] == ["L:12", "L1:", "L12"]
        sweep = records[0]
        back = [cell for cell in first if isinstance(cell, Number)][4]
        assert back.ours == sweep["metrics"]["back_to_front"]["value"][11], "L12: is the last entry"
        assert back.paper == sweep["reported"]["back_to_front"][11]

    def test_intervals_come_from_the_values_of_each_example(self) -> None:
        records = layer_records("SST", 4)
        first = [cell for cell in only(records).blocks[0].rows[0] if isinstance(cell, Number)]
        values = np.array(records[0]["values"]["single"])[:, 0]
        assert first[8].interval == bootstrap_interval(values, confidence=0.95, seed=0)
        assert first[0].interval is None

    def test_what_no_spec_asked_for_is_computed_from_the_values(self) -> None:
        records = layer_records("SST", 2, delta=False)
        del records[0]["metrics"]["single"]
        records[0]["values"]["single"] = [[0.1, 0.2], [0.3, None]]
        rows = only(records).blocks[0].rows
        assert [each[-1].ours for each in rows if isinstance(each[-1], Number)] == [pytest.approx(0.2), 0.2]

    def test_the_baseline_is_the_method_without_a_bypass(self) -> None:
        layout = LAYOUTS["table-a3"]
        assert isinstance(layout, LayerLayout)
        records = layer_records("SST", 4, delta=False)
        assert layer_blocks(layout, {"SST": records})[0].baseline == {"LOO r": 0.41}
        records[0]["values"]["none"] = [0.2, None, 0.4]
        assert layer_blocks(layout, {"SST": records[:1]})[0].baseline == {"LOO r": pytest.approx(0.3)}

    def test_columns_that_nobody_measured_are_left_out(self) -> None:
        assert only(layer_records("SST", 3, delta=False)).header == [
            *("Rm layers", "LOO r ↑") * 2,
            *("Rm layer", "LOO r ↑"),
        ]

    def test_a_paper_of_another_depth_has_its_own_block(self) -> None:
        grid = only(layer_records("Reviews", 6, paper_layers=12))
        assert [(block.title, len(block.rows)) for block in grid.blocks] == [
            ("Reviews (n = 64)", 6),
            ("Paper (12 layers)", 12),
        ]

    def test_vectors_of_unequal_length_are_not_put_side_by_side(self) -> None:
        broken = layer_records("SST", 6)
        broken[0]["metrics"]["single"] = quantity([0.1] * 5)
        assert paper_tables(broken) == []


def all_records() -> list[dict[str, Any]]:
    return text_records(cp_lrp={"pearson.mean": 0.52}) + layer_records("SST_2 & 50%", 12, paper_layers=12)


def test_latex_is_well_formed() -> None:
    for grid in paper_tables(all_records()):
        text = RENDERERS["tex"](grid)
        assert text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
        for environment in ("table" if grid.name == "table-2" else "sidewaystable", "tabular"):
            assert text.count(f"\\begin{{{environment}}}") == text.count(f"\\end{{{environment}}}") == 1
        assert [text.count(rule) for rule in ("\\toprule", "\\midrule", "\\bottomrule")] == [1, 1, 1]
        body = text[text.index("\\toprule") : text.index("\\bottomrule")]
        assert not re.search(r"(?<!\\)[_%#]", body)
        lines = [line for line in body.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(grid.header) - 1}
    assert escape("a_b & 5% {x} Δ") == r"a\_b \& 5\% \{x\} $\Delta$"


def test_markdown_rows_are_of_equal_length() -> None:
    for grid in paper_tables(all_records()):
        lines = [line for line in RENDERERS["md"](grid).splitlines() if line.startswith("|")]
        assert {line.count("|") for line in lines} == {len(grid.header) + 1}


def test_csv_holds_every_number() -> None:
    for grid in paper_tables(all_records()):
        rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](grid))))
        cells = [cell for block in grid.blocks for line in block.rows for cell in line if isinstance(cell, Number)]
        assert [each["ours"] for each in rows] == ["" if cell.ours is None else str(cell.ours) for cell in cells]
        assert [each["paper"] for each in rows] == ["" if cell.paper is None else str(cell.paper) for cell in cells]


def test_files_of_a_run_and_none_that_an_earlier_run_left(tmp_path: Path) -> None:
    def write(records: list[dict[str, Any]]) -> set[str]:
        files = [*write_tables(records, tmp_path), *(each.file for each in draw_all(records, tmp_path / "figures"))]
        return {file.relative_to(tmp_path).as_posix() for file in files}

    tables = {f"tables/{name}.{kind}" for name in ("table-2", "table-a3") for kind in ("md", "tex", "csv")}
    assert write(all_records()) == tables | {"figures/figure-2.svg"}
    assert (tmp_path / "figures/figure-2.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "figures/figure-2.svg").read_text()
    for said in ("Pearson r with LOO", "Front to back, paper", "no bypass (AttnLRP)", "SST_2"):
        assert said in svg
    write(text_records())
    assert {file.stem for file in tmp_path.rglob("*.*")} == {"table-2"}


def test_the_same_numbers_give_the_same_figure(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_figures(layer_records("SST", 4, delta=False), tmp_path / name)
    assert (tmp_path / "one/figure-2.svg").read_bytes() == (tmp_path / "two/figure-2.svg").read_bytes()


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import axioms.plugin, axioms.commands.main, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Path:
        (tmp_path / "results.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION, "checks": all_records()}))
        return tmp_path

    @pytest.mark.parametrize(
        ("kind", "said"), [("md", "**You et al. 2025, Table A3.**"), ("tex", "\\toprule"), ("csv", "table,block,")]
    )
    def test_prints_a_saved_run(self, run: Path, kind: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["report", str(run), "--format", kind]) == 0
        assert said in capsys.readouterr().out

    def test_one_table(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["report", str(run / "results.json"), "--table", "table-2"]) == 0
        out = capsys.readouterr().out
        assert "Table 2" in out
        assert "Table A3" not in out

    @pytest.mark.parametrize(
        ("content", "arguments", "said"),
        [
            (None, [], "cannot be read"),
            ("{", [], "is not JSON"),
            ("[]", [], "is not a results.json of version 1"),
            ('{"schema_version": 1, "checks": []}', [], "feeds no table"),
            (
                json.dumps({"schema_version": 1, "checks": text_records()}),
                ["--table", "table2"],
                "Did you mean 'table-2'",
            ),
        ],
    )
    def test_errors_are_sentences(
        self, tmp_path: Path, content: str | None, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        if content is not None:
            (tmp_path / "results.json").write_text(content)
        assert main(["report", str(tmp_path), *arguments]) == 2
        assert said in capsys.readouterr().err
