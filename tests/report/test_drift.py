"""What counts as a drift between two runs, and what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.commands.main import main
from axioms.record import CheckRecord, Environment, RunRecord
from axioms.report.baseline import Saved, baseline_text, read_saved, rounded, updated
from axioms.report.drift import Difference, difference
from tests.records import TOLERANCE, make_check, make_run, quantity

NAN, INFINITY = float("nan"), float("inf")
VERSIONS = {"python": "3.11.7", "torch": "2.14.0"}


def check(name: str, *, passed: bool = True, tolerance: Any = TOLERANCE, **metrics: Any) -> CheckRecord:
    measured = {
        metric.replace("_", "."): {**quantity(value, n=1), "tolerance": tolerance} for metric, value in metrics.items()
    }
    return make_check(id=name, passed=passed, metrics=measured)


def run(*checks: CheckRecord, torch: str = "2.14.0", **rest: Any) -> RunRecord:
    environment = Environment(python="3.11.7", platform="here", packages={"torch": torch})
    return make_run(*checks, environment=environment, skipped=[], **rest)


def saved(tmp_path: Path, name: str, content: RunRecord) -> Path:
    file = tmp_path / name
    file.write_text(content.model_dump_json())
    return file


def compared(tmp_path: Path, before: RunRecord, after: RunRecord) -> Difference:
    return difference(read_saved(saved(tmp_path, "a.json", before)), read_saved(saved(tmp_path, "b.json", after)))


@pytest.mark.parametrize(
    ("before", "after", "drifts"),
    [
        (0.5, 0.5, False),
        (0.5, 0.5 + 4e-7, False),
        (0.5, 0.501, True),
        (0.5, 0.505, True),
        (1e-12, 9e-9, False),  # rounding noise has a floor
        (0.0, 1e-6, True),
        (1e6, 1e6 + 0.5, False),
        (None, None, False),
        (None, 0.5, True),
        (0.5, None, True),
        (NAN, NAN, False),
        (NAN, INFINITY, False),
        (NAN, 0.5, True),
        (0.5, INFINITY, True),
        ([1.0, 2.0], [1.0, 2.0], False),
        ([[1.0, 2.0]], [[1.0, 2.1]], True),
        ([1.0, None], [1.0, None], False),
        ([1.0, 2.0], [1.0], True),
        ([1.0], 1.0, True),
    ],
)
def test_what_drifts(tmp_path: Path, before: Any, after: Any, drifts: bool) -> None:
    found = compared(tmp_path, run(check("s.yaml::a[m]", r=before)), run(check("s.yaml::a[m]", r=after)))
    assert found.failed is drifts
    assert found.compared == 1


def test_the_row_names_the_check_the_metric_the_numbers_and_what_is_allowed(tmp_path: Path) -> None:
    two = [run(check("s.yaml::axiom[attnlrp]", left_scores=[[6.0, value]])) for value in (12.0, 12.12)]
    (row,) = compared(tmp_path, *two).rows()
    assert row == ["drift", "s.yaml::axiom[attnlrp]", "left.scores[0][1]", "12", "12.12", "+-1.2e-05"]


def test_time_is_never_gated(tmp_path: Path) -> None:
    two = [run(check("s.yaml::cost[m]", tolerance=None, seconds=value)) for value in (1.0, 9.0)]
    found = compared(tmp_path, *two)
    assert (found.failed, found.compared) == (False, 0)
    assert updated(None, read_saved(saved(tmp_path, "a.json", two[0])), "all").checks == {"s.yaml::cost[m]": {}}


def test_gone_new_and_not_run(tmp_path: Path) -> None:
    before = run(
        *(check(name, r=1.0) for name in ("s.yaml::a[m]", "s.yaml::a[old]", "s.yaml::a[skipped]")),
        check("other.yaml::a[m]", r=1.0),
        check("s.yaml::b[m]", r=1.0, q=2.0),
    )
    after = run(
        check("s.yaml::a[m]", r=1.0),
        check("s.yaml::a[new]", r=1.0),
        check("s.yaml::b[m]", r=1.0, p=3.0),
        not_run=["s.yaml::a[skipped]"],
    )
    found = compared(tmp_path, before, after)
    assert [(change.kind, change.check, change.metric) for change in found.changes] == [
        ("gone", "s.yaml::a[old]", ""),
        ("gone", "s.yaml::b[m]", "q"),
        ("new", "s.yaml::a[new]", ""),
        ("new", "s.yaml::b[m]", "p"),
    ]
    assert found.failed
    assert found.not_run == 2, "one was skipped, the spec of the other was not run"


def test_versions_are_named(tmp_path: Path) -> None:
    one, other = run(check("s.yaml::a[m]", r=1.0)), run(check("s.yaml::a[m]", r=2.0), torch="2.15.0")
    words = " ".join(compared(tmp_path, one, other).in_words())
    assert "1 metrics compared: 1 drifted." in words
    assert "versions differ: torch 2.14.0 -> 2.15.0: the drift may be theirs" in words
    assert compared(tmp_path, one, one).versions == []


def test_a_baseline_is_small_sorted_and_read_back(tmp_path: Path) -> None:
    measured = run(check("s.yaml::b[m]", r=0.123456789012, noise=3e-16), check("s.yaml::a[m]", scores=[1.0, None]))
    baseline = updated(None, read_saved(saved(tmp_path, "a.json", measured)), "new")
    text = baseline_text(baseline)
    (tmp_path / "baseline.json").write_text(text)
    again = read_saved(tmp_path / "baseline.json")
    assert again.checks == {"s.yaml::a[m]": {"scores": [1.0, None]}, "s.yaml::b[m]": {"r": 0.123456789, "noise": 0.0}}
    assert again.versions == VERSIONS
    assert text.index("s.yaml::a[m]") < text.index("s.yaml::b[m]")
    assert '\n   "r": 0.123456789\n' in text, "a line for each metric"
    assert baseline_text(again) == text


def test_updating(tmp_path: Path) -> None:
    before = Saved(
        {"s::a[m]": {"r": 1.0}, "s::gone[m]": {"r": 1.0}, "t::a[m]": {"r": 1.0}, "s::bad[m]": {"r": 1.0}}, {}
    )
    run = Saved({"s::a[m]": {"r": 2.0, "q": 3.0}, "s::n[m]": {"r": 4.0}, "s::bad[m]": {"r": 9.0}}, VERSIONS)
    run = Saved(run.checks, run.versions, failed=frozenset(["s::bad[m]"]))
    new = updated(before, run, "new", ["s::gone[m]"])
    assert new.checks == {**before.checks, "s::a[m]": {"r": 1.0, "q": 3.0}, "s::n[m]": {"r": 4.0}}
    everything = updated(before, run, "all", ["s::gone[m]"])
    kept = {name: before.checks[name] for name in ("t::a[m]", "s::bad[m]")}
    assert everything.checks == {**kept, "s::a[m]": {"r": 2.0, "q": 3.0}, "s::n[m]": {"r": 4.0}}
    assert everything.versions == VERSIONS


@given(
    st.floats(-1e9, 1e9),
    st.sampled_from([(1e-7, 1e-6), (1e-4, 1e-4), (1e-4, 1.0), (0.0, 1e-6), (0.0, 0.0), (5.0, 0.0)]),
)
def test_rounding_stays_within_a_hundredth_of_what_is_allowed(value: float, tolerance: tuple[float, float]) -> None:
    found = rounded(value, tolerance)
    assert isinstance(found, float)
    assert abs(found - value) <= max(tolerance[0], tolerance[1] * abs(value)) / 100 * (1 + 1e-6)


@given(st.dictionaries(st.text(min_size=1), st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=5))
def test_a_run_never_drifts_from_its_own_baseline(metrics: dict[str, float | None]) -> None:
    tolerances: Any = {("s::a[m]", name): (1e-7, 1e-6) for name in metrics}
    run = Saved({"s::a[m]": metrics}, VERSIONS, tolerances)
    text = baseline_text(updated(None, run, "all"))
    assert not difference(Saved(json.loads(text)["checks"], VERSIONS), run).changes


def test_compare_exits_with_0_1_or_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(tmp_path, "results.json", run(check("s.yaml::a[m]", r=1.0)))
    other = saved(tmp_path, "other.json", run(check("s.yaml::a[m]", r=1.01)))
    assert main(["compare", str(tmp_path), str(one)]) == 0
    assert "1 metrics compared: none drifted." in capsys.readouterr().out
    assert main(["compare", str(one), str(other)]) == 1
    assert "drift  s.yaml::a[m]  r       1       1.01   +-1e-06" in capsys.readouterr().out
    assert main(["compare", str(one), str(tmp_path / "none.json")]) == 2
    assert "none.json cannot be read" in capsys.readouterr().err
    version_1 = '{"schema_version": 1, "run": {}, "environment": {}, "checks": [], "skipped": []}'
    for text in (
        "{",
        "[]",
        "{}",
        version_1,
        '{"schema_version": 9, "checks": {}, "environment": {}}',
        '{"schema_version": 1}',
    ):
        other.write_text(text)
        assert main(["compare", str(one), str(other)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_baseline_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(
        '{"schema_version": 1, "environment": {"torch": "2"}, "checks": {"s::a[m]": {"r": 0.5, "q": null}}}'
    )
    assert read_saved(file) == Saved({"s::a[m]": {"r": 0.5, "q": None}}, {"torch": "2"})
    again = baseline_text(read_saved(file))
    assert '"schema_version": 2' in again
    assert not difference(read_saved(file), Saved({"s::a[m]": {"r": 0.5, "q": NAN}}, {"torch": "2"})).changes


def test_a_baseline_is_strict_json(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(baseline_text(Saved({"s::a[m]": {"r": NAN, "q": [1.0, -INFINITY]}}, {})))
    assert json.loads(file.read_text(), parse_constant=pytest.fail)["checks"] == {
        "s::a[m]": {"q": [1.0, "-Infinity"], "r": "NaN"}
    }
    assert read_saved(file).checks["s::a[m]"]["q"] == [1.0, -INFINITY]
