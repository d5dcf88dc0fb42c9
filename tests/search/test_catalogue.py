"""The catalogue of axioms says what the registry and the counterexamples say."""

from __future__ import annotations

from pathlib import Path

from axioms.search.breaks import exact_axioms
from axioms.search.catalogue import EXACT, INVARIANCE, MEASURED, page


def test_the_committed_page_is_fresh(root: Path) -> None:
    committed = (root / "docs" / "axioms.md").read_text(encoding="utf-8")
    assert committed == page(root), "run: python -m axioms.search.catalogue > docs/axioms.md"


def test_every_axiom_that_can_be_falsified_is_there(root: Path) -> None:
    assert set(EXACT) == {INVARIANCE, *exact_axioms()}
    text = page(root)
    assert all(f"| `{axiom}` |" in text for axiom in (*EXACT, *MEASURED))


def test_every_counterexample_has_at_most_three_inputs_and_a_row(root: Path) -> None:
    text = page(root)
    for file in (root / "specs" / "found").glob("*.yaml"):
        assert f"`specs/found/{file.name}`" in text
        assert "inputs: [a, b, c," not in file.read_text()
