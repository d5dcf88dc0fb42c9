"""A use inside another use: an attribution that a model's own forward pass, or a hook on it, asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode, _push_mode

from axioms.engine.handlers import ledger, tap
from axioms.model.parts import parts_of

OURS = "axioms."
HOOKS = ("_forward_hooks", "_forward_pre_hooks")


@contextmanager
def from_scratch(module: nn.Module) -> Iterator[None]:
    """Suspend an outer use: its modes, its hooks on these modules, its ledger and its taps wait until the end.

    What others have put there stays. The caller holds the model's lock, so that an outer use is one of this thread.
    """
    modes = list(_get_current_function_mode_stack())
    parts = [part for _, part in parts_of(module).named]
    hooks = [(known, dict(known)) for part in parts for known in (getattr(part, name) for name in HOOKS)]
    book, taps = ledger.ACTIVE.set(None), tap.ACTIVE.set(())
    try:
        _replace_modes([mode for mode in modes if not _ours(type(mode))])
        for now, before in hooks:
            for key, hook in before.items():
                if _ours(hook):
                    del now[key]
        yield
    finally:
        for now, before in hooks:
            _put_back(now, before)
        _replace_modes(modes)
        tap.ACTIVE.reset(taps)
        ledger.ACTIVE.reset(book)


def _ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith(OURS)


def _replace_modes(modes: list[TorchFunctionMode]) -> None:
    for _ in _get_current_function_mode_stack():
        _pop_mode()
    for mode in modes:
        _push_mode(mode)


def _put_back(now: dict[int, Any], before: dict[int, Any]) -> None:
    """Put our hooks back in their old places; what others added or removed meanwhile stays so."""
    again = {key: hook for key, hook in before.items() if key in now or _ours(hook)} | now
    if list(again) != list(now):
        now.clear()
        now.update(again)
