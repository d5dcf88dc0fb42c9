"""A use inside another use starts from scratch, and leaves the outer one as it was."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

import axioms
from axioms.engine.handlers import ledger, tap
from axioms.engine.mode import Handler, Mode
from axioms.engine.nesting import from_scratch


class Theirs(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def ours(*_: Any) -> None: ...


ours.__module__ = "axioms.engine.where"


def test_modes_hooks_ledgers_and_taps_wait() -> None:
    module = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    module[0].register_forward_hook(ours)
    module[0].register_forward_hook(lambda *_: None)
    module[1].register_forward_pre_hook(ours)
    module[0].register_forward_hook(ours)
    before = [list(part._forward_hooks.items()) for part in module.modules()]
    pre = [list(part._forward_pre_hooks.items()) for part in module.modules()]
    outer, theirs = Mode(Handler()), Theirs()
    open_tap = tap.Tap("layer.1")
    with ledger.recording() as book, tap.tapping(open_tap), theirs, outer:
        with from_scratch(module):
            assert _get_current_function_mode_stack() == [theirs]
            assert ledger.ACTIVE.get() is None
            assert tap.ACTIVE.get() == ()
            assert [len(part._forward_hooks) for part in module.modules()] == [0, 1, 0]
            assert not module[1]._forward_pre_hooks
            added = module[1].register_forward_hook(lambda *_: None)
        assert _get_current_function_mode_stack() == [theirs, outer]
        assert ledger.ACTIVE.get() is book
        assert tap.ACTIVE.get() == (open_tap,)
        assert len(module[1]._forward_hooks) == 1  # what others added meanwhile stays
        added.remove()
    assert [list(part._forward_hooks.items()) for part in module.modules()] == before
    assert [list(part._forward_pre_hooks.items()) for part in module.modules()] == pre
    assert ledger.ACTIVE.get() is None
    assert tap.ACTIVE.get() == ()


def test_an_attribution_inside_a_forward_pass_keeps_no_book_of_the_outer_one() -> None:
    inner = nn.Linear(2, 1).double()

    class Curious(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2).double()
            self.found: list[Tensor] = []

        def forward(self, x: Tensor) -> Tensor:
            self.found.append(axioms.attribute(inner, x.detach(), method="attnlrp").scores)
            return self.first(x)

    x = torch.ones(1, 2, dtype=torch.float64)
    model = Curious()
    found = axioms.attribute(model, x, target=0, method="attnlrp", ledger=True)
    assert found.ledger is not None
    assert [entry.path for entry in found.ledger.entries] == ["first"]
    torch.testing.assert_close(model.found[0], x * inner.weight.detach())
    assert abs(found.ledger.unexplained) < 1e-12
