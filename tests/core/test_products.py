"""Linear maps by oneDNN: the numbers of torch's own, both ways, and only where nothing else is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import axioms
from axioms.core import products
from axioms.core.products import FastProducts, fast_products
from tests.model.forms import checkpointed_alike

ROWS, WIDTH, OUT = 48, 256, 512
HERE = pytest.mark.skipif(
    not products._is_faster_here(),
    reason="oneDNN is not known to be faster here, so that torch's own products are used",
)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


WEIGHT, BIAS = drawn(OUT, WIDTH, seed=1), drawn(OUT, seed=2)
INPUTS: dict[str, Callable[[], Tensor]] = {
    "rows": lambda: drawn(ROWS, WIDTH),
    "batch x tokens": lambda: drawn(4, ROWS // 4, WIDTH),
    "transposed": lambda: drawn(ROWS // 4, 4, WIDTH).transpose(0, 1),
    "columns first": lambda: drawn(WIDTH, ROWS).t(),
    "every second": lambda: drawn(ROWS, 2 * WIDTH)[:, ::2],
    "expanded": lambda: drawn(1, WIDTH).expand(ROWS, WIDTH),
    "four dimensions": lambda: drawn(2, 2, ROWS // 4, WIDTH),
}


WEIGHTS: dict[str, Callable[[], Tensor]] = {
    "rows first": lambda: WEIGHT,
    "columns first": lambda: drawn(WIDTH, OUT).t(),
    "every second": lambda: drawn(OUT, 2 * WIDTH)[:, ::2],
    "expanded": lambda: drawn(1, WIDTH).expand(OUT, WIDTH),
}
BIASES: dict[str, Callable[[], Tensor]] = {
    "whole": lambda: BIAS,
    "every second": lambda: drawn(2 * OUT)[::2],
    "a column": lambda: drawn(OUT, 3)[:, 1],
    "expanded": lambda: drawn(1).expand(OUT),
    "a part": lambda: drawn(2 * OUT)[OUT:],
}


class Counting(TorchFunctionMode):
    """Counts the calls that reach torch's own linear maps."""

    calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += func in (F.linear, torch.addmm)
        return func(*args, **(kwargs or {}))


def calls_left(compute: Callable[[], object]) -> int:
    """Return how many linear maps the mode leaves to torch."""
    with Counting() as counting, FastProducts():
        compute()
    return counting.calls


def near(value: Tensor, wanted: Tensor) -> bool:
    return bool((value.double() - wanted).abs().max() <= 1e-5 * wanted.abs().max())


@HERE
@pytest.mark.parametrize("layout", INPUTS)
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no bias"])
def test_values_and_gradients_are_those_of_float64(layout: str, biased: bool) -> None:
    x, bias = INPUTS[layout](), BIAS if biased else None
    wide = x.double().requires_grad_()
    wanted = F.linear(wide, WEIGHT.double(), None if bias is None else bias.double())
    x.requires_grad_()
    with Counting() as counting, FastProducts():
        value = F.linear(x, WEIGHT, bias)
    assert counting.calls == 0
    assert near(value, wanted)
    assert value.shape == wanted.shape
    for pulled in (torch.ones_like(value), torch.ones(()).expand_as(value), drawn(*value.shape, seed=3)):
        (gradient,) = torch.autograd.grad(value, x, pulled, retain_graph=True)
        (expected,) = torch.autograd.grad(wanted, wide, pulled.double(), retain_graph=True)
        assert near(gradient, expected)


@HERE
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weight", WEIGHTS)
def test_whatever_the_layout_of_weight_and_bias(weight: str, bias: str) -> None:
    x, w, b = drawn(ROWS, WIDTH), WEIGHTS[weight](), BIASES[bias]()
    wide = x.double().requires_grad_()
    wanted = F.linear(wide, w.double(), b.double())
    with Counting() as counting, FastProducts():
        value = F.linear(x.requires_grad_(), w, b)
        without_graph = F.linear(x.detach(), w, b)
    assert counting.calls == 0
    assert near(value, wanted)
    assert near(without_graph, wanted)
    pulled = drawn(ROWS, OUT, seed=3)
    expected = torch.autograd.grad(wanted, wide, pulled.double())[0]
    assert near(torch.autograd.grad(value, x, pulled)[0], expected)


