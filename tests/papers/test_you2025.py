"""The tables and the figure of You et al. (2025), built from made-up checks as results.json holds them."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axioms.commands.main import main
from axioms.papers.grid import Grid, Number
from axioms.papers.layers import layer_blocks
from axioms.papers.layouts import LayerLayout
from axioms.papers.tables import every_table
from axioms.papers.you2025 import TABLES
from axioms.record import CheckRecord
from axioms.report.figures_layers import draw_layers
from axioms.report.latex import escape
from axioms.report.render import RENDERERS, write_tables
from axioms.report.write import draw_all
from tests.records import changed, make_check, make_run, quantity, save_run

MODES = ("front_to_back", "back_to_front", "single")


def check(axiom: str, method: str | None, table: str | None, block: str, **changes: Any) -> CheckRecord:
    """One check that feeds a table."""
    place = None if table is None else {"name": table, "block": block}
    return make_check(
        **{"spec": f"specs/{block or table}.yaml", "axiom": axiom, "method": method, "table": place, **changes}
    )


def text_checks(block: str = "SST", **reported: dict[str, float]) -> list[CheckRecord]:
    """What feeds a block of Table 2; `reported` is the paper's r and so on, by method."""
    checks = []
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
        pearson = {"pearson.mean": quantity(r, [r - 0.05, r + 0.05], 64)}
        checks.append(check("loo_correlation", method, "table-2", block, metrics=pearson, reported=paper))
        areas = {"lerf.mean": lerf, "morf.mean": morf, "delta.mean": lerf - morf}
        extra = {name: quantity(value, [value - 0.04, value + 0.04], 2) for name, value in areas.items()}
        checks.append(check("perturbation", method, "table-2", block, extra_metrics=extra))
    checks.append(check("loo_correlation", "cp_lrp", "table-2", block, than="attnlrp"))
    return checks


