"""Whatever a spec says, its checks come out, or one of our errors with file and line: never a stack, never a hang.

`pytest tests/spec/test_fuzz.py -m fuzz` draws 10,000 specs; without the marker a few of them are tried.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given

from axioms.core.errors import SpecError
from axioms.spec import expand_file
from tests.limits import Hang, at_most
from tests.spec import fuzzing
from tests.spec.runnable_specs import write_bases
from tests.spec.schema_strategies import ROOT

FEW, MANY = 60, 10_000
SECONDS = 10
"""Of processor time that a spec may take to be read; by the clock `LONGEST`, after which it is cut off."""
LONGEST = 6 * SECONDS
MEGABYTES = 500
"""By which the process may grow in all."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of specs beside our own, with their fixtures."""
    specs = tmp_path / "specs"
    specs.mkdir()
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    for file in (ROOT / "specs").glob("*.yaml"):
        (specs / file.name).symlink_to(file)
    write_bases(specs)
    return specs


def count_checks(text: str, folder: Path) -> int:
    """Return the number of checks of a spec, or 0 where it is refused with a file and a line."""
    file = folder / "drawn.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    started = time.process_time()
    try:
        with at_most(LONGEST, text):
            checks = expand_file(file).checks
    except SpecError as refusal:
        checks, problems = [], refusal.problems
        wrong = [problem for problem in problems if problem.line < 1 or len(str(problem)) > 10_000]
        assert problems and not wrong, (problems, wrong)  # noqa: PT018
    assert time.process_time() - started < SECONDS
    return len(checks)


def try_specs(examples: int, folder: Path) -> int:
    """Draw specs and expand them; return how many were valid."""
    valid = 0

    @fuzzing.settled(examples, is_fixed=examples == FEW)
    @given(fuzzing.texts())
    def each(text: str) -> None:
        nonlocal valid
        valid += count_checks(text, folder) > 0

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES
    return valid


def test_a_few_specs(folder: Path) -> None:
    assert try_specs(FEW, folder) > 0


@pytest.mark.fuzz
@pytest.mark.skipif("not config.getoption('-m')", reason="takes long, and draws anew each time: -m fuzz")
def test_ten_thousand_specs(folder: Path) -> None:
    valid = try_specs(MANY, folder)
    print(f"{MANY} specs drawn, {valid} of them valid")
    assert valid > MANY / 20  # what is drawn gets further than the first mistake


def test_a_spec_that_hangs_is_cut_off_and_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LONGEST", 0.2)
    monkeypatch.setattr(sys.modules[__name__], "expand_file", lambda file: time.sleep(60))
    started = time.monotonic()
    with pytest.raises(Hang, match="this one sleeps"):
        count_checks("claim: this one sleeps", folder)
    assert time.monotonic() - started < 30