@HERE
def test_the_layout_of_gpt2_is_the_same_product() -> None:
    x = drawn(ROWS, WIDTH)
    with Counting() as counting, FastProducts():
        value = torch.addmm(BIAS, x, WEIGHT.t().contiguous())
    assert counting.calls == 0
    assert near(value, F.linear(x.double(), WEIGHT.double(), BIAS.double()))


@HERE
def test_gradients_of_gradients_are_those_of_float64() -> None:
    def curvature(x: Tensor, weight: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(F.linear(x, weight).pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(gradient.pow(2).sum(), x)[0]

    wanted = curvature(drawn(ROWS, WIDTH).double().requires_grad_(), WEIGHT.double())
    with FastProducts():
        assert near(curvature(drawn(ROWS, WIDTH).requires_grad_(), WEIGHT), wanted)


@HERE
def test_what_comes_out_may_be_changed_in_place() -> None:
    x = drawn(4, ROWS // 4, WIDTH).requires_grad_()
    with FastProducts():
        value = F.linear(x, WEIGHT)
        value *= 2
    assert near(torch.autograd.grad(value.sum(), x)[0], 2 * WEIGHT.double().sum(0).expand(x.shape))


@HERE
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
def test_what_comes_out_without_a_graph_may_be_changed_in_place(bias: Tensor | None) -> None:
    x, more = drawn(4, ROWS // 4, WIDTH), drawn(4, ROWS // 4, OUT).requires_grad_()
    with FastProducts():
        with torch.no_grad():
            value = F.linear(x, WEIGHT, bias)
        value += more
    assert torch.autograd.grad(value.sum(), more)[0].eq(1).all()


@HERE
def test_a_weight_that_changes_before_the_backward_pass_is_torchs_error() -> None:
    x, weight = drawn(ROWS, WIDTH).requires_grad_(), WEIGHT.clone()
    with FastProducts():
        value = F.linear(x, weight)
    weight.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(value.sum(), x)


@HERE
def test_a_batch_of_gradients_is_that_of_each() -> None:
    x, pulled = drawn(ROWS, WIDTH).requires_grad_(), drawn(3, ROWS, OUT, seed=3)
    with FastProducts():
        value = F.linear(x, WEIGHT, BIAS)
    (gradients,) = torch.autograd.grad(value, x, pulled, is_grads_batched=True)
    assert near(gradients, pulled.double() @ WEIGHT.double())


@HERE
def test_where_no_gradient_arrives_none_is_computed() -> None:
    x = drawn(ROWS, WIDTH).requires_grad_()
    with FastProducts():
        value = F.linear(x, WEIGHT)
    assert torch.autograd.grad((x * 2).sum() + 0 * value.detach().sum(), x)[0].eq(2).all()


class Own(Tensor):
    """A tensor of somebody's own kind."""


class Watching(TorchDispatchMode):
    """Sees the calls below torch's functions, as counters of operations do."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def refused(compute: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match="must be a matrix"):
        compute()


def under(context: Any) -> object:
    with context:
        return F.linear(drawn(ROWS, WIDTH), WEIGHT, BIAS)


LEFT_TO_TORCH: dict[str, Callable[[], object]] = {
    "float64": lambda: F.linear(drawn(ROWS, WIDTH).double(), WEIGHT.double()),
    "bfloat16": lambda: F.linear(drawn(ROWS, WIDTH).bfloat16(), WEIGHT.bfloat16()),
    "too small to be worth it": lambda: F.linear(drawn(2, WIDTH), WEIGHT),
    "no row": lambda: F.linear(drawn(0, WIDTH), WEIGHT),
    "a vector": lambda: F.linear(drawn(1 << 16), drawn(64, 1 << 16)),
    "a bias that is no vector": lambda: torch.addmm(drawn(1, OUT), drawn(ROWS, WIDTH), WEIGHT.t()),
    "weights to be trained": lambda: F.linear(drawn(ROWS, WIDTH), WEIGHT.clone().requires_grad_()),
    "a bias to be trained": lambda: F.linear(drawn(ROWS, WIDTH), WEIGHT, BIAS.clone().requires_grad_()),
    "a batch in a layout of GPT-2": lambda: refused(lambda: torch.addmm(BIAS, drawn(2, ROWS, WIDTH), WEIGHT.t())),
    "hooks on what is saved": lambda: under(torch.autograd.graph.save_on_cpu()),
    "a tensor of one's own": lambda: F.linear(drawn(ROWS, WIDTH).as_subclass(Own), WEIGHT),
    "no device": lambda: F.linear(drawn(ROWS, WIDTH).to("meta"), WEIGHT.to("meta")),
    "a counter of operations": lambda: under(Watching()),
    "autocast": lambda: under(torch.autocast("cpu", dtype=torch.bfloat16)),
    "forward differentiation": lambda: under(torch.autograd.forward_ad.dual_level()),
    "torch's own switch": lambda: under(torch.backends.mkldnn.flags(enabled=False)),
    "vmap": lambda: torch.vmap(lambda x: F.linear(x, WEIGHT))(drawn(2, ROWS, WIDTH)),
}


@HERE
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("case", LEFT_TO_TORCH)
def test_what_is_left_to_torch(case: str) -> None:
    assert calls_left(LEFT_TO_TORCH[case]) == 1


@HERE
def test_a_wrong_shape_is_torchs_error() -> None:
    with FastProducts(), pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        F.linear(drawn(ROWS, 2 * WIDTH), WEIGHT)


def test_small_models_and_others_are_not_watched() -> None:
    for weights in ([], [drawn(8, 8)], [WEIGHT.double()], [BIAS], [drawn(1 << 17)]):
        with fast_products(weights):
            assert not active()


@HERE
def test_one_mode_is_enough() -> None:
    with fast_products([WEIGHT]), fast_products([WEIGHT]):
        assert active() == 1
    assert active() == 0


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (torch.backends.cpu, "get_cpu_capability", lambda: "AVX2"),
        (products, "_is_made_by_amd", lambda: False),
        (products, "HOOKS_ON_SAVED", None),
    ],
    ids=["narrow", "another maker", "torch before 2.8"],
)
def test_other_processors_are_left_alone(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, value: Any) -> None:
    monkeypatch.setattr(where, name, value)
    with fast_products([WEIGHT]):
        assert active() == 0


def active() -> int:
    modes = torch.overrides._get_current_function_mode_stack()
    return sum(isinstance(mode, FastProducts) for mode in modes)


@HERE
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("method", ["loo", "gradient_x_input", "attnlrp", "cp_lrp", "lrp_epsilon", "removal_taylor"])
@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_attributions_are_as_near_to_float64_as_with_torchs_own(method: str, kind: str) -> None:
    model, inputs = wide_model(kind), texts()
    ours = axioms.attribute(model, inputs, method=method).scores
    with torch.backends.mkldnn.flags(enabled=False):
        plain = axioms.attribute(model, inputs, method=method).scores
    exact = axioms.attribute(model.double(), inputs, method=method).scores
    assert not torch.equal(ours, plain)  # they are other products
    assert (ours - exact).abs().max() <= 4 * (plain - exact).abs().max()


@HERE
@pytest.mark.parametrize("method", ["loo", "gradient_x_input", "integrated_gradients"])
def test_checkpoints_have_the_numbers_of_float64(method: str) -> None:
    """They compute a second time in the backward pass, where no mode is active."""
    case = checkpointed_alike(WIDTH, torch.float32)
    ours = axioms.attribute(case.model, case.given, method=method).scores
    exact = axioms.attribute(case.twin, case.plain, method=method).scores
    assert (ours - exact).abs().max() <= 1e-5 * exact.abs().max()


def texts() -> dict[str, Tensor]:
    ids = torch.randint(50, (4, 24), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def wide_model(kind: str) -> torch.nn.Module:
    """Return a model of two layers whose linear maps are wide enough."""
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
    )

    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": 50, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    if kind == "bert":
        return BertForSequenceClassification(BertConfig(**shape, intermediate_size=512)).eval()
    if kind == "llama":
        return LlamaForCausalLM(LlamaConfig(**shape, intermediate_size=512)).eval()
    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=256, n_layer=2, n_head=4)).eval()