def layer_checks(
    block: str, layers: int, *, paper_layers: int = 0, delta: bool = True, seed: int = 0
) -> list[CheckRecord]:
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
    single = {"mean": [0.45] * layers, "n": 64, "intervals": [[0.4, 0.5]] * layers}
    checks = [
        check(
            "bypass_gain",
            "attnlrp",
            "table-a3",
            block,
            metrics={name: quantity(vector, n=layers) for name, vector in curves(layers, "", 0.4, 0.6).items()},
            curves={"single": single},
            values={"total_gain": [0.1] * 64},
            reported=reported,
        ),
        check(
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
        checks.append(check("bypass_perturbation", "attnlrp", "table-a3", block, metrics=metrics, reported=paper))
        baseline = {"delta.mean": quantity(0.72)}
        checks.append(check("perturbation", "attnlrp", "table-a3", block, metrics=baseline))
    return checks


def only(checks: list[CheckRecord]) -> Grid:
    (grid,) = every_table(make_run(*checks))
    return grid


def row(grid: Grid, name: str, block: int = 0) -> list[Number]:
    cells = next(cells for cells in grid.blocks[block].rows if cells[0] == name)
    return [cell for cell in cells if isinstance(cell, Number)]


def test_table_2_in_the_papers_order_with_places() -> None:
    grid = only(text_checks())
    (block,) = grid.blocks
    assert block.title == "SST (n = 64)"
    assert [cells[0] for cells in block.rows] == ["LOO", "IG", "Random", "mine_%", "AttnLRP", "CP-LRP"]
    assert block.sections == {4: "LRP VARIANTS"}
    assert grid.header == ["Method", "LOO r ↑", "LeRF ↑", "MoRF ↓", "Δ ↑"]
    places = {name: [cell.place for cell in row(grid, name)] for name in ("LOO", "AttnLRP", "CP-LRP", "Random")}
    assert places == {"LOO": [0, 1, 1, 1], "AttnLRP": [0, 0, 0, 0], "CP-LRP": [0, 2, 2, 2], "Random": [0, 0, 0, 0]}, (
        "0.65 [0.60, 0.70] is not told from 0.63 [0.58, 0.68], so that neither is first"
    )


def test_a_metric_that_no_spec_asked_for_is_among_the_extra_ones() -> None:
    lerf = row(only(text_checks()), "IG")[1]
    assert lerf.ours == pytest.approx(0.8)
    assert (lerf.n, lerf.interval is not None) == (2, True)


def test_the_papers_number_stands_beside_ours_and_comparisons_do_not_enter() -> None:
    grid = only(text_checks(cp_lrp={"pearson.mean": 0.52}))
    assert row(grid, "CP-LRP")[0].paper == 0.52
    assert row(grid, "AttnLRP")[0].paper is None
    text = RENDERERS["md"](grid)
    assert "| CP-LRP | 0.63 [0.58, 0.68] (0.52) | *1.00* |" in text
    assert "| mine_% | 0.00 [-0.05, 0.05] |" in text, "a rounded zero has no sign"


def test_blocks_of_the_same_name_are_told_apart() -> None:
    other = [changed(check, spec="specs/other.yaml") for check in text_checks()]
    titles = [block.title for block in only(text_checks() + other).blocks]
    assert titles == ["SST (specs/SST.yaml) (n = 64)", "SST (specs/other.yaml) (n = 64)"]


def test_checks_without_a_table_feed_nothing() -> None:
    assert every_table(make_run(check("loo_correlation", "loo", None, "x"))) == []


def test_table_1() -> None:
    both = {"left.pearson_sum_normalized.mean": quantity(0.24), "right.pearson_sum_normalized.mean": quantity(0.45)}
    grid = only(
        [
            check("forward_equivalence", None, "table-1", ""),
            check(
                "implementation_invariance",
                "attnlrp",
                "table-1",
                "",
                metrics={"pearson_sum_normalized.mean": quantity(0.829)},
                reported={"pearson_sum_normalized.mean": 0.7865},
            ),
            check("loo_correlation", "attnlrp", "table-1", "", metrics=both),
        ]
    )
    assert grid.header == ["Explainer", "L vs R", "L vs LOO", "R vs LOO"]
    assert "| AttnLRP | 0.8290 (0.7865) | 0.2400 | 0.4500 |" in RENDERERS["md"](grid)


class TestTableA3:
    def test_rows_stand_as_in_the_paper(self) -> None:
        checks = layer_checks("SST", 12, paper_layers=12)
        grid = only(checks)
        first, last = grid.blocks[0].rows[0], grid.blocks[0].rows[-1]
        assert [cell for cell in first if isinstance(cell, str)] == ["L:1", "L12:", "L1"]
        assert [cell for cell in last if isinstance(cell, str)] == ["L:12", "L1:", "L12"]
        sweep, reported = checks[0].metrics["back_to_front"].value, checks[0].reported["back_to_front"]
        assert isinstance(sweep, list)
        assert isinstance(reported, list)
        back = [cell for cell in first if isinstance(cell, Number)][4]
        assert back.ours == sweep[11], "L12: is the last entry"
        assert back.paper == reported[11]

    def test_intervals_are_those_of_the_record(self) -> None:
        first = [cell for cell in only(layer_checks("SST", 4)).blocks[0].rows[0] if isinstance(cell, Number)]
        assert first[8].interval == (0.4, 0.5)
        assert first[0].interval is None

    def test_what_no_spec_asked_for_is_the_mean_of_its_curve(self) -> None:
        sweep, *rest = layer_checks("SST", 2, delta=False)
        asked = {name: metric for name, metric in sweep.metrics.items() if name != "single"}
        curves = {"single": {"mean": [0.2, float("nan")], "n": 2}}
        rows = only([changed(sweep, metrics=asked, curves=curves), *rest]).blocks[0].rows
        assert [cells[-1].ours for cells in rows if isinstance(cells[-1], Number)] == [0.2, None]

    def test_the_baseline_is_the_method_without_a_bypass(self) -> None:
        layout = TABLES["table-a3"]
        assert isinstance(layout, LayerLayout)
        sweep, loo = layer_checks("SST", 4, delta=False)
        assert layer_blocks(layout, {"SST": [sweep, loo]})[0].baseline == {"LOO r": 0.41}
        alone = changed(sweep, extra_metrics={"none.mean": quantity(0.3)})
        assert layer_blocks(layout, {"SST": [alone]})[0].baseline == {"LOO r": 0.3}

    def test_columns_that_nobody_measured_are_left_out(self) -> None:
        assert only(layer_checks("SST", 3, delta=False)).header == [
            *("Rm layers", "LOO r ↑") * 2,
            *("Rm layer", "LOO r ↑"),
        ]

    def test_a_paper_of_another_depth_has_its_own_block(self) -> None:
        grid = only(layer_checks("Reviews", 6, paper_layers=12))
        assert [(block.title, len(block.rows)) for block in grid.blocks] == [
            ("Reviews (n = 64)", 6),
            ("Paper (12 layers)", 12),
        ]

    def test_vectors_of_unequal_length_are_not_put_side_by_side(self) -> None:
        sweep, *rest = layer_checks("SST", 6)
        broken = changed(sweep, metrics={**sweep.metrics, "single": quantity([0.1] * 5)})
        assert every_table(make_run(broken, *rest)) == []


def all_checks() -> list[CheckRecord]:
    return text_checks(cp_lrp={"pearson.mean": 0.52}) + layer_checks("SST_2 & 50%", 12, paper_layers=12)


def test_latex_is_well_formed() -> None:
    for grid in every_table(make_run(*all_checks())):
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
    for grid in every_table(make_run(*all_checks())):
        lines = [line for line in RENDERERS["md"](grid).splitlines() if line.startswith("|")]
        assert {line.count("|") for line in lines} == {len(grid.header) + 1}


def test_csv_holds_every_number() -> None:
    for grid in every_table(make_run(*all_checks())):
        rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](grid))))
        cells = [cell for block in grid.blocks for line in block.rows for cell in line if isinstance(cell, Number)]
        assert [row["ours"] for row in rows] == ["" if cell.ours is None else str(cell.ours) for cell in cells]
        assert [row["paper"] for row in rows] == ["" if cell.paper is None else str(cell.paper) for cell in cells]


