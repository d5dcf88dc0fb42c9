"""What `axioms new rule` and `axioms init` write, and leave alone; that it passes as it is, docs/your_rule.md shows."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from axioms.commands import init
from axioms.commands.main import main
from axioms.commands.new.files import IMPORT, WORKFLOW_FILE
from axioms.core.registry import METHODS

NEW = ["half_lrp.py", "tests/test_half_lrp.py", "specs/half_lrp.yaml", "specs/half_lrp_rewrites.yaml"]
ONCE = ["pyproject.toml", str(WORKFLOW_FILE), "pytest.ini"]


@pytest.fixture
def here(pytester: pytest.Pytester) -> Path:
    return pytester.path


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """`axioms init` without its run of pytest."""
    monkeypatch.setattr(init, "_measure_baseline", lambda: 0)


@pytest.mark.usefixtures("unmeasured")
def test_the_workflow_runs_the_gate_where_there_is_a_baseline(here: Path) -> None:
    assert main(["init"]) == 0
    workflow = yaml.safe_load((here / WORKFLOW_FILE).read_text())
    (command,) = [step["run"] for step in workflow["jobs"]["axioms"]["steps"] if "pytest --" in step.get("run", "")]
    stand_in = 'pytest() { echo "$@"; }\n'
    for there, options in ((False, ""), (True, " --axioms-baseline reports/baseline.json")):
        if there:
            (here / "reports").mkdir()
            (here / "reports/baseline.json").touch()
        done = subprocess.run(["bash", "-e", "-c", stand_in + command], cwd=here, capture_output=True, text=True)
        assert done.stdout == f"--axioms-require-assets{options}\n"


def test_a_rule_is_written_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "rule", "half_lrp"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"written: {', '.join([*NEW, *ONCE[:2]])}",
        "written: pytest.ini (axioms_import)",
        f"next: pytest {' '.join(NEW[1:])}",
    ]
    project = tomllib.loads((here / "pyproject.toml").read_text())
    assert project["project"]["name"] == "half-lrp"
    assert project["tool"]["setuptools"]["py-modules"] == ["half_lrp"]
    for name in (*NEW, *ONCE):
        assert "NAME" not in (here / name).read_text()


@pytest.mark.usefixtures("unmeasured")
def test_init_in_an_empty_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    files = {str(file.relative_to(here)) for file in here.rglob("*") if file.is_file()}
    assert files == {"specs/example.yaml", "pytest.ini", ".gitignore", str(WORKFLOW_FILE)}
    assert main(["check", "specs"]) == 0
    assert main(["new", "rule", "my_rule"]) == 0
    assert "changed: pytest.ini (axioms_import: my_rule was added)" in capsys.readouterr().out
    assert main(["new", "rule", "other"]) == 0
    match = IMPORT.search((here / "pytest.ini").read_text())
    assert match is not None
    assert match[1] == "my_rule other"


@pytest.mark.usefixtures("unmeasured")
def test_what_is_there_is_left_as_it_is_and_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = {
        ".gitignore": "mine\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n',
        str(WORKFLOW_FILE): "name: mine\n",
        "reports/baseline.json": "{}",
        "specs/mine.yaml": "claim: mine\n",
    }
    for name, text in theirs.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    assert main(["new", "rule", "half_lrp"]) == 0
    then = capsys.readouterr().out
    assert {name: (here / name).read_text() for name in theirs} == theirs
    for name in theirs.keys() - {"specs/mine.yaml"}:
        assert f"left as it is: {name}\n" in said
    assert f"left as it is: pyproject.toml, {WORKFLOW_FILE}\n" in then
    assert 'pyproject.toml; add axioms_import = ["half_lrp"] to pytest\'s section' in then
    assert main(["new", "rule", "half_lrp"]) == 2
    assert "exist already and are left as they are" in capsys.readouterr().err


def test_a_baseline_that_misses_a_failed_check_is_said(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: subprocess.CompletedProcess[str] = subprocess.CompletedProcess([], returncode=1)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: failed)
    assert main(["init"]) == 1
    assert "some checks failed (above)" in capsys.readouterr().err


def test_a_rule_of_a_name_that_is_taken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "rule", "attnlrp"]) == 2
    assert "there is a method 'attnlrp' already" in capsys.readouterr().err
    assert "attnlrp" in METHODS
    assert list(here.iterdir()) == []
