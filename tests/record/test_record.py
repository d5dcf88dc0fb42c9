"""results.json: strict JSON, read back as it was, refused with a reason, and quickly."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from axioms.core.errors import InputError
from axioms.record import CheckRecord, Quantity, RunRecord, read_record
from axioms.run.results import Results
from tests.records import make_check, make_run, plain_method, quantity, save_run

NAN, INFINITY = float("nan"), float("inf")
numbers = st.recursive(st.none() | st.floats(), lambda inner: st.lists(inner, max_size=3), max_leaves=8)


def strict(text: str) -> Any:
    """Read JSON as a reader does that knows no NaN."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@given(numbers)
def test_any_number_is_strict_json_and_is_read_back(value: Any) -> None:
    text = Quantity(value=value, n=1).model_dump_json()
    strict(text)
    assert repr(Quantity.model_validate_json(text).value) == repr(value)


def test_what_is_not_finite_is_spelled_and_what_is_not_defined_is_null() -> None:
    check = make_check(values={"r": [1.5, NAN, -INFINITY, None]}, metrics={"r.mean": quantity(NAN)})
    saved = strict(check.model_dump_json())
    assert saved["values"] == {"r": [1.5, "NaN", "-Infinity", None]}
    assert saved["metrics"]["r.mean"]["value"] == "NaN"
    assert check.metrics["r.mean"].number is None


def test_a_run_is_written_and_read_back_as_it_was(tmp_path: Path) -> None:
    results = Results(tmp_path / "run", tmp_path)
    checks = [make_check(id=f"s.yaml::a[{order}]", order=order) for order in (1, 0)]
    for check in checks:
        results.add(check, {"attnlrp": plain_method()})
    results.save("failed")
    read = read_record(tmp_path / "run")
    assert read == read_record(tmp_path / "run" / "results.json")
    assert read.checks == checks[::-1], "in the order of the spec"
    assert (read.run.status, read.methods) == ("failed", {"attnlrp": plain_method()})
    assert read.by_part == {"specs/a.yaml": checks[::-1]}
    lines = (tmp_path / "run" / "results.json").read_text().splitlines()
    assert sum(line.startswith('{"id":') for line in lines) == 2, "each check on a line of its own"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"{", "is not JSON; give a run's folder or its results.json"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "is not one: a results.json of version 2 is needed; run the specs again to write one"),
        (b'{"schema_version": 1}', "is of version 1: a results.json of version 2 is needed"),
        (b'{"schema_version": 2}', "is not a results.json of version 2: run: Field required"),
    ],
)
def test_errors_are_sentences(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_record(tmp_path)


def test_a_record_is_strict_and_does_not_change() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        make_check(colour="red")
    with pytest.raises(ValidationError, match="'holds', 'violated'"):
        make_check(verdict="maybe")
    with pytest.raises(ValidationError, match="frozen"):
        make_check().passed = False  # type: ignore[misc]


def test_reading_a_run_takes_no_longer_than_reading_its_json(tmp_path: Path) -> None:
    check = make_check(
        metrics={f"metric_{number}.mean": quantity(0.5, [0.4, 0.6]) for number in range(4)},
        values={f"metric_{number}": [0.123456789] * 64 for number in range(4)},
    )
    text = save_run(make_run(*[check] * 5000), tmp_path).read_text()
    times = []
    gc.disable()  # a collection looks at everything that other tests have left behind
    try:
        for _ in range(5):
            started = time.process_time()
            read = RunRecord.model_validate_json(text)
            half = time.process_time()
            json.loads(text)
            times.append((half - started) / (time.process_time() - half))
    finally:
        gc.enable()
    assert min(times) < 2, "0.8 to 1.0 where it was written"
    assert len(read.checks) == 5000


def test_importing_axioms_imports_no_record() -> None:
    code = "import axioms, sys; print([name for name in ('axioms.record', 'torch', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_metric_is_found_whether_the_spec_or_only_a_table_asks_for_it() -> None:
    check: CheckRecord = make_check(metrics={"r.mean": quantity(1.0)}, extra_metrics={"gap.max": quantity(2.0)})
    values = [found.number for name in ("r.mean", "gap.max") if (found := check.quantity(name)) is not None]
    assert values == [1.0, 2.0]
    assert check.quantity("gap.mean") is None
