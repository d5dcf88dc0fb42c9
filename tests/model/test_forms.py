"""Every form in which people have models: the numbers of its plain twin, or one sentence that says what to do."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch import nn

import axioms
from axioms.core.errors import AxiomsError, InputError
from axioms.model.forms import CONSTANT, gradient_of
from axioms.subjects.models.tiny import tiny
from tests.model import forms
from tests.model.forms import Case

ALL = ("attnlrp", "cp_lrp", "loo", "gradient_x_input", "integrated_gradients")
RULES = ("attnlrp", "cp_lrp")
GRADIENTS = ("attnlrp", "cp_lrp", "gradient_x_input", "integrated_gradients")
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "limits.md"
SAME = "the numbers of its plain twin"


@dataclass(frozen=True)
class Form:
    """One row of the table: what is tried, and what happens."""

    builds: tuple[Callable[[], Case], ...]
    happens: str = SAME
    refused: tuple[str, ...] = ()
    """The methods that refuse it."""
    says: str = ""
    """What they say, as a regular expression."""
    bound: float = 1e-10
    """Largest gap to the twin, as a share of its largest score."""


f32, f64 = torch.float32, torch.float64
FORMS: dict[str, Form] = {
    "`nn.MultiheadAttention`": Form(tuple(partial(forms.attention, need, f64) for need in (True, False))),
    "`nn.TransformerEncoder`, either order of norms": Form(
        tuple(partial(forms.encoder, first, f64) for first in (True, False))
    ),
    "... with a padding mask, which makes nested tensors": Form((partial(forms.encoder, False, f64, forms.PADDING),)),
    "... in float32, where `loo` takes torch's fast path": Form(
        (partial(forms.encoder, False, f32), partial(forms.encoder, False, f32, forms.PADDING)),
        bound=1e-5,
    ),
    "`torch.compile(model)`, also of a language model": Form(
        (partial(forms.vector, forms.compiled), partial(forms.text, forms.compiled)),
        "the numbers of its plain twin: it is run as it is written",
    ),
    "a compiled module or function inside": Form(
        (
            partial(forms.vector, forms.compiled_inside),
            forms.compiled_call,
        ),
        "the numbers of its plain twin: it is run as it is written",
    ),
    "`DataParallel`": Form(
        (partial(forms.vector, forms.parallel), partial(forms.text, forms.parallel, "llama")),
        "the numbers of the module inside, which is run on its own device",
    ),
    "`DistributedDataParallel`": Form(
        (partial(forms.vector, nn.parallel.DistributedDataParallel),),
        "the numbers of the module inside",
    ),
    "gradient checkpointing, `use_reentrant=False`": Form(
        (partial(forms.checkpointed, False), forms.checkpointed_alike),
        "methods made of rules refuse it: turn checkpointing off; the others work",
        RULES,
        "gradient checkpointing calls parts of the model anew.*turn it off",
    ),
    "gradient checkpointing of transformers, in training mode": Form((partial(forms.checkpointed_text, "llama"),)),
    "gradient checkpointing, `use_reentrant=True`": Form(
        (partial(forms.checkpointed, True),),
        "refused: turn checkpointing off; `loo` works",
        GRADIENTS,
        "gradient checkpointing hides what it calls: turn it off|the model cannot be differentiated.*reentrant",
    ),
    "linear layers of 8 or 4 bits, dequantized by torch functions": Form(
        tuple(partial(forms.quantized, bits) for bits in (8, 4))
    ),
    "... by a kernel with a gradient of its own (bitsandbytes)": Form(
        (partial(forms.quantized, 8, forms.ByKernel),),
        "methods made of rules refuse it: write it with torch functions, or dequantize the model; the others work",
        RULES,
        "no rule covers 'Kernel'.*custom autograd function",
    ),
    "... by torch's `quantize_dynamic`": Form(
        (forms.quantized_by_torch,),
        "refused: its kernels have no gradient, so dequantize the model; `loo` works",
        GRADIENTS,
        "no rule covers 'linear_dynamic'|in a way that can be differentiated.*a kernel without a gradient.*loo",
        bound=1e-5,
    ),
    "returns a tuple or list": Form(
        (
            partial(forms.calling, lambda inner, x: (inner(x), x)),
            partial(forms.calling, lambda inner, x: [torch.tensor(1.0), inner(x)]),
            partial(forms.text, forms.without_dict),
        ),
        "its first tensor that is more than a number is explained",
    ),
    "returns a dict with `logits`": Form((partial(forms.calling, lambda inner, x: {"hidden": x, "logits": inner(x)}),)),
    "returns another dict": Form(
        (partial(forms.calling, lambda inner, x: {"scores": inner(x)}),),
        "refused: let it return a tensor, a tuple that begins with one, or something with `logits`",
        ALL,
        "returned a dict of scores.*something with `logits`",
    ),
    "inputs made under `torch.inference_mode()`": Form(
        (
            partial(forms.vector, given=forms.under_inference),
            lambda: forms.text(given=forms.under_inference(forms.TEXT), plain=forms.TEXT),
        )
    ),
    "weights made under `torch.inference_mode()`": Form(
        (partial(forms.vector, forms.inference_weights),),
        "refused: build or load the model outside of it",
        ALL,
        "first.weight was made under torch.inference_mode.*outside of it",
    ),
    "inputs that are not contiguous, or expanded": Form(
        (
            partial(forms.vector, given=lambda features: features.T.contiguous().T),
            partial(forms.vector, given=lambda features: features.repeat(1, 2)[:, :6]),
        )
    ),
    "training mode": Form(
        (
            partial(forms.encoder, False, f64, None, True),
            partial(forms.text, lambda model: model.train()),
        ),
        "the numbers of its plain twin in evaluation mode; the mode is put back",
    ),
    "forward and backward hooks of your own": Form(
        (partial(forms.vector, forms.hooked),),
        "forward hooks are a part of the model; backward hooks wait until the attribution is done",
    ),
    "float16": Form(
        (partial(forms.rounded, torch.float16), partial(forms.rounded_text, "bert", torch.float16)),
        "the numbers of float64 to about 1 in 100",
        bound=0.02,
    ),
    "bfloat16": Form(
        (partial(forms.rounded, torch.bfloat16), partial(forms.rounded_text, "llama", torch.bfloat16)),
        "the numbers of float64 to about 1 in 10",
        bound=0.1,
    ),
    "texts of one token": Form(
        tuple(partial(forms.one_token, architecture) for architecture in ("bert", "llama")),
        "works; `loo` of the only token is 0 where nothing is left to attend to",
    ),
    "an empty batch, or no features": Form(
        (partial(forms.vector, given=lambda x: x[:0]), partial(forms.vector, given=lambda x: x[:, :0])),
        "refused: at least one example and one feature",
        ALL,
        "at least one example and one feature",
    ),
    "a text that attends to nothing": Form(
        (
            partial(
                forms.text,
                lambda model: model,
                "bert",
                {**forms.TEXT, "attention_mask": torch.tensor([[1] * 5, [0] * 5])},
            ),
        ),
        "refused: leave it out",
        ALL,
        "attention_mask of example 1 attends to no token; leave",
    ),
    "inputs of another width or dtype": Form(
        (partial(forms.vector, given=lambda x: x[:, :3]), partial(forms.vector, given=lambda x: x.half())),
        "refused with what the model said, and the shape and dtype it was given",
        ALL,
        r"the model raised RuntimeError: .* shape \(4, [36]\) of float",
    ),
    "turns gradients off (`no_grad`, `detach`, numpy)": Form(
        (
            partial(forms.calling, torch.no_grad()(lambda inner, x: inner(x))),
            partial(forms.calling, torch.inference_mode()(lambda inner, x: inner(x))),
            partial(forms.calling, lambda inner, x: inner(x.detach())),
            partial(forms.calling, lambda inner, x: inner(torch.from_numpy(x.detach().numpy()))),
        ),
        "refused, with where to look; `loo` works",
        GRADIENTS,
        "does not depend on the features in a way that can be differentiated.*loo",
    ),
    "a tensor with a graph among its attributes": Form(
        (partial(forms.vector, forms.keep_a_graph),),
        "refused: detach it, or make it a parameter or a buffer",
        ALL,
        "first.gain is a tensor that requires a gradient.*detach",
    ),
    "`torch.fx.symbolic_trace(model)`": Form((partial(forms.vector, torch.fx.symbolic_trace),)),
    "TorchScript, by `torch.jit.script` or `torch.jit.trace`": Form(
        (partial(forms.vector, torch.jit.script), partial(forms.vector, forms.traced)),
        "refused: pass the module that it was made from",
        ALL,
        "a TorchScript module, whose calls cannot be seen; pass the module",
    ),
    "`torch.export.export(model, inputs).module()`": Form(
        (partial(forms.vector, forms.exported),),
        "refused: pass the module that it was made from",
        ALL,
        "the model is exported, whose calls cannot be seen; pass the module",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def process_group() -> Iterator[None]:
    """What DistributedDataParallel asks for: a group of this process alone."""
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=0, world_size=1)
        yield
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_the_numbers_of_its_twin_or_is_refused(name: str) -> None:
    form = FORMS[name]
    for build in form.builds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, of prototypes
            case = build()
            training = [module.training for module in case.model.modules()]
            for method in ALL:
                if method in form.refused:
                    with pytest.raises(AxiomsError, match=form.says) as refusal:
                        axioms.attribute(case.model, case.given, method=method)
                    assert len(str(refusal.value)) < 700
                    assert "\n" not in str(refusal.value)
                else:
                    _compare(case, method, form.bound)
        assert [module.training for module in case.model.modules()] == training


def _compare(case: Case, method: str, bound: float) -> None:
    ours = axioms.attribute(case.model, case.given, method=method).scores.double()
    twin = axioms.attribute(case.twin, case.plain, method=method)
    twins, padding = twin.scores.double().split([ours.shape[1], twin.scores.shape[1] - ours.shape[1]], dim=1)
    assert not padding.any()
    rounding = 10 * torch.finfo(twin.output.dtype).eps * float(twin.output.abs().max())
    torch.testing.assert_close(ours, twins, rtol=0, atol=bound * float(twins.abs().max()) + rounding, equal_nan=False)


def test_under_inference_mode_the_numbers_are_the_same() -> None:
    case = forms.vector()
    for method in ALL:
        plain = axioms.attribute(case.model, case.given, method=method).scores
        with torch.inference_mode():
            torch.testing.assert_close(axioms.attribute(case.model, case.given, method=method).scores, plain)


@pytest.mark.parametrize("architecture", ["bert", "llama"])
def test_leaving_out_the_only_token_takes_nothing(architecture: str) -> None:
    """A text that is removed altogether keeps its ends, which this token is."""
    given = {name: part[:, :1] for name, part in forms.TEXT.items()}
    found = axioms.attribute(tiny(architecture=architecture), given, method="loo")
    assert torch.equal(found.scores, torch.zeros(2, 1, dtype=torch.float64))
    assert bool(found.output.any())


@pytest.mark.parametrize("method", ["loo", "attnlrp"])
def test_torchs_fast_path_is_taken_where_no_rule_must_see_the_calls(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = Mock(wraps=torch._transformer_encoder_layer_fwd)
    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", layer)
    case = forms.encoder(False, f32)
    axioms.attribute(case.model, case.given, method=method)
    assert layer.called == (method == "loo")


@pytest.mark.parametrize("model", [lambda features: features, "model.pt", None])
def test_what_is_no_module_is_a_sentence(model: object) -> None:
    with pytest.raises(AxiomsError, match=r"a model must be a torch.nn.Module, not \w+; pass the module"):
        axioms.attribute(model, forms.FEATURES)  # type: ignore[arg-type]


def test_a_compiled_model_is_compiled_again_afterwards() -> None:
    calls: list[int] = []

    def backend(graph: torch.fx.GraphModule, example: object) -> Callable[..., object]:
        calls.append(1)
        return graph.forward

    model, features = torch.compile(forms.network(), backend=backend), forms.FEATURES
    axioms.attribute(model, features)  # type: ignore[arg-type]
    assert not calls
    model(features)
    assert calls


def test_backward_hooks_are_put_back() -> None:
    model, features = forms.network(), forms.FEATURES.clone().requires_grad_()
    called: list[str] = []
    model.first.register_full_backward_hook(lambda module, inward, outward: called.append("first"))
    axioms.attribute(model, forms.FEATURES, method="gradient_x_input")
    assert not called
    model(features).sum().backward()
    assert called == ["first"]


def table() -> str:
    rows = [f"| {name} | {form.happens} |" for name, form in FORMS.items()]
    return "\n".join(["| form | what happens |", "|---|---|", *rows])


def test_the_page_has_the_table() -> None:
    """Run `python -m tests.model.test_forms` to print it."""
    assert table() in PAGE.read_text(encoding="utf-8")


def test_every_refusal_says_so() -> None:
    for name, form in FORMS.items():
        assert bool(re.search("refuse", form.happens)) == bool(form.refused), name


if __name__ == "__main__":
    print(table())


def test_an_output_that_does_not_depend_on_the_features_is_said_to_be_constant() -> None:
    features = torch.ones(1, 2, requires_grad=True)
    weight = torch.ones(1, requires_grad=True)
    for output in (weight.sum(), torch.ones(())):
        with pytest.raises(InputError, match="^" + re.escape(CONSTANT)):
            gradient_of(output, features)
    assert gradient_of((features * 3).sum(), features).tolist() == [[3.0, 3.0]]
