"""Every subject, method and check takes the device from the run.

Without an accelerator the `meta` device stands in: it has shapes and no numbers, and a tensor allocated on the CPU by
mistake is told from one that is where it should be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from axioms.core.errors import NotApplicable
from axioms.core.registry import AXIOMS, METHODS, REWRITES, SUBJECTS
from axioms.methods.running import run_method
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.rewrites.apply import apply_rewrite
from axioms.run.address import Address
from axioms.run.build import placement
from axioms.run.measuring import measure
from axioms.run.runner import Runner
from axioms.run.source import build_subject
from axioms.spec import Check, MethodRef, expand_file
from axioms.spec.pairs import FORWARD
from axioms.spec.validate import load_specs
from axioms.subjects.built import BuiltSubject

ANYWHERE = """loo gradient gradient_x_input integrated_gradients attnlrp cp_lrp lrp_epsilon lrp_gamma
    lrp_alpha1_beta0""".split()
"""Methods that fit every model; `random` draws on the CPU on purpose."""
FOLDER = Path(__file__).parent.parent / "specs"
SPECS = sorted(path.name for path in FOLDER.glob("[!_]*.yaml"))
OF_TRANSFORMERS = {"tiny", "minilm-sentiment", "bert-small12", "agreement-llama"}


def decides_by_its_data(spec: str) -> bool:
    """Transformers ask whether a mask masks anything, rewrites compare outputs first."""
    subject = load_specs(FOLDER / spec)[0].spec.subject
    if subject.pair is not None:
        return bool(subject.pair.rewritten)
    return subject.model is not None and subject.model.name in OF_TRANSFORMERS


def has_a_mask(spec: str) -> bool:
    """Leave-one-out asks a mask, or chunks, what is there; test_every_method_and_axiom_names_its_device has that."""
    subject = load_specs(FOLDER / spec)[0].spec.subject
    return subject.data.name == "masked-tokens" or (subject.remove is not None and subject.remove.chunk > 1)


ON_META = [name for name in SPECS if not decides_by_its_data(name)]


class OnlyMeta(TorchDispatchMode):
    """Raises where an operation yields a tensor that is not on the meta device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and leaf.device.type != "meta":
                raise AssertionError(f"{func} gave a tensor on {leaf.device}")
        return result


def first_check(root: Path, spec: str) -> Check:
    return expand_file(root / "specs" / spec).checks[0]


def on_meta(root: Path, spec: str) -> BuiltSubject:
    check = first_check(root, spec)
    return build_subject(check.subject, check.run.model_copy(update={"device": "meta"}), check.file)


def test_the_guard_itself_catches_a_tensor_on_the_wrong_device() -> None:
    with OnlyMeta(), pytest.raises(AssertionError, match="gave a tensor on cpu"):
        torch.zeros(2)


@pytest.mark.parametrize("spec", ON_META)
def test_subjects_are_built_on_the_device(root: Path, spec: str) -> None:
    subject = on_meta(root, spec)
    assert subject.target.index.device.type == "meta"
    for side in subject.sides.values():
        assert side.inputs.features.device.type == "meta"
        assert {tensor.device.type for tensor in side.model.module.state_dict().values()} <= {"meta"}


@pytest.mark.parametrize(
    ("spec", "method"), [pair for pair in product(ON_META, ANYWHERE) if pair[1] != "loo" or not has_a_mask(pair[0])]
)
def test_methods_stay_on_the_device(root: Path, spec: str, method: str) -> None:
    subject = on_meta(root, spec)
    for side in subject.sides.values():
        with OnlyMeta():
            inputs, target = side.inputs.rows(0, 2), subject.target.rows(0, 2)
            output = target(side.outputs[:2])
            attribution = run_method(METHODS.get(method), side.model, inputs, target, output, batch_size=2, options={})
        assert attribution.scores.device.type == "meta"
        assert attribution.scores.shape == inputs.features.shape[:2]


