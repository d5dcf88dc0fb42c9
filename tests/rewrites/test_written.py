"""Activations and attention written out: each by its own formula."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.engine.where import is_activation
from axioms.rewrites.written import written_attention, written_gelu, written_silu
from axioms.subjects.models.tiny import tiny


class Named(torch.overrides.TorchFunctionMode):
    """Notes the names of the functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def calls(model: nn.Module, *given: Tensor, **named: Tensor) -> list[str]:
    with Named() as seen, torch.no_grad():
        model(*given, **named)
    return seen.names


@pytest.mark.parametrize(("approximate", "function", "other"), [("none", "erf", "tanh"), ("tanh", "tanh", "erf")])
def test_each_gelu_is_written_by_its_own_formula(approximate: str, function: str, other: str) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 4), nn.GELU(approximate), nn.Linear(4, 2)).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    wanted = plain(x)
    rewritten = written_gelu(plain)
    torch.testing.assert_close(rewritten(x), wanted, rtol=1e-12, atol=1e-12)
    names = calls(rewritten, x)
    assert function in names
    assert other not in names
    assert "gelu" not in names


def test_an_eager_model_is_told_to_call_attention_which_is_then_written_out() -> None:
    model: Any = tiny(architecture="bert").double()
    model.set_attn_implementation("eager")
    ids = torch.tensor([[5, 9, 12, 30]])
    with torch.no_grad():
        wanted = model(input_ids=ids).logits
        rewritten = written_attention(model)
        torch.testing.assert_close(rewritten(input_ids=ids).logits, wanted, rtol=1e-9, atol=1e-9)
    names = calls(rewritten, input_ids=ids)
    assert "einsum" in names
    assert "softmax" in names


def test_what_is_written_out_is_no_activation_of_its_own() -> None:
    """Each call gets its own rule, as where the model itself makes it: the gate's is stopped."""

    class Inline(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            hidden = self[0](x)
            out: Tensor = self[2](hidden * torch.sigmoid(hidden))
            return out

    torch.manual_seed(0)
    parts = [nn.Linear(3, 4).double(), nn.SiLU(), nn.Linear(4, 2).double()]
    plain, inline, x = nn.Sequential(*parts), Inline(*parts), torch.randn(5, 3, dtype=torch.float64)
    assert is_activation(plain[1])
    written = written_silu(plain)
    assert not is_activation(written.get_submodule("1"))
    rules = [{"on": "gate", "rule": "stop"}]
    relevance = [axioms.attribute(model, x, method="lrp", rules=rules).scores for model in (written, inline)]
    torch.testing.assert_close(relevance[0], relevance[1], rtol=0, atol=1e-12)
