"""What a worker elsewhere is told: where the files of the session are on its own machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.core.suite import suite_specs
from axioms.run.setup import Setup


def test_files_are_used_in_place_where_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    assert Setup(tmp_path).located(tmp_path / "a.yaml") == tmp_path / "a.yaml"


def test_elsewhere_they_are_where_ray_put_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    setup = Setup(Path("/nowhere/here"), suite=Path("/nowhere/suite"))
    assert setup.located(Path("/nowhere/here")) == tmp_path
    assert setup.located(Path("/nowhere/here/specs/a.yaml")) == tmp_path / "specs" / "a.yaml"
    assert setup.located(Path("/nowhere/suite/a.yaml")) == suite_specs() / "a.yaml"
    assert setup.located(Path("/elsewhere/a.yaml")) == Path("/elsewhere/a.yaml")
