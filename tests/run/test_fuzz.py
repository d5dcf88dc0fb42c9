"""Whatever a valid spec asks of a tiny subject, it gets a verdict or one of our errors: never a stack, never a hang.

`pytest tests/run/test_fuzz.py -m fuzz` runs 1,000 specs; without the marker a few of them are run.
"""

from __future__ import annotations

import json
import resource
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given

from axioms.core.errors import AxiomsError, SpecError
from axioms.plugin.items import failure_text
from axioms.run.records import record
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file
from tests.spec import fuzzing

FEW, MANY = 8, 1_000
CHECKS = 4
"""How many of a spec's checks are run."""
SECONDS = 60
"""Of processor time that a check may take."""
MEGABYTES = 2_000
"""By which the process may grow in all."""


def outcome(runner: Runner, check: Check) -> str:
    """Run a check as the plugin does; return its verdict, or the kind of error that it ended in."""
    started = time.process_time()
    try:
        recorded = record(runner.run(check), f"drawn.yaml::{check.function}[{check.id}]")
    except AxiomsError as error:
        result, said = type(error).__name__, str(error)
    else:
        result, said = str(recorded.verdict), failure_text(recorded, "rerun")
        json.loads(recorded.model_dump_json(), parse_constant=_refuse)
    assert said.strip()
    assert time.process_time() - started < SECONDS
    return result


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def run_specs(examples: int, folder: Path) -> Counter[str]:
    """Draw valid specs and run them; return how often each outcome came out."""
    outcomes: Counter[str] = Counter()
    file = folder / "drawn.yaml"

    @fuzzing.settled(examples, is_fixed=examples == FEW)
    @given(fuzzing.runnable().map(fuzzing.dump))
    def each(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        try:
            checks = expand_file(file).checks
        except SpecError:
            assume(False)
        runner = Runner()
        outcomes.update(outcome(runner, check) for check in checks[:CHECKS])

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that overflow, as they are drawn to
        each()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES
    return outcomes


def test_a_few_specs(tmp_path: Path) -> None:
    assert run_specs(FEW, tmp_path)


@pytest.mark.fuzz
@pytest.mark.skipif("not config.getoption('-m')", reason="takes long, and draws anew each time: -m fuzz")
def test_a_thousand_specs(tmp_path: Path) -> None:
    outcomes = run_specs(MANY, tmp_path)
    print(f"{MANY} specs run: {dict(outcomes)}")
    assert outcomes["holds"] > 0
    assert outcomes["violated"] > 0
