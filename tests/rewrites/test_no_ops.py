"""No-ops: they change no number, stay in copies of the model, and keep what a model writes in place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.model.inputs import Inputs
from axioms.rewrites.apply import checked_rewrite
from axioms.rewrites.no_ops import _renew_by_identities, _review

NO_OPS = ("insert_views", "insert_identities")


class WritesInPlace(nn.Module):
    """Writes into a view of a buffer that it reads later, and in place into what it has computed."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.map = nn.Linear(3, 3).double()

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(len(x), 2, 3)
        state[:, 0].copy_(self.map(x))
        state.select(1, 1).add_(x)
        out = torch.relu(state.sum(1))
        out.mul_(2)
        out.masked_scatter_(torch.zeros_like(out, dtype=torch.bool), out)
        out.lerp_(out + 1, 0.5)
        return out


@pytest.mark.parametrize("name", NO_OPS)
def test_the_function_is_kept_to_the_last_bit(name: str) -> None:
    x = torch.rand(4, 3, dtype=torch.float64)
    model = WritesInPlace()
    rewritten, gap = checked_rewrite(name, {}, model, Inputs(x), 4)
    assert gap == 0
    assert type(model) is WritesInPlace
    assert torch.equal(copy.deepcopy(rewritten.module)(x), model(x))


@pytest.mark.parametrize("name", NO_OPS)
def test_calls_are_really_changed_also_in_a_copy(name: str) -> None:
    """A model that can tell: it counts what a mode outside sees."""
    from axioms.engine.mode import Handler, Mode

    class Counts(Handler):
        calls = 0

        def see(self, func, args, kwargs):  # type: ignore[no-untyped-def]
            self.calls += 1
            return func(*args, **kwargs)

    x = torch.rand(4, 3, dtype=torch.float64)
    plain, changed = Counts(), Counts()
    with Mode(plain):
        WritesInPlace()(x)
    rewritten, _ = checked_rewrite(name, {}, WritesInPlace(), Inputs(x), 4)
    module = copy.deepcopy(rewritten.module)
    with Mode(changed):
        module(x)
    assert changed.calls >= plain.calls + 3 * 3, "at least three operands are changed, by three calls each"


@pytest.mark.parametrize("name", NO_OPS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_dtype_stays_as_it_is(name: str, dtype: torch.dtype) -> None:
    x = torch.rand(4, 3, dtype=dtype)
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 2)).to(dtype)
    from axioms.rewrites.apply import apply_rewrite

    rewritten = apply_rewrite(name, {}, model, Inputs(x)).module
    assert torch.equal(rewritten(x), model(x))
    scores = [axioms.attribute(each, x, method="attnlrp").scores for each in (model, rewritten)]
    torch.testing.assert_close(*scores)


class Named(torch.overrides.TorchFunctionMode):
    """Notes the names of the calls that are made."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_an_identity_is_made_of_the_calls_that_it_says(shape: tuple[int, ...]) -> None:
    """x * 1, x / 1, x + 0, two casts and a concatenation of one: a rule that is wrong about any of them must tell."""
    x = torch.randn(shape)
    names: list[str] = []
    with Named(names):
        same = _renew_by_identities(x)
    calls = [name for name in names if name in ("mul", "div", "add", "sub", "to", "cat")]
    assert calls == ["mul", "div", "add", "to", "to", *(["cat"] if shape else [])]
    assert torch.equal(same, x)
    assert same.dtype == x.dtype


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_a_view_is_made_by_way_of_others(shape: tuple[int, ...]) -> None:
    """Dimensions that come and go, all of it by an index, and a transposition there and back."""
    x = torch.randn(shape)
    names: list[str] = []

    with Named(names):
        viewed = _review(x)
    assert {"unsqueeze", "squeeze", "__getitem__"} <= set(names)
    assert names.count("transpose") == 2
    assert torch.equal(viewed, x)
    assert viewed.data_ptr() == x.data_ptr()
    assert viewed is not x