def test_files_of_a_run_and_none_that_an_earlier_run_left(tmp_path: Path) -> None:
    def write(checks: list[CheckRecord]) -> set[str]:
        run = make_run(*checks)
        tables = write_tables(every_table(run), tmp_path / "tables")
        files = [*tables, *(picture.file for picture in draw_all(run, tmp_path / "figures"))]
        return {file.relative_to(tmp_path).as_posix() for file in files}

    tables = {f"tables/{name}.{kind}" for name in ("table-2", "table-a3") for kind in ("md", "tex", "csv")}
    assert write(all_checks()) == tables | {"figures/figure-2.svg"}
    assert (tmp_path / "figures/figure-2.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "figures/figure-2.svg").read_text()
    for said in ("Pearson r with LOO", "Front to back, paper", "no bypass (AttnLRP)", "SST_2"):
        assert said in svg
    write(text_checks())
    assert {file.stem for file in tmp_path.rglob("*.*")} == {"table-2"}


def test_the_same_numbers_give_the_same_figure(tmp_path: Path) -> None:
    for name in ("one", "two"):
        draw_layers(make_run(*layer_checks("SST", 4, delta=False)), tmp_path / name)
    assert (tmp_path / "one/figure-2.svg").read_bytes() == (tmp_path / "two/figure-2.svg").read_bytes()


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import axioms.plugin, axioms.commands.main, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Path:
        save_run(make_run(*all_checks()), tmp_path)
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
            ("[]", [], "is not one: a results.json of version 2 is needed; run the specs again"),
            ('{"schema_version": 1, "checks": []}', [], "is of version 1: a results.json of version 2 is needed"),
            ('{"schema_version": 2, "checks": []}', [], "is not a results.json of version 2: run: Field required"),
            (make_run().model_dump_json(), [], "feeds no table"),
            (make_run(*text_checks()).model_dump_json(), ["--table", "table2"], "Did you mean 'table-2'"),
            (
                make_run(check("loo_correlation", "loo", "table-x", "")).model_dump_json(),
                [],
                "No paper here has the table 'table-x': --import the module that registers it",
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


def test_both_readings_of_r_stand_in_a_table_where_the_run_has_them() -> None:
    both = {"pearson.mean": quantity(0.65), "pearson_sum_normalized.mean": quantity(0.5)}
    flipped = {"sign_flipped.mean": quantity(0.12)}
    grid = only([check("loo_correlation", "attnlrp", "table-2", "", metrics=both, extra_metrics=flipped)])
    assert grid.header == ["Method", "LOO r ↑", "r/sum", "flipped", "LeRF ↑", "MoRF ↓", "Δ ↑"]
    assert [cell.ours for cell in row(grid, "AttnLRP")][:3] == [0.65, 0.5, 0.12]
