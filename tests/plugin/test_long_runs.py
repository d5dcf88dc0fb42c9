"""Several runs at once in one folder and one cache, and a disk that fails them on the way."""

from __future__ import annotations

import errno
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
