"""What summary.md lists beside the numbers: combinations that do not exist, and ledgers; from a spec on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.record import CheckRecord
from axioms.report.summary import ledger_table, summary_markdown
from axioms.report.tables import nonexistent
from axioms.run.records import record
from axioms.run.runner import Runner
from axioms.spec import expand_file
from tests.records import make_run

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


def measured(file: Path) -> list[CheckRecord]:
    runner = Runner()
    return [record(runner.run(check), f"s.yaml::{check.function}[{check.id}]") for check in expand_file(file).checks]


def test_what_does_not_exist_is_listed_and_the_rest_is_measured(write_spec: Write) -> None:
    checks = measured(write_spec(SPEC))
    assert [(check.verdict, check.passed) for check in checks] == [("holds", True)] * 2 + [("refused", True)] * 2
    _, rows = nonexistent(checks)
    assert rows == [["s.yaml", "padding_invariance (side left)", "every", "positions are looked up by place"]]


def test_a_combination_that_exists_after_all_fails(write_spec: Write) -> None:
    checks = measured(
        write_spec(SPEC.replace("{padding_invariance: {side: left}}, because", "padding_invariance, because"))
    )
    assert [check.passed for check in checks] == [False, False, True, True]
    assert "no longer shown" in checks[0].reason


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
    with_ledger, without = measured(write_spec(text))
    assert without.accounts == {}
    (account,) = with_ledger.accounts.values()
    for row in account.rows:
        assert row.came_in - row.went_out == pytest.approx(sum(row.absorbed.values()), abs=1e-12)
    assert {row.layer for row in account.rows} == {1, 2, None}
    assert {"addmm", "softmax", "layer_norm", "NewGELUActivation"} <= {row.operation for row in account.rows}
    assert account.unexplained == pytest.approx(0, abs=1e-12)
    header, rows = ledger_table(account)
    assert header[:4] == ["layer", "operation", "in", "out"]
    assert rows[-1][0] == "all"
    assert "### Ledger of attnlrp (sums over 2 examples)" in summary_markdown(make_run(with_ledger, without))


def test_every_method_that_is_made_of_rules_has_its_accounts(write_spec: Write) -> None:
    """Also one of several passes, and one whose rules the spec gives; no other, whatever it costs."""
    rules = "{lrp: {rules: [{on: softmax, rule: stop}]}}"
    text = SPEC[: SPEC.index("methods:")]
    text += f"methods: [block_lrp, {rules}, gradient_x_input, integrated_gradients, removal_taylor]\n"
    checks = measured(write_spec(text + "checks: [{axiom: conservation, record: [ratio.mean]}]\n"))
    assert [check.method for check in checks if check.accounts] == ["block_lrp", "lrp"]
    assert all(abs(account.unexplained) < 1e-9 for check in checks for account in check.accounts.values())
