"""Measurements of earlier runs: used where nothing has changed, and only there."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from axioms.run.build import build_subject
from axioms.run.cache import Kept, descriptors, key_of, subject_digest
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.subjects.built import BuiltSubject

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


def measured(file: Path, kept: Kept) -> dict[str, object]:
    (check,) = expand_file(file).checks
    return dict(Runner(kept=kept).run(check).measurement.values)


def built(file: Path) -> BuiltSubject:
    (check,) = expand_file(file).checks
    return build_subject(check.subject, check.run, check.file)


@given(arrays(np.float64, (5,), elements=st.floats(allow_nan=True)), arrays(np.bool_, (5,)))
def test_what_is_kept_comes_back_as_it_was(values: np.ndarray, mask: np.ndarray) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        kept = Kept(Path(folder))
        kept.put("k", {"plain": values, "left.masked": np.ma.masked_array(values, mask), "one": np.array(2.5)})
        found = kept.get("k")
    assert found is not None
    assert list(found) == ["plain", "left.masked", "one"]
    np.testing.assert_array_equal(found["plain"], values)
    np.testing.assert_array_equal(np.ma.getmaskarray(found["left.masked"]), mask)
    np.testing.assert_array_equal(np.ma.getdata(found["left.masked"]), values)
    assert float(found["one"]) == 2.5


def test_a_second_run_measures_nothing_and_gives_the_same(tmp_path: Path) -> None:
    file, first, second = written(tmp_path), Kept(tmp_path / "kept"), Kept(tmp_path / "kept")
    before, after = measured(file, first), measured(file, second)
    assert (first.used, first.made, second.used, second.made) == (0, 1, 1, 0)
    assert list(before) == list(after)
    for name, values in before.items():
        np.testing.assert_array_equal(values, after[name])


@pytest.mark.parametrize("change", [{"seed": 1}, {"length": 5}, {"method": "cp_lrp"}])
def test_another_model_input_or_method_is_measured(tmp_path: Path, change: dict[str, object]) -> None:
    measured(written(tmp_path), Kept(tmp_path / "kept"))
    kept = Kept(tmp_path / "kept")
    measured(written(tmp_path, **change), kept)
    assert (kept.used, kept.made) == (0, 1)


def test_one_weight_is_enough(tmp_path: Path) -> None:
    subject = built(written(tmp_path))
    before = subject_digest(subject)
    assert subject_digest(built(written(tmp_path))) == before
    with torch.no_grad():
        next(subject.sides["model"].model.module.parameters()).view(-1)[0] += 1e-12
    assert subject_digest(subject) != before
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
    measured(file, Kept(tmp_path / "kept"))
    (found,) = (tmp_path / "kept").rglob("*.npz")
    found.write_bytes(found.read_bytes()[:100])
    kept = Kept(tmp_path / "kept")
    measured(file, kept)
    gc.collect()  # a file that was left open would say so here
    assert (kept.used, kept.made) == (0, 1)


def test_methods_of_adapters_are_never_kept(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    measured(written(tmp_path, method="'captum:InputXGradient'"), kept)
    assert (kept.used, kept.made) == (0, 0)


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
