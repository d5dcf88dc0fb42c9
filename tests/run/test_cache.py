"""The cache: what an earlier run measured is used where nothing has changed, and only there."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from axioms.core.errors import AssetMissing
from axioms.run.cache import SUFFIX, Cache
from axioms.run.digests import descriptors, source_digest
from axioms.run.memory import RECENT, Key, Memory, key_of
from axioms.run.runner import Runner
from axioms.run.source import Source, open_source
from axioms.spec import expand_file

SPEC = """
claim: c
subject:
  model: {{tiny: {{architecture: bert, seed: {seed}}}}}
  data: {{random-tokens: {{n: 4, length: {length}}}}}
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: loo_correlation, record: [pearson.mean]}}]
"""
DEFAULTS = {"seed": 0, "length": 6, "method": "attnlrp"}


def written(folder: Path, **given: object) -> Path:
    file = folder / "spec.yaml"
    file.write_text(SPEC.format(**{**DEFAULTS, **given}))
    return file


def measured(file: Path, cache: Cache) -> dict[str, object]:
    (check,) = expand_file(file).checks
    return dict(Runner(cache=cache).run(check).measurement.values)


def counts(cache: Cache) -> tuple[int, int]:
    return cache.reused, cache.measured


def opened(file: Path) -> Source:
    (check,) = expand_file(file).checks
    return open_source(check.subject, check.run, check.file)


@given(arrays(np.float64, (5,), elements=st.floats(allow_nan=True)), arrays(np.bool_, (5,)))
def test_what_is_on_disk_comes_back_as_it_was(values: np.ndarray, mask: np.ndarray) -> None:
    import tempfile

    arrays = {"plain": values, "left.masked": np.ma.masked_array(values, mask), "scalar": np.array(2.5)}
    with tempfile.TemporaryDirectory() as folder:
        Cache(Path(folder)).write("digest", arrays)
        cache = Cache(Path(folder))
        read = cache.read("digest")
        assert cache.read("another") is None
    assert counts(cache) == (1, 0)
    assert read is not None
    assert list(read) == ["plain", "left.masked", "scalar"]
    np.testing.assert_array_equal(read["plain"], values)
    np.testing.assert_array_equal(np.ma.getmaskarray(read["left.masked"]), mask)
    np.testing.assert_array_equal(np.ma.getdata(read["left.masked"]), values)
    assert float(read["scalar"]) == 2.5


def test_memory_holds_the_recent_subjects_and_forgets_when_told() -> None:
    memory = Memory()
    value = memory.recall(key_of("first", 2), object)
    assert memory.recall(key_of("first", 2), object) is value
    for number in range(RECENT):
        memory.recall(key_of(f"subject {number}", 2), object)
    assert memory.recall(key_of("first", 2), object) is not value, "a model must not stay in memory for ever"
    value = memory.recall(key_of("first", 2), object)
    memory.forget("first")
    assert memory.recall(key_of("first", 2), object) is not value


def test_what_cannot_be_had_is_attempted_once() -> None:
    memory, attempts = Memory(), []

    def fail() -> object:
        attempts.append(1)
        raise AssetMissing("not to be had", "minilm")

    for subject in ("a", "a"):
        with pytest.raises(AssetMissing, match="not to be had"):
            memory.attempt(Key(subject, subject), fail)
        with pytest.raises(AssetMissing):
            memory.raise_failure("minilm")
    assert len(attempts) == 2, "the asset decides, and `raise_failure` comes before an attempt"
    memory.raise_failure("another")


def test_a_second_run_measures_nothing_and_gives_the_same(tmp_path: Path) -> None:
    file, first, second = written(tmp_path), Cache(tmp_path / "cache"), Cache(tmp_path / "cache")
    before, after = measured(file, first), measured(file, second)
    assert (*counts(first), *counts(second)) == (0, 1, 1, 0)
    assert list(before) == list(after)
    for name, values in before.items():
        np.testing.assert_array_equal(values, after[name])


@pytest.mark.parametrize("change", [{"seed": 1}, {"length": 5}, {"method": "cp_lrp"}])
def test_another_model_input_or_method_is_measured(tmp_path: Path, change: dict[str, object]) -> None:
    measured(written(tmp_path), Cache(tmp_path / "cache"))
    cache = Cache(tmp_path / "cache")
    measured(written(tmp_path, **change), cache)
    assert counts(cache) == (0, 1)


def test_one_weight_or_one_token_is_enough(tmp_path: Path) -> None:
    source = opened(written(tmp_path))
    before = source_digest(source)
    assert source_digest(opened(written(tmp_path))) == before
    assert isinstance(source.data.inputs, dict)
    source.data.inputs["input_ids"][0, 0] += 1
    assert source_digest(source) != before
    source.data.inputs["input_ids"][0, 0] -= 1
    with torch.no_grad():
        next(source.models["model"].module.parameters()).view(-1)[0] += 1e-12
    assert source_digest(source) != before
    assert key_of(before, "a", {"step": 1}) != key_of(before, "a", {"step": 2})


def test_what_a_fixture_says_counts(tmp_path: Path) -> None:
    (tmp_path / "fixtures").mkdir()
    fixture = tmp_path / "fixtures" / "mine.yaml"
    described = {"pair": {"left": {"name": "mine", "options": {}}, "data": [{"name": "points"}]}}
    said = []
    for order in ("left", "right"):
        fixture.write_text(
            f"{{kind: model, build: linear-attention, options: {{order: {order}}}, source: s, licence: l}}"
        )
        said.append(descriptors(described, tmp_path / "spec.yaml"))
    assert said[0] != said[1]
    assert len(said[0]) == 1


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_a_damaged_file_is_measured_anew(tmp_path: Path) -> None:
    file = written(tmp_path)
    measured(file, Cache(tmp_path / "cache"))
    (file_on_disk,) = (tmp_path / "cache").rglob(f"*{SUFFIX}")
    file_on_disk.write_bytes(file_on_disk.read_bytes()[:100])
    cache = Cache(tmp_path / "cache")
    measured(file, cache)
    gc.collect()  # a file that was left open would say so here
    assert counts(cache) == (0, 1)


def test_methods_of_adapters_are_always_measured(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    measured(written(tmp_path, method="'captum:InputXGradient'"), cache)
    assert counts(cache) == (0, 0)


def test_a_changed_conftest_is_other_code(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AXIOMS_FRESH")
    monkeypatch.setenv("AXIOMS_CACHE", str(pytester.path / "cache"))
    specs = pytester.mkdir("specs")
    written(specs)
    pytester.makeconftest("")
    said = "1 of 1 measurements are an earlier run's"
    assert said not in pytester.runpytest_subprocess("specs").stdout.str()
    assert said in pytester.runpytest_subprocess("specs").stdout.str()
    assert said not in pytester.runpytest_subprocess("specs", "--axioms-fresh").stdout.str()
    pytester.makeconftest("CHANGED = True")
    assert said not in pytester.runpytest_subprocess("specs").stdout.str()
