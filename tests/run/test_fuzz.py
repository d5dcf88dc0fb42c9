"""Whatever a valid spec asks of a tiny subject, it gets a verdict or one of our errors: never a stack, never a hang.

`pytest tests/run/test_fuzz.py -m fuzz` runs 1,000 specs; without the marker a few of them are run.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from axioms.core.errors import AxiomsError, SpecError
from axioms.plugin.items import failure_text
from axioms.run.records import record
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file
from tests.limits import NO_MEMORY, at_most, memory_at_most
from tests.spec import fuzzing
from tests.spec.runnable_specs import runnable, write_bases

FEW, MANY = 8, 1_000
PARTS = ("compare", "violated_by", "refused_by", "subjects", "extends", "tolerance", "table", "add", "sweep", "run")
"""Of the spec language, that a long run must have run."""
CHECKS = 4
"""How many of a spec's checks are run."""
SECONDS = 60
"""Of processor time that a check may take; by the clock `LONGEST`, after which it is cut off."""
LONGEST = 6 * SECONDS
MEGABYTES = 4_000
"""By which the process may grow in all, libraries that are loaded on the way included; beyond that nothing is had."""


def outcome(runner: Runner, check: Check) -> str:
    """Run a check as the plugin does; return its verdict, or the kind of error that it ended in."""
    started = time.process_time()
    name = f"drawn.yaml::{check.function}[{check.id}]"
    try:
        with at_most(LONGEST, f"{name}\n{check.file.read_text(encoding='utf-8')}"):
            recorded = record(runner.run(check), name)
    except AxiomsError as error:
        result, said = type(error).__name__, str(error)
    else:
        result, said = str(recorded.verdict), failure_text(recorded, "rerun")
        json.loads(recorded.model_dump_json(), parse_constant=_refuse)
    assert said.strip()
    assert not NO_MEMORY.search(said), said
    assert time.process_time() - started < SECONDS
    return result


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def run_specs(examples: int, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Draw valid specs and run them; return how often each outcome came out, and each part of the language was run."""
    outcomes: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    file = folder / "drawn.yaml"
    write_bases(folder)

    @fuzzing.settled(examples, is_fixed=examples == FEW)
    @given(runnable())
    def each(document: dict[str, Any]) -> None:
        file.write_text(fuzzing.dump(document), encoding="utf-8")
        try:
            checks = expand_file(file).checks
        except SpecError:
            assume(False)
        runner = Runner()
        parts.update(["specs", *document, *(part for check in document.get("checks", []) for part in check)])
        outcomes.update(outcome(runner, check) for check in checks[:CHECKS])

    with warnings.catch_warnings(), memory_at_most(MEGABYTES):
        warnings.simplefilter("ignore")  # of numbers that overflow, as they are drawn to
        each()
    return outcomes, parts


def test_a_few_specs(tmp_path: Path) -> None:
    outcomes, parts = run_specs(FEW, tmp_path)
    assert outcomes
    assert parts["specs"] >= FEW


@pytest.mark.fuzz
@pytest.mark.skipif("not config.getoption('-m')", reason="takes long, and draws anew each time: -m fuzz")
def test_a_thousand_specs(tmp_path: Path) -> None:
    outcomes, parts = run_specs(MANY, tmp_path)
    print(f"{MANY} specs run: {dict(outcomes)}; with {dict(parts)}")
    assert parts["specs"] >= MANY
    assert outcomes["holds"] > 0
    assert outcomes["violated"] > 0
    assert {part for part in PARTS if not parts[part]} == set()