@pytest.mark.parametrize("name", sorted(REWRITES))
@pytest.mark.parametrize("model", ["relu-net", "linear-attention"])
def test_rewrites_stay_on_the_device(model: str, name: str) -> None:
    options = {"length": 8, "width": 4, "classes": 5} if model == "linear-attention" else {}
    module = SUBJECTS.get(model).function(**options).double().to("meta")
    inputs = read_inputs(module, torch.ones(2, 8 if options else 16, dtype=torch.float64, device="meta"))
    try:
        rewritten = apply_rewrite(name, {}, module, inputs)
        with torch.no_grad(), OnlyMeta():
            outputs = Model(rewritten.module)(rewritten.moved.inputs)
    except NotApplicable:
        return
    assert outputs.device.type == "meta"
    assert {tensor.device.type for tensor in rewritten.module.state_dict().values()} <= {"meta"}


def test_random_draws_on_the_cpu_on_purpose_and_delivers_on_the_device(root: Path) -> None:
    subject = on_meta(root, "scalar_product.yaml")
    side = subject.sides["left"]
    output = subject.target(side.outputs)
    entry = METHODS.get("random")
    attribution = run_method(entry, side.model, side.inputs, subject.target, output, batch_size=2, options={})
    assert attribution.scores.device.type == "meta"


