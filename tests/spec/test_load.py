"""`extends`."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.spec.load import load


def test_extends_merges_run_and_subject_and_replaces_the_rest(tmp_path: Path) -> None:
    (tmp_path / "_base.yaml").write_text("run: {seed: 1, dtype: float64}\nmethods: [a, b]\nclaim: x\n")
    child = tmp_path / "child.yaml"
    child.write_text("extends: _base.yaml\nrun:\n  seed: 2\nmethods: [c]\n")
    document = load(child)
    assert document.value == {"run": {"seed": 2, "dtype": "float64"}, "methods": ["c"], "claim": "x"}
    assert document.place(("run", "seed")) == (child, 3)
    assert document.place(("run", "dtype")) == ((tmp_path / "_base.yaml").resolve(), 1)
    assert document.place(("methods", 0)) == (child, 4)
    assert document.place(("methods", 1)) == (child, 4), "a place of the base must not survive what replaced it"


def test_a_circle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("claim: x\nextends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    with pytest.raises(
        SpecError, match=r"b\.yaml:1: extends: goes round in a circle: .*a\.yaml -> .*b\.yaml -> .*a\.yaml"
    ):
        load(tmp_path / "a.yaml")


@pytest.mark.parametrize(("value", "what"), [("nothing.yaml", "there is no file"), ("[1]", "must be a file name")])
def test_a_base_that_is_not_there(tmp_path: Path, value: str, what: str) -> None:
    (tmp_path / "a.yaml").write_text(f"claim: x\nextends: {value}\n")
    with pytest.raises(SpecError, match=f":2: extends: {what}"):
        load(tmp_path / "a.yaml")
