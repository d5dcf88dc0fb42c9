"""Which tests execute which line, and what each costs: one run under coverage, kept in a file.

python -m tests.mutation.record                               # everything that may notice a mutant
python -m tests.mutation.record tests/engine/test_rules.py    # again only what has changed
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
MAP = ROOT / ".cache" / "mutation" / "map.json"
SOURCES = ("engine", "methods", "model", "properties", "rewrites", "verdict")
"""The packages whose lines are mutated."""

NOTICING = (
    *(f"tests/{name}" for name in (*SOURCES, "search", "core", "spec")),
    "tests/test_faults.py",
    "tests/run/test_changed_models.py",
    *(f"specs/{name}.yaml" for name in ("activation", "always", "axioms_completeness", "axioms_input_units")),
    *(f"specs/axioms_{name}.yaml" for name in ("linearity", "null_player", "sensitivity", "symmetry")),
    *(f"specs/{name}.yaml" for name in ("axioms_target_sensitivity", "engines", "faithfulness", "known_answers")),
    *(f"specs/{name}.yaml" for name in ("layer_norm", "linear_epsilon", "linear_rules", "no_ops", "normalization")),
    *(f"specs/{name}.yaml" for name in ("scalar_product", "selective_scan", "softmax_attention", "linear_network")),
)
"""What should notice a mutant: the mirrored tests, those of the layers above that use them, and the cheap specs."""

SLOW = ("tests/methods/test_lxt.py",)
"""Files whose work is done in other processes, which no mutant reaches."""

ARGUMENTS = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:benchmark", "--axioms-offline"]
"""Assertions stay plain, because pytest's hook would otherwise load the package's files itself, without the mutant."""


def unit_of(nodeid: str) -> str:
    """Return what is run as one: a test, or a whole spec, whose checks share their measurements."""
    return nodeid.split("::")[0] if nodeid.startswith("specs/") else nodeid


class Recorder:
    """Switch the context of coverage with each test, and add up what it cost and whether it passed."""

    def __init__(self, coverage: object) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Charge one test."""
        start = time.process_time()
        self.coverage.switch_context(unit_of(item.nodeid))  # type: ignore[attr-defined]
        yield
        self.seconds[unit_of(item.nodeid)] += time.process_time() - start

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what does not pass as things stand."""
        if report.failed:
            self.failed.add(unit_of(report.nodeid))


def merge(paths: list[str], recorder: Recorder, lines: dict[str, dict[int, list[str]]]) -> None:
    """Put what was recorded in the place of what the map knew of the same paths."""
    MAP.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{MAP}.lock"):
        old = json.loads(MAP.read_text()) if MAP.exists() else {"seconds": {}, "lines": {}, "modules": []}
        others = {unit: cost for unit, cost in old["seconds"].items() if not unit.startswith(tuple(paths))}
        passed = {unit: cost for unit, cost in recorder.seconds.items() if unit not in recorder.failed}
        merged: dict[str, dict[str, list[str]]] = {}
        for file in {*old["lines"], *lines}:
            earlier, now = old["lines"].get(file, {}), {str(line): tests for line, tests in lines.get(file, {}).items()}
            merged[file] = {
                line: [test for test in earlier.get(line, []) if test in others] + now.get(line, [])
                for line in sorted({*earlier, *now}, key=int)
            }
        ours = {"axioms", "tests", "conftest", "coverage", "__main__", "__mp_main__"}
        modules = {*old["modules"], *(name for name in sys.modules if name.split(".")[0] not in ours)}
        MAP.write_text(json.dumps({"seconds": others | passed, "lines": merged, "modules": sorted(modules)}))


def record(paths: list[str]) -> int:
    """Run what may notice a mutant once, or some of it, and keep which lines it executes."""
    import coverage

    os.chdir(ROOT)
    os.environ["AXIOMS_FRESH"] = "1"
    folders = [str(ROOT / "axioms" / name) for name in SOURCES]
    measured = coverage.Coverage(data_file=None, source=folders, config_file=False)
    measured.start()
    recorder = Recorder(measured)
    with tempfile.TemporaryDirectory() as folder:
        ignored = [f"--ignore={file}" for file in SLOW]
        arguments = [*ARGUMENTS, f"--axioms-report={folder}/report", f"--basetemp={folder}/tests", *ignored, *paths]
        pytest.main(arguments, plugins=[recorder])
    measured.stop()
    data, lines = measured.get_data(), {}
    for file in data.measured_files():
        contexts = data.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(ROOT))] = {
            line: sorted(filter(None, tests)) for line, tests in contexts.items()
        }
    merge(paths, recorder, lines)
    print(f"{sum(recorder.seconds.values()):.0f} s; left out, because they fail: {sorted(recorder.failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(record(sys.argv[1:] or list(NOTICING)))
