"""In a notebook an attribution is a heatmap, a ledger a table, a verdict a coloured word; and the tutorial runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import axioms
from tests.records import make_check, make_run

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "notebook.ipynb"


@pytest.fixture
def attribution() -> axioms.Attribution:
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight.data[:] = torch.tensor([[2.0, -1.0, 0.0]])
    return axioms.attribute(model, torch.ones(2, 3), target=0, method="attnlrp", ledger=True)


def test_an_attribution_is_a_heatmap(attribution: axioms.Attribution) -> None:
    shown = attribution._repr_html_()
    assert shown.count("<span") == 6
    assert "rgba(214,39,40,0.750)" in shown, "the largest score is the strongest red"
    assert "rgba(31,119,180,0.375)" in shown, "a negative one is blue"
    assert "sum of relevance 1" in shown


def test_features_have_their_words_where_they_are_given(attribution: axioms.Attribution) -> None:
    shown = attribution.labelled([["not", "<b>", "good"]] * 2)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown.replace("<b>attnlrp</b>", "")
    with pytest.raises(ValueError, match="2 x 3 features"):
        attribution.labelled([["not", "good"]] * 2)


def test_a_large_map_is_a_strip(attribution: axioms.Attribution) -> None:
    wide = axioms.Attribution(torch.ones(12, 100), torch.ones(12), torch.ones(12), "loo")._repr_html_()
    assert wide.count("&nbsp;</span>") == 800
    assert "and 4 more" in wide


def test_a_ledger_is_a_table(attribution: axioms.Attribution) -> None:
    assert attribution.ledger is not None
    shown = attribution.ledger._repr_html_()
    assert shown.count("<tr>") == len(attribution.ledger.table().splitlines()) - 1
    assert "unexplained" in shown


def test_a_verdict_has_its_colour() -> None:
    violated = make_check(verdict="violated", passed=False, reason="x > 1")._repr_html_()
    assert "#c62828" in violated
    assert "x &gt; 1" in violated
    assert "#2e7d32" in make_check(verdict="holds")._repr_html_()


def test_a_run_is_a_table_of_claims() -> None:
    assert "<table>" in make_run(make_check())._repr_html_()


def test_the_notebook_prints_what_it_is_committed_with() -> None:
    nbformat = pytest.importorskip("nbformat", reason='pip install -e ".[dev]"')
    nbclient = pytest.importorskip("nbclient", reason='pip install -e ".[dev]"')
    committed = json.loads(NOTEBOOK.read_text())
    notebook = nbformat.reads(NOTEBOOK.read_text(), as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    for number, (cell, before) in enumerate(zip(notebook.cells, committed["cells"], strict=True)):
        if cell.cell_type == "code":
            assert _printed(cell["outputs"]) == _printed(before["outputs"]), f"cell {number} prints something else"


def _printed(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the kind and text of each output; what warnings say depends on what else is installed."""
    return [
        (output["output_type"], "".join(output.get("text", ""))) for output in outputs if output.get("name") != "stderr"
    ]
