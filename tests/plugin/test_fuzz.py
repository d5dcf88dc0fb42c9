"""Whatever specs there are, a run of pytest over them ends with a report: no internal error, no traceback.

`pytest tests/plugin/test_fuzz.py -m fuzz` draws tens of specs, others each time; without the marker a few.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from axioms.core.errors import SpecError
from axioms.record import read_record
from axioms.spec import expand_file
from tests.limits import at_most
from tests.spec import fuzzing
from tests.spec.runnable_specs import runnable, write_bases

FEW, MANY = 4, 60
CHECKS = 20
"""How many checks a spec may have: a sweep over all rewrites has hundreds, of one kind."""
SECONDS = 20
"""By the clock, for each spec."""


def count_checks(file: Path) -> int:
    """Return the number of checks of a spec, 0 where it is refused."""
    try:
        return len(expand_file(file).checks)
    except SpecError:
        return 0


def write_drawn(folder: Path, specs: st.SearchStrategy[str], name: str, examples: int, *, are_valid: bool) -> int:
    """Write specs into the folder, all of them valid or all refused; return the number of their checks."""
    counts: list[int] = []

    @fuzzing.settled(examples, is_fixed=examples <= FEW)
    @given(specs)
    def each(text: str) -> None:
        file = folder / f"{name}_{len(counts)}.yaml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        checks = count_checks(file)
        if checks > CHECKS or (checks > 0) != are_valid:
            file.unlink()
            assume(False)
        counts.append(checks)

    each()
    assert len(counts) >= examples
    return sum(counts)


def run_drawn(pytester: pytest.Pytester, examples: int) -> dict[str, int]:
    """Run drawn specs, and refused ones beside them, in one run of pytest; return how many checks ended how."""
    folder = pytester.mkdir("specs")
    write_bases(folder)
    checks = write_drawn(folder, runnable().map(fuzzing.dump), "drawn", examples, are_valid=True)
    write_drawn(folder, fuzzing.near_misses().map(fuzzing.dump), "refused", FEW, are_valid=False)
    options = ("--continue-on-collection-errors", "--junitxml", "junit.xml", "-v", "-W", "ignore")
    with at_most(SECONDS * (examples + FEW), f"the specs in {folder}"):
        result = pytester.runpytest("specs", *options)
    said = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED or result.ret == pytest.ExitCode.TESTS_FAILED, said[-3000:]
    for sign in ("INTERNALERROR", "Traceback (most recent call last)", "could not be made", "could not be written"):
        assert sign not in said, said[said.index(sign) - 1000 :][:4000]
    latest = pytester.path / "reports" / "latest"
    record = read_record(latest)
    assert [check for check in record.errors if check.where] == [], "errors that are not ours, with their traceback"
    json.loads((latest / "results.json").read_text(), parse_constant=_refuse)
    assert all((latest / name).stat().st_size > 0 for name in ("index.html", "summary.md"))
    assert said.count("refused_") >= FEW
    outcomes = {"checks": len(record.checks), "errors": len(record.errors), "skipped": len(record.skipped)}
    assert sum(outcomes.values()) >= checks
    return outcomes


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def test_a_few_through_pytest(pytester: pytest.Pytester) -> None:
    assert run_drawn(pytester, FEW)["checks"] > 0


@pytest.mark.fuzz
@pytest.mark.skipif("not config.getoption('-m')", reason="takes long, and draws anew each time: -m fuzz")
def test_tens_through_pytest(pytester: pytest.Pytester) -> None:
    outcomes = run_drawn(pytester, MANY)
    print(f"{MANY} specs through pytest: {outcomes}")
    assert outcomes["checks"] > MANY / 2
