"""docs/extending.md works as it is printed: its blocks are files of a repository outside the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```\w+\n# (?P<file>\S+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def printed(root: Path) -> dict[str, str]:
    """The blocks of the page by the name in their first line."""
    page = (root / "docs" / "extending.md").read_text()
    blocks = {match["file"]: match["text"] for match in BLOCK.finditer(page)}
    assert page.count("```") == 2 * len(blocks), "a block does not begin with the name of its file"
    return blocks


@pytest.fixture
def repository(pytester: pytest.Pytester, printed: dict[str, str]) -> pytest.Pytester:
    """A folder with all blocks as files."""
    (pytester.path / "specs").mkdir()
    for name, text in printed.items():
        (pytester.path / name).write_text(text)
    return pytester


def test_each_section_is_one_file_and_one_spec(root: Path, printed: dict[str, str]) -> None:
    page = (root / "docs" / "extending.md").read_text()
    sections = re.findall(r"^## (.+)$", page, re.MULTILINE)
    whats = ("torch function", "rule", "method", "axiom", "rewrite", "data source", "subject", "paper's table")
    assert [section.partition(" ")[2] for section in sections] == list(whats)
    modules = [Path(name).stem for name in printed if name.endswith(".py")]
    assert sorted(modules) == sorted(Path(name).stem for name in printed if name.startswith("specs/"))
    assert printed["pytest.ini"].split("=")[1].split() == modules, "the ini file names every module"


def test_only_axioms_is_imported(printed: dict[str, str]) -> None:
    for name, text in printed.items():
        imported = re.findall(r"^\s*(?:import|from) (\S+)", text, re.MULTILINE) if name.endswith(".py") else []
        assert set(imported) <= {"axioms", "torch", "axioms.papers"}, name


def test_the_page_works_as_printed(repository: pytest.Pytester) -> None:
    done = repository.runpytest_subprocess("-q")
    assert done.ret == 0, done.stdout.str()
    passed = done.parseoutcomes()
    assert set(passed) == {"passed"}
    assert passed["passed"] >= 40
    row = (repository.path / "reports" / "latest" / "tables" / "smith-table-1.md").read_text()
    assert "| LRP | 1.00" in row
    assert "(0.97)" in row


def test_a_misspelt_option_is_found_like_one_of_ours(repository: pytest.Pytester) -> None:
    file = repository.path / "specs" / "ramp.yaml"
    file.write_text(file.read_text().replace("step:", "steps:"))
    done = repository.runpytest_subprocess("specs/ramp.yaml")
    assert done.ret == 2
    done.stdout.fnmatch_lines(["*ramp.yaml:4: *steps*mean 'step'*"])
