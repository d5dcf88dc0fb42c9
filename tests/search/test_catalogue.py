"""The catalogue of axioms says what the registry and the counterexamples say."""

from __future__ import annotations

from pathlib import Path

import pytest

import axioms.properties  # noqa: F401  (registers them)
from axioms.core.registry import AXIOMS
from axioms.search.breaks import exact_axioms
from axioms.search.catalogue import ENGINEERING, EXACT, INVARIANCE, MEASURED, page
from axioms.search.peers import CAPTUM, QUANTUS
from tests.conftest import ROOT
from tests.properties.peers import import_quantus


@pytest.fixture(scope="module")
def text() -> str:
    """The page as it would be written now."""
    return page(ROOT)


def test_the_committed_page_is_fresh(root: Path, text: str) -> None:
    committed = (root / "docs" / "axioms.md").read_text(encoding="utf-8")
    assert committed == text, "run: python -m axioms.search.catalogue > docs/axioms.md"


def test_every_axiom_that_can_be_falsified_is_there(root: Path) -> None:
    assert set(EXACT) == {INVARIANCE, *exact_axioms()}


def test_every_registered_axiom_has_one_row() -> None:
    groups = [*EXACT, *MEASURED, *ENGINEERING]
    assert sorted(groups) == sorted(name for name in AXIOMS if AXIOMS.get(name).is_ours)


def test_every_metric_of_a_peer_is_compared_or_said_to_be_missing() -> None:
    quantus = import_quantus()
    theirs = {metric.__name__ for group in quantus.AVAILABLE_METRICS.values() for metric in group.values()}
    assert {peer.name for peer in QUANTUS} == theirs
    for peer in (*CAPTUM, *QUANTUS):
        axiom, _, metric = peer.ours.partition(".")
        assert metric in AXIOMS.get(axiom).metrics if peer.ours else peer.relation.startswith("none: ")


def test_every_peer_metric_that_is_here_is_named_by_a_comparison(root: Path) -> None:
    tests = "".join(file.read_text() for file in (root / "tests" / "properties").glob("test_peers_*.py"))
    other = {"Sufficiency"}  # it compares examples with each other, and shares the name alone
    for peer in QUANTUS:
        assert (f"quantus.{peer.name}(" in tests or f'"{peer.name}"' in tests) == bool(
            peer.ours and peer.name not in other
        )


def test_every_counterexample_has_at_most_three_inputs_and_a_row(root: Path, text: str) -> None:
    for file in (root / "specs" / "found").glob("*.yaml"):
        assert f"`specs/found/{file.name}`" in text
        assert "inputs: [a, b, c," not in file.read_text()


def test_every_exact_axiom_is_kept_by_some_method_and_broken_by_another_or_says_that_none_is(text: str) -> None:
    table = text[text.index("## Exact axioms") : text.index("## Measured")]
    rows = {line.split("`")[1]: line.split(" | ") for line in table.splitlines() if line.startswith("| `")}
    for axiom in EXACT:
        kept, broken = rows[axiom][3:5]
        assert broken != "nobody", axiom
        assert kept != "nobody" or axiom == "completeness", axiom
    assert "breaks completeness by the error of its twenty nodes alone; no method of ours keeps" in " ".join(
        text.split()
    )
