"""Several runs at once in one folder and one cache, and a disk that fails them on the way."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axioms.record import RunRecord, read_record
from axioms.report.runs import claimed
from axioms.run.cache import SUFFIX, Cache
from axioms.run.runner import Runner
from axioms.spec import expand_file

SPEC = """claim: Nothing is claimed.
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 4, length: 6}}}
run: {dtype: float64}
methods: [gradient, attnlrp]
checks: [{axiom: conservation, record: [ratio.mean]}]
"""


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("AXIOMS_FRESH")
    monkeypatch.setenv("AXIOMS_CACHE", str(pytester.path / "cache"))
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(SPEC)
    return pytester


def test_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    wanted = tmp_path / "runs" / "20260101-000000-specs"
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: claimed(wanted), range(8)))
    assert len(set(folders)) == 8
    assert all(folder.is_dir() for folder in folders)


def test_several_write_and_read_one_cache(tmp_path: Path) -> None:
    values = {str(number): np.full(1000, float(number)) for number in range(20)}

    def work(_: int) -> int:
        cache, wrong = Cache(tmp_path), 0
        for digest, value in values.items():
            cache.write(digest, {"value": value})
            read = cache.read(digest)
            wrong += read is None or not np.array_equal(read["value"], value)
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 0
    assert len(list(tmp_path.rglob(f"*{SUFFIX}"))) == len(values)
    assert not list(tmp_path.rglob("*.part"))


def values_of(record: RunRecord) -> dict[str, list[Any]]:
    """Return the numbers of each check."""
    return {check.id: [quantity.value for quantity in check.metrics.values()] for check in record.checks}


@pytest.mark.sessions
@pytest.mark.skipif("not config.getoption('-m')", reason="starts whole sessions, and takes minutes: -m sessions")
def test_two_runs_at_once_in_one_folder_and_one_cache(folder: pytest.Pytester, root: Path) -> None:
    """Processes that start together measure the same, and each has a whole report; `latest` leads to one of them."""
    (folder.path / "specs" / "other.yaml").write_text(SPEC.replace("bert", "gpt2"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "specs"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with (folder.path / "said").open("w") as said:
        runs = [
            subprocess.Popen(command, cwd=folder.path, env=environment, stdout=said, stderr=subprocess.STDOUT)
            for _ in range(2)
        ]
        codes = [run.wait(timeout=300) for run in runs]
    assert codes == [0, 0], (folder.path / "said").read_text()
    reports = folder.path / "reports"
    first, second = (read_record(place) for place in sorted((reports / "runs").iterdir()))
    assert first.run.status == second.run.status == "passed"
    assert len(values_of(first)) == 4
    assert values_of(first) == values_of(second)
    assert values_of(read_record(reports / "latest")) == values_of(first)
    assert all((place / "index.html").exists() for place in (*(reports / "runs").iterdir(), reports / "latest"))
    left = [file for file in folder.path.rglob("*") if file.suffix in (".part", ".partial")]
    assert not left
    third = subprocess.run(command, cwd=folder.path, env=environment, capture_output=True, text=True, timeout=300)
    reused = re.search(r"^(\d+) of (\d+) measurements are an earlier run's", third.stdout, re.MULTILINE)
    assert reused is not None, third.stdout
    assert reused[1] == reused[2], "what the two wrote together can be read"


def ratios(runner: Runner, check: Any) -> list[float]:
    values: list[float] = runner.run(check).measurement.values["ratio"].tolist()
    return values


def test_a_cache_that_is_removed_half_way(folder: pytest.Pytester) -> None:
    gradient, attnlrp = expand_file(folder.path / "specs" / "mine.yaml").checks
    right = [ratios(Runner(), check) for check in (gradient, attnlrp)]
    place = folder.path / "kept"
    runner = Runner(cache=Cache(place))
    first = ratios(runner, gradient)
    shutil.rmtree(place)
    assert [first, ratios(runner, attnlrp)] == right
    again = Cache(place)
    assert ratios(Runner(cache=again), attnlrp) == right[1]
    assert again.reused > 0, "what was measured after that is kept"


@pytest.mark.parametrize("call", ["write_bytes", "mkdir", "replace"])
def test_a_full_disk_costs_the_cache_only(folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    plain = getattr(Path, call)

    def fail(self: Path, *args: Any, **options: Any) -> Any:
        if "cache" in self.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(self, *args, **options)

    monkeypatch.setattr(Path, call, fail)
    folder.runpytest("specs").assert_outcomes(passed=2)
    assert not list((folder.path / "cache").rglob("*.*"))
