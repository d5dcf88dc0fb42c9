"""A third paper: its table is one new file, from outside this package."""

from __future__ import annotations

import sys

import pytest

from axioms.core.registry import TABLES
from axioms.papers import PAPERS, Column, MethodLayout, Paper, register

SMITH = """
from axioms.papers import Block, Column, Grid, MethodLayout, Number, Paper, register


def count_checks(run):
    counts = Block("", [["checks", Number(len(run.checks), digits=0)]], {})
    return [Grid("smith-counts", "Table 2", "How much was run.", [], ["", "n"], [counts], paper="Smith 2026")]


register(
    Paper(
        "smith2026",
        "Smith 2026",
        methods={"gradient_x_input": "GxI", "loo": "Occlusion"},
        tables={
            "smith-table-1": MethodLayout(
                title="Table 1",
                caption="Sums.",
                columns=(Column("sum", "conservation.ratio.mean"), Column("most", "conservation.ratio.max", 1)),
            )
        },
        make_tables=count_checks,
    )
)
"""
SPEC = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [loo, gradient_x_input]
checks:
  - {axiom: conservation, record: [ratio.mean]}
reported: {loo: {conservation.ratio: 0.75}}
table: {name: smith-table-1, block: Sums}
"""
ROW = "| Occlusion | 1.00 (0.75) | 1.0 |"


def test_one_file_adds_a_paper(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(smith2026=SMITH)
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(SPEC)
    without = pytester.runpytest_subprocess("specs")
    without.stdout.fnmatch_lines(["*there is no table 'smith-table-1'*"])
    done = pytester.runpytest_subprocess("specs", "--axioms-import", "smith2026")
    done.assert_outcomes(passed=2)
    tables = pytester.path / "reports" / "latest" / "tables"
    assert {file.stem for file in tables.glob("*.tex")} == {"smith-table-1", "smith-counts"}
    lines = (tables / "smith-table-1.md").read_text().splitlines()
    assert lines[0] == "**Smith 2026, Table 1.** Sums."
    assert [line for line in lines if line.startswith("| ")][-2:] == ["| GxI | 1.00 | 1.0 |", ROW], "the paper's order"
    assert "Smith 2026, Table 1" in (pytester.path / "reports" / "latest" / "index.html").read_text()
    command = (sys.executable, "-c", "from axioms.commands.main import main; main()", "report", "reports/latest")
    printed = pytester.run(*command, "--import", "smith2026", "--table", "smith-table-1")
    printed.stdout.fnmatch_lines([ROW.replace("|", "[|]")])
    alone = pytester.run(*command)
    alone.stderr.fnmatch_lines(["*No paper here has the table 'smith-table-1': --import the module that registers it."])


def test_a_name_that_is_taken_is_refused() -> None:
    layout = MethodLayout("Table 2", "C", (Column("r", "loo_correlation.pearson.mean"),))
    with pytest.raises(ValueError, match="is already one of 'you2025'; call it mine-table-2"):
        register(Paper("mine", "Mine", tables={"table-2": layout}))
    assert "mine" not in PAPERS
    assert all(TABLES[name] is table for paper in PAPERS.values() for name, table in paper.tables.items())
