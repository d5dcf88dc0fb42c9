"""What could make a number stale: a run that must not lie measures it anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import axioms
from axioms.core.registry import AXIOMS, METHODS, RULES, SUBJECTS
from axioms.engine.calls import CALLS
from axioms.record import read_record
from axioms.run import digests
from axioms.run.cache import Cache
from axioms.run.runner import Runner
from axioms.spec import expand_file

SPEC = """claim: Nothing is claimed.
subject: {model: MODEL, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [METHOD]
checks:
  - {axiom: AXIOM, record: [METRIC]}
"""
READS = {
    "a module that it imports when called": ("from impl import scale", "impl.py", "scale = SCALE"),
    "a file": ("import json; scale = json.load(open('scale.json'))", "scale.json", "SCALE"),
    "a variable": ("import os; scale = float(os.environ['SCALE_OF_TEST'])", None, ""),
    "state of its process": ("import torch; scale = float(torch.scale_of_test)", None, ""),
}
METHOD = """
import axioms

@axioms.method("scaled")
def scaled(model, inputs, target):
    READ
    return scale * inputs.features
"""
AXIOM = """
import axioms
from axioms.core.lazy import np

@axioms.axiom("my_scale", metrics={"scale": axioms.Metric("the scale")})
def measure(side):
    READ
    return {"scale": np.full(len(side.scores), float(scale))}
"""
MODEL = """
import axioms, torch

class Scaled(torch.nn.Module):
    def forward(self, features):
        READ
        return scale * features

@axioms.subject("scaled-model")
def scaled_model():
    return Scaled()
"""
RULE = """
import axioms

@axioms.rule("scaled", on="linear")
def scaled(operation):
    READ
    value = operation.forward()
    return value.detach() + scale * (value - value.detach())
"""
OPERATION = """
import axioms

def scaled(features, weight, bias=None):
    READ
    return scale * (features @ weight.T)

axioms.register_operation("linear", written_as=scaled)
"""
NOT_OURS = {
    "method": (METHOD, {"METHOD": "scaled"}),
    "axiom": (AXIOM, {"AXIOM": "my_scale", "METRIC": "scale.max", "METHOD": "gradient"}),
    "model": (MODEL, {"MODEL": "scaled-model", "AXIOM": "relevance", "METRIC": "scores", "METHOD": "gradient"}),
    "rule": (RULE, {"METHOD": "{lrp: {rules: [{on: linear, rule: scaled}]}}"}),
    "operation": (OPERATION, {"METHOD": "attnlrp"}),
}
USUAL = {
    "MODEL": "{linear: {weight: [[3, -1]]}}",
    "AXIOM": "conservation",
    "METRIC": "ratio.mean",
    "METHOD": "gradient",
}


@pytest.fixture(autouse=True)
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let runs use what earlier ones measured, as they do outside of tests."""
    monkeypatch.delenv("AXIOMS_FRESH")
    monkeypatch.setenv("AXIOMS_CACHE", str(tmp_path / "cache"))
    for registry in (METHODS, AXIOMS, SUBJECTS, RULES):  # what a run in this process registers is forgotten
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    for operation in ("linear", "tanh"):
        monkeypatch.setitem(CALLS, operation, CALLS[operation])


def usual_spec(**changes: str) -> str:
    text = SPEC
    for name, value in {**USUAL, **changes}.items():
        text = text.replace(name, value)
    return text


def write_spec(pytester: pytest.Pytester, **changes: str) -> None:
    text = usual_spec(**changes)
    (pytester.path / "specs").mkdir(exist_ok=True)
    (pytester.path / "specs" / "mine.yaml").write_text(text)


def set_scale(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, reads: str, scale: float) -> None:
    _, file, text = READS[reads]
    if file is not None:
        (pytester.path / file).write_text(text.replace("SCALE", f"{scale:g}"))
    monkeypatch.setenv("SCALE_OF_TEST", f"{scale:g}")
    monkeypatch.setattr(torch, "scale_of_test", scale, raising=False)


def number(pytester: pytest.Pytester) -> object:
    (check,) = read_record(pytester.path / "reports" / "latest").checks
    return next(iter(check.metrics.values())).value


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("part", NOT_OURS)
def test_what_other_peoples_code_reads_may_have_changed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, part: str, reads: str
) -> None:
    source, changes = NOT_OURS[part]
    pytester.makepyfile(mine=source.replace("READ", READS[reads][0]))
    write_spec(pytester, **changes)
    numbers = []
    for scale in (2, 200):
        set_scale(pytester, monkeypatch, reads, scale)
        pytester.runpytest("specs", "--axioms-import", "mine").assert_outcomes(passed=1)
        numbers.append(number(pytester))
    assert numbers[0] != numbers[1]
    set_scale(pytester, monkeypatch, reads, 3)
    result = pytester.runpytest("specs", "--axioms-import", "mine", "--axioms-reuse")
    result.stdout.fnmatch_lines(["? of ? measurements are an earlier run's, as asked by --axioms-reuse: *"])
    result.stdout.no_fnmatch_line("*of the same code*")
    assert number(pytester) == numbers[1], "what is asked for: the number of the earlier run"


