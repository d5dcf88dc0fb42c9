"""Who computes what under xdist: specs about one subject together, and first what took longest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from axioms.plugin.distribution import longest_first, subject_of
from tests.conftest import GOOD_SPEC

OTHER = GOOD_SPEC.replace("[[3, -1]]", "[[3, -2]]")


@pytest.fixture
def specs(pytester: pytest.Pytester) -> Path:
    folder = pytester.path / "specs"
    folder.mkdir()
    for name, text in {"a": GOOD_SPEC, "b": OTHER, "c": GOOD_SPEC, "d": OTHER.replace("loo, ", "")}.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def workers(result: pytest.RunResult) -> dict[str, set[str]]:
    """Return who ran each spec."""
    found: dict[str, set[str]] = {}
    for worker, name in re.findall(r"\[(gw\d)\].* PASSED specs/(\w)\.yaml", result.stdout.str()):
        found.setdefault(name, set()).add(worker)
    return found


def test_specs_about_one_subject_are_one_workers(pytester: pytest.Pytester, specs: Path) -> None:
    ran = workers(pytester.runpytest_subprocess("specs", "-n", "2", "-v"))
    assert ran["a"] == ran["c"]
    assert ran["b"] == ran["d"]
    assert len(ran["a"] | ran["b"]) == 2


def test_a_session_knows_what_took_long_in_the_last(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.runpytest_subprocess("specs").assert_outcomes(passed=7)
    kept = pytester.path / ".pytest_cache" / "v" / "axioms" / "seconds"
    first = json.loads(kept.read_text())
    assert first.keys() == {f"specs/{name}.yaml" for name in "abcd"}
    assert all(seconds > 0 for seconds in first.values())
    pytester.runpytest_subprocess("specs/a.yaml", "-n", "2").assert_outcomes(passed=2)
    second = json.loads(kept.read_text())
    assert second["specs/b.yaml"] == first["specs/b.yaml"]
    assert second["specs/a.yaml"] != first["specs/a.yaml"]


def test_nothing_is_noted_where_pytest_has_no_cache(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.runpytest_subprocess("specs", "-p", "no:cacheprovider", "-n", "2").assert_outcomes(passed=7)
    assert not (pytester.path / ".pytest_cache").exists()


def test_what_is_not_known_and_what_took_longest_comes_first() -> None:
    units = {"quick": ["a.yaml::x"], "slow": ["b.yaml::x", "b.yaml::y", "c.yaml::x"], "new": ["d.yaml::x"]}
    assert longest_first(units, {"a.yaml": 2.0, "b.yaml": 1.0, "c.yaml": 1.5}) == ["new", "slow", "quick"]
    assert longest_first(units, {}) == list(units)


def test_subjects_are_told_apart_by_what_they_are_and_not_by_name(tmp_path: Path) -> None:
    named = GOOD_SPEC.replace("subject:", "subject:\n  name: mine")
    for name, text in {"a": GOOD_SPEC, "b": named, "c": OTHER, "broken": "claim: ["}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    a, b, c, broken, missing = (subject_of(tmp_path / f"{name}.yaml") for name in ("a", "b", "c", "broken", "no"))
    assert a == b
    assert len({a, c, broken, missing}) == 4


FREEZING = """
import atexit, gc
from pathlib import Path
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if hasattr(config, "workerinput"):
        atexit.register(lambda: note("end"))  # before the plugin's own, so that it runs after it

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        note("session")

def note(when):
    Path("gw0-" + when).write_text(str(gc.get_freeze_count()))
"""


SLOW_REPORT = """
import time
from pathlib import Path
import pytest

def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        time.sleep(0.5)
        Path("worker-ended").write_text(str(time.time()))

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        time.sleep(3)
        Path("report-written").write_text(str(time.time()))
"""


def test_workers_have_ended_when_the_session_does_and_do_so_beside_the_report(
    pytester: pytest.Pytester, specs: Path
) -> None:
    pytester.makeconftest(SLOW_REPORT)
    pytester.runpytest_subprocess("specs", "-n", "1").assert_outcomes(passed=7)
    assert float(Path("worker-ended").read_text()) < float(Path("report-written").read_text())


def test_what_workers_hold_after_a_spec_is_kept_from_the_garbage_collector_until_they_end(
    pytester: pytest.Pytester, specs: Path
) -> None:
    """And nothing is in the workers of a session that is not ours."""
    pytester.makeconftest(FREEZING)
    pytester.runpytest_subprocess("specs", "-n", "1").assert_outcomes(passed=7)
    assert int(Path("gw0-session").read_text()) > 0
    assert Path("gw0-end").read_text() == "0"
    mine = pytester.makepyfile("def test_mine(): pass")
    pytester.runpytest_subprocess(mine, "-n", "1").assert_outcomes(passed=1)
    assert Path("gw0-session").read_text() == "0"