@pytest.mark.parametrize(
    "axiom", ["conservation", "implementation_invariance", "loo_correlation", "perturbation", "insertion_deletion"]
)
def test_axioms_call_the_model_on_the_device(root: Path, axiom: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores come to the CPU as numpy arrays by `as_numpy` alone; what goes to the model is on the device."""
    shapes: list[torch.Size] = []

    def invented(tensor: Tensor) -> Any:
        assert tensor.device.type == "meta"
        shapes.append(tensor.shape)
        return np.random.default_rng(0).normal(size=tuple(tensor.shape))

    for module in ("helpers.views", "conservation", "helpers.walks"):
        monkeypatch.setattr(f"axioms.properties.{module}.as_numpy", invented)
    original = Model.__call__

    def guarded(model: Model, inputs: Any) -> Tensor:
        tensors = [value for value in (inputs.features, *inputs.fixed.values()) if isinstance(value, Tensor)]
        assert {tensor.device.type for tensor in tensors} == {"meta"}
        return original(model, inputs)

    monkeypatch.setattr(Model, "__call__", guarded)
    check = first_check(root, "linear_attention.yaml")
    run = check.run.model_copy(update={"device": "meta"})
    executor, address = Runner().executor, Address(check.subject, run, check.file)
    method = None if axiom == FORWARD else MethodRef.model_validate("gradient_x_input")
    options = {"step": 98} if axiom in ("perturbation", "insertion_deletion") else {}
    measure(executor, address, axiom, options, method)
    assert shapes


class NamesItsDevice(TorchFunctionMode):
    """Raises where our own code makes a tensor and does not say on which device: it would be the CPU."""

    FACTORIES = frozenset("zeros ones full empty arange tensor rand randn randint eye linspace as_tensor".split())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self.FACTORIES and kwargs.get("device") is None:
            caller = sys._getframe(1).f_code
            if "/axioms/" in caller.co_filename and caller.co_name not in ON_THE_CPU_ON_PURPOSE:
                raise AssertionError(f"{func.__name__} without a device in {caller.co_filename}:{caller.co_name}")
        return func(*args, **kwargs)


ON_THE_CPU_ON_PURPOSE = set(
    """find_tail random noise_like tokens random_tokens random_images points neighbours _contexts fixed_linear
    randomize""".split()
)
"""Seeded draws that are the same on every device, and models and data, which are moved to it once they are made."""


def test_that_guard_catches_a_tensor_without_a_device() -> None:
    source = "import torch\ndef make():\n    return torch.zeros(2)\n"
    space: dict[str, Any] = {}
    exec(compile(source, "/somewhere/axioms/made_up.py", "exec"), space)
    with NamesItsDevice(), pytest.raises(AssertionError, match="zeros without a device"):
        space["make"]()


def of_built_subjects(root: Path) -> list[Check]:
    """Return a check of each axiom in the specs of built subjects; of most, a model of texts knows no answer."""
    files = [*sorted((root / "specs").glob("axioms_*.yaml")), *(root / "specs" / name for name in MANY_AXIOMS)]
    return list({check.function: check for file in files for check in expand_file(file).checks}.values())


MANY_AXIOMS = ("known_answers.yaml", "faithfulness.yaml", "patching.yaml")


@pytest.mark.parametrize("architecture", ["bert", "llama"])
def test_every_method_and_axiom_names_its_device(root: Path, architecture: str, tmp_path: Path) -> None:
    # On BERT ALTI-Logit does not apply, and the gradient sums to nothing but rounding over an embedding's width.
    left_out = {"lrp", *(("alti_logit", "gradient") if architecture == "bert" else ())}
    methods = [name for name in METHODS if name not in left_out]
    (tmp_path / "spec.yaml").write_text(
        f"""claim: c
subject:
  pair:
    left: {{tiny: {{architecture: {architecture}}}}}
    right: {{tiny: {{architecture: {architecture}, backend: sdpa}}}}
  data: {{random-tokens: {{n: 2, length: 6}}}}
run: {{dtype: float64}}
methods: [{", ".join(methods)}]
checks:
  - {{axiom: implementation_invariance, expect: {{relative_gap.max: {{le: 1e-9}}}}}}
  - {{axiom: ledger, methods: [attnlrp, cp_lrp]}}
  - {{axiom: engine_agreement, methods: [attnlrp, cp_lrp]}}
  - {{axiom: loo_correlation, methods: [attnlrp], record: [pearson.mean]}}
  - {{axiom: perturbation, methods: [attnlrp], record: [delta.mean]}}
  - {{axiom: insertion_deletion, methods: [attnlrp], record: [difference.mean]}}
  - {{axiom: purity, methods: [attnlrp]}}
  - {{axiom: batch_invariance, methods: [attnlrp]}}
  - {{axiom: backend_invariance, methods: [attnlrp]}}
  - {{axiom: padding_invariance, methods: [attnlrp]}}
  - {{axiom: precision, methods: [attnlrp]}}
  - {{axiom: bypass_gain, methods: [attnlrp], record: [total_gain.mean]}}
  - {{axiom: bypass_perturbation, methods: [attnlrp], record: [total_gain.mean]}}
  - {{axiom: attention_flatness, methods: [attnlrp], record: [entropy]}}
  - {{axiom: sink_share, methods: [attnlrp], record: [gap.mean]}}
  - {{axiom: cost, methods: [attnlrp], record: [passes]}}
  - {{axiom: local_lipschitz, methods: [attnlrp], record: [lipschitz.mean]}}
  - {{axiom: normalized_aopc, methods: [attnlrp], record: [aopc.mean]}}
"""
    )
    checks = [*expand_file(tmp_path / "spec.yaml").checks, *of_built_subjects(root)]
    make_no_tensor = {"conservation", "relevance", "ground_truth", "chance", "task"}
    assert {check.function for check in checks} | make_no_tensor == set(AXIOMS)
    runner = Runner()
    with NamesItsDevice():
        assert all(runner.run(check).judgement.passed for check in checks)


def test_auto_picks_cuda_where_there_is_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = first_check(root, "scalar_product.yaml").run
    for available, wanted in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert placement(run).device.type == wanted


@pytest.mark.parametrize(("device", "what"), [("cuda", "torch sees no CUDA device"), ("gpu0", "unknown device 'gpu0'")])
def test_a_device_that_is_not_there(root: Path, monkeypatch: pytest.MonkeyPatch, device: str, what: str) -> None:
    from axioms.core.errors import InputError

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=what):
        placement(first_check(root, "scalar_product.yaml").run.model_copy(update={"device": device}))


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device; run `pytest -m gpu` on a machine with one"
)
@pytest.mark.parametrize("spec", SPECS)
def test_specs_pass_on_cuda_in_float32(root: Path, pytester: pytest.Pytester, spec: str) -> None:
    arguments: list[str | Callable[..., Any]] = [str(root / "specs" / spec), f"--rootdir={root}"]
    options = ["--axioms-device=cuda", "--axioms-dtype=float32", f"--axioms-report={pytester.path}"]
    assert pytester.runpytest_subprocess(*arguments, *options).ret == 0  # type: ignore[arg-type]