@pytest.mark.parametrize("reads", READS)
def test_the_gate_measures(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, reads: str) -> None:
    pytester.makepyfile(mine=METHOD.replace("READ", READS[reads][0]))
    write_spec(pytester, METHOD="scaled, gradient")
    set_scale(pytester, monkeypatch, reads, 2)
    run = ("specs", "--axioms-import", "mine")
    pytester.runpytest(*run, "--axioms-update-baseline=new").assert_outcomes(passed=2)
    set_scale(pytester, monkeypatch, reads, 200)
    gated = pytester.runpytest(*run, "--axioms-baseline", "reports/baseline.json")
    assert gated.ret == 1
    gated.stdout.fnmatch_lines(["*2 metrics compared: 1 drifted.", "drift*[[]scaled[]]*ratio.mean*"])
    gated.stdout.no_fnmatch_line("*an earlier run's*")
    asked = pytester.runpytest(*run, "--axioms-baseline", "reports/baseline.json", "--axioms-reuse")
    asked.stdout.fnmatch_lines(["2 of 2 measurements are an earlier run's*"])


def test_an_installed_package_of_the_same_version(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_loaded_files", list)  # all that is loaded counts as installed
    write_spec(pytester, METHOD="scaled")
    ratios = []
    for scale in ("1.0", "100.0"):
        pytester.makepyfile(mine=METHOD.replace("READ", f"scale = {scale}"))
        pytester.runpytest("specs", "--axioms-import", "mine").assert_outcomes(passed=1)
        ratios.append(number(pytester))
    assert ratios[1] == 100 * ratios[0]  # type: ignore[operator]


def test_the_gate_measures_also_our_own_methods(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever no digest knows of: here the program itself is another one while it runs."""
    write_spec(pytester)
    pytester.runpytest("specs", "--axioms-update-baseline=new").assert_outcomes(passed=1)
    pytester.runpytest("specs").stdout.fnmatch_lines(["1 of 1 measurements are an earlier run's*"])
    entry = METHODS.get("gradient")
    changed = type(entry)("gradient", lambda model, inputs, target: 7 * inputs.features)
    changed.function.__module__ = "axioms.methods.gradient"
    monkeypatch.setitem(METHODS._entries, "gradient", changed)
    result = pytester.runpytest("specs", "--axioms-baseline", "reports/baseline.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["drift*ratio.mean*"])


def test_a_run_of_our_own_says_what_it_did_not_measure(pytester: pytest.Pytester) -> None:
    write_spec(pytester)
    pytester.runpytest("specs").stdout.no_fnmatch_line("*an earlier run's*")
    said = "1 of 1 measurements are an earlier run's, of the same code; --axioms-fresh for none"
    pytester.runpytest("specs").stdout.fnmatch_lines([said])
    pytester.runpytest("specs", "--axioms-fresh").stdout.no_fnmatch_line("*an earlier run's*")


def test_an_operation_of_somebody_elses_may_be_in_any_model(
    write_spec: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_spec(usual_spec())

    def reused() -> int:
        cache = Cache(tmp_path / "kept")
        measured(file, cache)
        return cache.reused

    assert [reused(), reused()] == [0, 1]
    axioms.register_operation("tanh", kind="activation")
    assert [reused(), reused()] == [0, 0]
    monkeypatch.undo()
    assert reused() == 1


def measured(file: Path, cache: Cache) -> None:
    (check,) = expand_file(file).checks
    Runner(cache=cache).run(check)


def test_a_fixtures_weights_under_the_same_name(tmp_path: Path, write_spec: Callable[[str], Path]) -> None:
    fixtures = tmp_path / "fixtures"
    fixtures.mkdir()
    text = "{kind: model, build: linear, options: {weight: [[0, 0]]}, weights: w.safetensors, source: s, licence: l}"
    (fixtures / "weighted.yaml").write_text(text)
    spec = SPEC.replace("MODEL", "weighted").replace("METHOD", "gradient").replace("AXIOM", "conservation")
    file = write_spec(spec.replace("METRIC", "ratio.mean"))
    for weight, reused in ((1.0, 0), (2.0, 0), (2.0, 1)):
        save_file({"weight": torch.tensor([[weight, -1.0]])}, fixtures / "w.safetensors")
        cache = Cache(tmp_path / "kept")
        measured(file, cache)
        assert cache.reused == reused


TEXTS = """claim: c
subject:
  model: {hub-classifier: {name: FOLDER}}
  data: {text-file: {path: texts.tsv}}
run: {dtype: float64}
methods: [gradient]
checks: [{axiom: relevance, record: [scores]}]
"""


def test_a_data_file_under_the_same_name(
    tmp_path: Path, write_spec: Callable[[str], Path], repository: Callable[[str], Path]
) -> None:
    file = write_spec(TEXTS.replace("FOLDER", str(repository("classifier"))))
    for text, reused in (("the film is good", 0), ("the film is bad", 0), ("the film is bad", 1)):
        (file.parent / "texts.tsv").write_text(f"text\n{text}\n")
        cache = Cache(tmp_path / "kept")
        measured(file, cache)
        assert cache.reused == reused


def test_another_number_of_threads_is_another_measurement(
    tmp_path: Path, write_spec: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_spec(usual_spec())
    plain = torch.get_num_threads()
    for threads, reused in ((plain, 0), (plain, 1), (plain + 1, 0), (plain, 1)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        cache = Cache(tmp_path / "kept")
        measured(file, cache)
        assert cache.reused == reused, threads
    monkeypatch.setitem(os.environ, "ONEDNN_DEFAULT_FPMATH_MODE", "BF16")
    cache = Cache(tmp_path / "kept")
    measured(file, cache)
    assert cache.reused == 0


def test_threads_settings_and_variables_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digests.surroundings()
    assert digests.surroundings() == before
    for target, name, value in (
        (torch, "get_num_threads", lambda: 77),
        (torch, "get_float32_matmul_precision", lambda: "medium"),
        (torch, "get_default_dtype", lambda: torch.float16),
        (torch, "are_deterministic_algorithms_enabled", lambda: True),
        (torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT"),
        (digests, "version", lambda package: "0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            assert digests.surroundings() != before, name
    monkeypatch.setitem(os.environ, "ONEDNN_DEFAULT_FPMATH_MODE", "BF16")
    assert digests.surroundings() != before


def swap(one: Path, other: Path) -> None:
    one.write_bytes(other.read_bytes())


def cut(one: Path, other: Path) -> None:
    one.write_bytes(one.read_bytes()[:-1])


def flip(one: Path, other: Path) -> None:
    content = bytearray(one.read_bytes())
    content[len(content) // 2] ^= 1
    one.write_bytes(content)


def empty(one: Path, other: Path) -> None:
    one.write_bytes(b"")


@pytest.mark.parametrize("damage", [swap, cut, flip, empty])
def test_a_damaged_or_swapped_file_is_never_used(tmp_path: Path, damage: Callable[[Path, Path], None]) -> None:
    import numpy as np

    cache = Cache(tmp_path)
    cache.write("one", {"ratio": np.array([1.0, 2.0])})
    cache.write("other", {"ratio": np.array([3.0, 4.0])})
    one, other = (next(tmp_path.rglob(f"{name}.*")) for name in ("one", "other"))
    assert cache.read("one") is not None
    damage(one, other)
    assert cache.read("one") is None
    assert cache.read("other") is not None


def test_a_file_of_other_code_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from axioms.run import cache as module

    Cache(tmp_path).write("one", {"ratio": np.array([1.0])})
    (file,) = tmp_path.rglob("one.*")
    monkeypatch.setattr(module, "code_digest", lambda: "f" * 64)
    moved = tmp_path / ("f" * 16) / file.name
    moved.parent.mkdir()
    file.rename(moved)
    assert Cache(tmp_path).read("one") is None
