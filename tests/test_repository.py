"""What stands beside the package: its licence, version, citation, forms and workflows agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import axioms

FORM_PARTS = {"name", "description", "body"}


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def test_one_version_everywhere(root: Path, project: dict[str, Any]) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert axioms.__version__ == project["version"] == citation["version"]


def test_one_licence_everywhere(root: Path, project: dict[str, Any]) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert project["license"] == citation["license"] == "Apache-2.0"
    text = (root / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_citation_has_both_papers(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    numbers = [reference["identifiers"][0]["value"] for reference in citation["references"]]
    assert numbers == ["arXiv:2510.18810", "arXiv:2502.15886"]
    assert all(author["family-names"] for reference in citation["references"] for author in reference["authors"])


def test_forms_and_workflows_are_yaml_of_the_right_shape(root: Path) -> None:
    forms = [path for path in (root / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) == 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert set(form) >= FORM_PARTS, path.name
        assert all({"type", "id", "attributes"} <= set(field) for field in form["body"]), path.name
    for path in (root / ".github" / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert all("steps" in job for job in workflow["jobs"].values()), path.name


def test_scripts_that_workflows_and_pages_name_are_there(root: Path) -> None:
    for name in ("run", "versions", "try_wheel"):
        assert (root / ".ci" / name).stat().st_mode & 0o111, f".ci/{name} cannot be executed"
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    checks = (root / ".ci" / "run").read_text()
    for name in ("ruff check", "ruff format --check", "lint-imports", "mypy"):
        assert any(hook["entry"].startswith(name) for hook in hooks), name
        assert name in checks, name


def test_declared_pythons_are_those_that_a_release_tries(root: Path, project: dict[str, Any]) -> None:
    marker = "Programming Language :: Python :: 3."
    declared = [f"3.{line.removeprefix(marker)}" for line in project["classifiers"] if line.startswith(marker)]
    release = yaml.safe_load((root / ".github" / "workflows" / "release.yml").read_text())
    assert release["jobs"]["try"]["strategy"]["matrix"]["python"] == declared


def test_no_merge_is_left_unfinished(root: Path) -> None:
    marker = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    pages = [page for folder in ("docs", "specs", "fixtures", "axioms") for page in (root / folder).rglob("*.*")]
    texts = [page for page in pages if page.suffix in {".md", ".yaml", ".py"}]
    assert not [str(page) for page in texts if marker.search(page.read_text(encoding="utf-8"))]
