"""Runs are kept, `latest` leads to the newest, and a run is found by its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.main import main
from axioms.core.errors import InputError
from axioms.report.runs import find_run, new_folder, point_latest, run_name
from tests.records import make_check, make_run, save_run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three kept runs, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("20260101-120000-specs", "20260102-120000-specs", "20260103-120000-sentiment"):
        folder = tmp_path / "reports/runs" / name
        folder.mkdir(parents=True)
        save_run(make_run(make_check(claim=name)), folder)
    point_latest(folder)
    return tmp_path


@pytest.mark.parametrize(
    ("files", "changes", "name"),
    [
        (["specs/"], {}, "specs"),
        (["specs/sentiment.yaml::loo_correlation[cp_lrp]"], {}, "sentiment"),
        (["specs"], {"keyword": "attnlrp and not loo"}, "specs-k-attnlrp-and-not-loo"),
        (["specs"], {"tier": "full"}, "specs-full"),
        (["a.yaml", "b.yaml", "c.yaml", "d.yaml"], {}, "a-b-c-more"),
        ([], {}, "run"),
    ],
)
def test_a_run_is_named_after_what_was_asked_for(files: list[str], changes: dict[str, str], name: str) -> None:
    assert run_name(files, **changes) == name


def test_two_runs_of_one_second_are_two_runs(tmp_path: Path) -> None:
    folders = []
    for _ in range(2):
        folder = new_folder(tmp_path, "specs")
        folder.mkdir(parents=True)
        folders.append(folder)
    assert len(set(folders)) == 2


def test_latest_leads_to_the_newest_and_nothing_is_lost(tmp_path: Path) -> None:
    old = tmp_path / "reports/latest"
    old.mkdir(parents=True)
    (old / "summary.md").write_text("of an earlier release")
    first, second = (tmp_path / "reports/runs" / name for name in ("1-specs", "2-specs"))
    assert point_latest(first) == old
    assert old.resolve() == first.resolve()
    point_latest(second)
    assert old.resolve() == second.resolve()
    texts = [file.read_text() for file in (tmp_path / "reports/runs").glob("*/summary.md")]
    assert texts == ["of an earlier release"]


def test_a_file_names_the_newest_where_links_cannot_be_made(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("a privilege is missing")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    latest = point_latest(project / "reports/runs/20260102-120000-specs")
    assert latest.is_file()
    for named in ("latest", "reports/latest"):
        assert find_run(Path(named)).name == "20260102-120000-specs"


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("20260101-120000-specs", "20260101-120000-specs"),
        ("specs", "20260102-120000-specs"),
        ("sentiment", "20260103-120000-sentiment"),
        ("latest", "20260103-120000-sentiment"),
        ("reports/latest", "20260103-120000-sentiment"),
        ("reports/runs/20260101-120000-specs", "20260101-120000-specs"),
    ],
)
@pytest.mark.parametrize("below", [".", "deep/er"])
def test_a_run_is_found_by_its_name_from_anywhere_in_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, named: str, folder: str, below: str
) -> None:
    (project / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(project / below)
    assert find_run(Path(named)).resolve().name == folder


def test_a_name_that_no_run_has_gets_a_suggestion(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"no file, folder or run 'sentimnt'.*Did you mean 'sentiment'"):
        find_run(Path("sentimnt"))
    assert main(["compare", "specs", "sentimnt"]) == 2
    assert "Did you mean 'sentiment'" in capsys.readouterr().err


def test_commands_take_names(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "20260101-120000-specs", "latest"]) == 0
    assert main(["report", "sentiment", "--format", "html"]) == 0
    assert "20260103-120000-sentiment/index.html" in capsys.readouterr().out
    assert "20260103-120000-sentiment" in (project / "reports/latest/index.html").read_text()


def test_a_partial_rerun_erases_nothing(pytester: pytest.Pytester, good_spec: str) -> None:
    """Also from a folder below: the reports belong to the root of the project."""
    specs = pytester.mkdir("specs")
    (specs / "sums.yaml").write_text(good_spec.replace("[[3, -1]]", "[[3, 1]]"))
    pytester.makeini("[pytest]")
    pytester.runpytest_subprocess("specs").assert_outcomes(passed=2)
    latest = pytester.path / "reports/latest"
    first = latest.resolve()
    os.chdir(specs)
    again = pytester.runpytest_subprocess("-k", "attnlrp", ".")
    again.assert_outcomes(passed=1, deselected=1)
    again.stdout.fnmatch_lines(["report: *reports/latest/index.html (*kept as *-specs-k-attnlrp)"])
    assert not (specs / "reports").exists()
    assert latest.resolve().name.endswith("-specs-k-attnlrp")
    assert (first / "index.html").is_file()
    assert (first / "results.json").is_file()
    assert len(list((pytester.path / "reports/runs").iterdir())) == 2
