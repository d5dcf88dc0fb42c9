"""Text with markup, quotes, scripts, LaTeX and escapes is text in every table, in PDF, and in what commands print."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.main import main
from axioms.core.printable import UNSEEN, printable
from axioms.papers.grid import Block, Grid, Number
from axioms.papers.tables import every_table
from axioms.report.latex import document
from axioms.report.summary import summary_markdown
from axioms.report.text import as_markdown
from axioms.report.write import write_report
from tests.conftest import GOOD_SPEC
from tests.records import save_run
from tests.report.browsing import unavailable
from tests.report.hostile import ESCAPES, HOSTILE, LATEX, QUOTES, SCRIPT, hostile_claim, hostile_run, live

MODEL = """
import torch

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module({name!r}, torch.nn.Linear(3, 2))

    def forward(self, x):
        return torch.cumprod(getattr(self, {name!r})(x), 1)

class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.cumprod(x, 1)

def build():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2))
    model.add_module({name!r}, Inner())
    return model, torch.rand(2, 3) + 1

def raising():
    raise ValueError({name!r})
"""
ESCAPED = printable(ESCAPES)


def test_every_file_of_tables(tmp_path: Path) -> None:
    assert write_report(hostile_run(), tmp_path, tmp_path).problems == []
    files = [file for file in (tmp_path / "tables").rglob("*") if file.is_file()]
    names = {file.relative_to(tmp_path / "tables").as_posix() for file in files}
    papers = [
        f"{name}.{kind}" for name in ("table-2", "table-a3", "agreement-table-2") for kind in ("md", "tex", "csv")
    ]
    assert {*papers, "not-defined.md", "baseline.md"} <= names
    assert any(name.startswith("specs/") for name in names)
    for file in [*files, tmp_path / "agreement.md", tmp_path / "summary.md"]:
        text = file.read_text(encoding="utf-8") if file.exists() else summary_markdown(hostile_run())
        assert not UNSEEN.search(text), file.name
        assert "red" in text, file.name
        if file.suffix == ".md":
            assert live(text) == [], file.name
            assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|")), file.name
    rows = csv.DictReader((tmp_path / "tables" / "table-2.csv").read_text(encoding="utf-8").splitlines())
    assert {row["row"] for row in rows} == {printable(HOSTILE)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<img src=x>", r"\<img src=x>"),
        (r"\<img src=x>", r"\\\<img src=x>"),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("&#60; &amp;", r"\&#60; \&amp;"),
        ("[x](javascript:1) ![y](//z) [0.1, 0.2]", r"[x\](javascript:1) ![y\](//z) [0.1, 0.2]"),
        ("a|b\\", r"a\|b\\"),
        ("**b** _e_ snake_case VIOLATED* ~~s~~", r"\*\*b\** \_e_ snake_case VIOLATED* \~\~s\~~"),
        ("# title\n- item", r"\# title - item"),
        ("``` code", r"\``` code"),
        ("__init__", r"\_\_init__"),
        ("12. item 3. no", r"12\. item 3. no"),
        ("\x1b[31m", r"\x1b[31m"),
    ],
)
def test_a_text_in_markdown(text: str, said: str) -> None:
    assert as_markdown(text) == said


def check_output(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command said, in which nothing acts on a terminal."""
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert not UNSEEN.search(said.replace("\r\n", "\n")), said
    assert "Traceback" not in said
    return said


def test_compare_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / name for name in ("before", "after")]
    for folder, verdict, value in zip(folders, ("shown", "contradicted"), (0.5, 0.75), strict=True):
        folder.mkdir()
        run = hostile_run(claims=[hostile_claim("C1", verdict=verdict)])
        quantity = run.checks[0].metrics["pearson.mean"]
        tolerance: Any = {"abs": 1e-7, "rel": 1e-6}
        run.checks[0].metrics["pearson.mean"] = type(quantity).model_validate(
            {**quantity.model_dump(), "value": value, "tolerance": tolerance}
        )
        save_run(run, folder)
    assert main(["compare", *map(str, folders)]) == 1
    said = check_output(capsys)
    assert f"was shown and is contradicted: {printable(HOSTILE)}" in said
    for kind in ("md", "tex", "csv", "html"):
        assert main(["report", str(folders[0]), "--format", kind]) == 0
        assert ("red" in check_output(capsys)) is (kind != "html")
    assert main(["report", str(folders[0]), "--table", ESCAPES]) == 2
    check_output(capsys)


def test_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hostile_model.py").write_text(MODEL.format(name=f"{ESCAPES} <b>"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "hostile_model", raising=False)
    few = ["--methods", "loo,attnlrp", "--rewrites", "split_linear"]
    main(["audit", "hostile_model:build", *few])
    assert f"{ESCAPED} <b>" in check_output(capsys)
    assert main(["audit", "hostile_model:raising"]) == 3
    assert f"{ESCAPED} <b>" in check_output(capsys)
    assert main(["audit", "hostile_model:build", "--methods", ESCAPES]) == 2
    assert "red" in check_output(capsys)


def test_plan_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{ESCAPES} <b> $x$ \"'.yaml"
    (tmp_path / name).write_text(GOOD_SPEC)
    assert main(["plan", str(tmp_path), "--flops", "1e9"]) == 0
    assert printable(name) in check_output(capsys)
    assert main(["check", str(tmp_path)]) == 0
    check_output(capsys)
    (tmp_path / name).write_text('claim: "\\e[31mred"\nmethods: ["\\e[31mred"]\n')
    assert main(["check", str(tmp_path)]) == 2
    assert r"\x1b[31mred" in check_output(capsys)
    assert main(["plan", str(tmp_path / f"no {name}")]) == 2
    assert ESCAPED in check_output(capsys)


def test_the_pdf_shows_the_text(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        unavailable("there is no pdflatex: install texlive-latex-recommended")
    text = f"{LATEX} {SCRIPT} {QUOTES} {ESCAPES}"
    grid = Grid("t", text, text, [(text, 2)], ["", text], [Block(text, [[text, Number(-1.5, place=2)]], {0: text})])
    grids = [grid, *every_table(hostile_run())]
    assert {"table-2", "table-a3", "agreement-table-2"} <= {grid.name for grid in grids}
    (tmp_path / "t.tex").write_text("\\pdfcompresslevel=0 " + document(grids), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not (tmp_path / "ran").exists()
    assert "root:" not in (tmp_path / "t.log").read_text(errors="replace")
    content = (tmp_path / "t.pdf").read_bytes().decode("latin-1")
    printed = "".join(re.findall(r"\(((?:[^()\\]|\\.)*)\)", "".join(re.findall(r"\[.*?\]TJ", content))))
    for words in ("input", "/etc/passwd", "write18", "touch", "document", "script", "window.ran", "onmouseover"):
        assert printed.count(words) > len(grids)
