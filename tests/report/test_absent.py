"""Combinations that do not exist: tried, refused and listed, from a spec to the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axioms.core.errors import SpecError
from axioms.report.absent import absent
from axioms.report.accounts import accounts_table
from axioms.run.records import record
from axioms.run.runner import Runner
from axioms.spec import expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject:
  model: {tiny: {architecture: gpt2}}
  data: {random-tokens: {n: 2, length: 5}}
run: {dtype: float64}
methods: [attnlrp, loo]
checks:
  - axiom: padding_invariance
  - axiom: {padding_invariance: {side: left}}
not_defined:
  - {axiom: {padding_invariance: {side: left}}, because: "positions are looked up by place"}
"""


def records(file: Path) -> list[dict[str, Any]]:
    runner = Runner()
    return [record(runner.run(check), f"s.yaml::{check.function}[{check.id}]") for check in expand_file(file).checks]


def test_what_does_not_exist_is_listed_and_the_rest_is_measured(write_spec: Write) -> None:
    found = records(write_spec(SPEC))
    assert [(each["verdict"], each["passed"]) for each in found] == [("holds", True)] * 2 + [("refused", True)] * 2
    _, rows = absent(found)
    assert rows == [["s.yaml", "padding_invariance (side left)", "every", "positions are looked up by place"]]


def test_a_combination_that_exists_after_all_fails(write_spec: Write) -> None:
    found = records(
        write_spec(SPEC.replace("{padding_invariance: {side: left}}, because", "padding_invariance, because"))
    )
    assert [each["passed"] for each in found] == [False, False, True, True]
    assert "no longer shown" in found[0]["reason"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('{methods: [cp_lrp], because: "b"}', "not_defined.*'cp_lrp' is not among this spec's methods"),
        ('{axiom: purity, because: "b"}', "no check of this spec is meant"),
        ("{axiom: padding_invariance}", "'because' is missing"),
    ],
)
def test_mistakes(write_spec: Write, wrong: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        expand_file(write_spec(SPEC[: SPEC.index("  - {axiom: {padding_invariance")] + f"  - {wrong}\n"))


def test_accounts_per_layer_and_operation(write_spec: Write) -> None:
    """In minus out is what was kept, row by row, and all of it adds up to the output."""
    text = SPEC[: SPEC.index("checks:")] + "checks: [{axiom: conservation, record: [ratio.mean]}]\n"
    with_ledger, without = records(write_spec(text))
    assert without["accounts"] == {}
    (account,) = with_ledger["accounts"].values()
    for row in account["rows"]:
        kept = sum(value for name, value in row.items() if name not in ("layer", "operation", "in", "out"))
        assert row["in"] - row["out"] == pytest.approx(kept, abs=1e-12)
    assert {row["layer"] for row in account["rows"]} == {1, 2, None}
    assert {"addmm", "softmax", "layer_norm", "NewGELUActivation"} <= {row["operation"] for row in account["rows"]}
    assert account["unexplained"] == pytest.approx(0, abs=1e-12)
    header, rows = accounts_table(account)
    assert header[:4] == ["layer", "operation", "in", "out"]
    assert rows[-1][0] == "all"
