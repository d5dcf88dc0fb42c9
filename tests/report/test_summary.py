"""What summary.md lists beside the numbers: combinations that do not exist, and ledgers; from a spec on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.record import CheckRecord, Drift
from axioms.report.ledgers import ledger_table
from axioms.report.spec_tables import spec_markdown, write_spec_tables
from axioms.report.summary import summary_markdown
from axioms.report.tables import nonexistent
from axioms.run.records import record
from axioms.run.runner import Runner
from axioms.spec import expand_file
from tests.records import make_check, make_claim, make_error, make_run

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
    assert "## Ledger of attnlrp (sums over 2 examples)" in spec_markdown([with_ledger, without])


def test_every_method_that_is_made_of_rules_has_its_accounts(write_spec: Write) -> None:
    """Also one of several passes, and one whose rules the spec gives; no other, whatever it costs."""
    rules = "{lrp: {rules: [{on: softmax, rule: stop}]}}"
    text = SPEC[: SPEC.index("methods:")]
    text += f"methods: [block_lrp, {rules}, gradient_x_input, integrated_gradients, removal_taylor]\n"
    checks = measured(write_spec(text + "checks: [{axiom: conservation, record: [ratio.mean]}]\n"))
    assert [check.method for check in checks if check.accounts] == ["block_lrp", "lrp"]
    assert all(abs(account.unexplained) < 1e-9 for check in checks for account in check.accounts.values())


def test_a_summary_is_a_page_however_much_went_wrong() -> None:
    """150 lines and 60 kB are what a CI job's summary has room for."""
    errors = [make_error(id=f"specs/a.yaml::x[{at}]", error="E" * 200) for at in range(200)]
    checks = [
        make_check(spec=f"specs/{at}.yaml", method=f"m{at}", axiom=f"axiom_{at % 12}", passed=at % 2 == 0)
        for at in range(300)
    ]
    claims = [make_claim(f"C{at}", subject=f"s{at % 7}", claim="c" * 100) for at in range(90)]
    row = ["drift", "specs/a.yaml::conservation[attnlrp]", "gap.max", "0.1", "0.2", "+-1e-07"]
    drift = Drift(compared=99, failed=True, versions=[], said=["moved"], header=list("abcdef"), rows=[row] * 99)
    text = summary_markdown(make_run(*checks, errors=errors, claims=claims, baseline=drift, status="failed"))
    assert len(text.splitlines()) <= 150
    assert len(text.encode()) <= 60_000
    assert "And 194 more, in [index.html](index.html)." in text
    assert "And 93 more, in [tables/baseline.md](tables/baseline.md)." in text


def test_long_tables_are_beside_it_and_old_ones_are_not(tmp_path: Path) -> None:
    stale = tmp_path / "specs/stale.md"
    stale.parent.mkdir()
    stale.write_text("of an earlier run")
    files = write_spec_tables(make_run(make_check(), make_check(spec="specs/full/a.yaml")), tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["specs/a.md", "specs/full-a.md"]
    assert not stale.exists()
    assert "# specs/full/a.yaml" in files[1].read_text()
