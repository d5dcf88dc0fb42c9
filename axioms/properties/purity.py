"""Asking for an attribution must change nothing: before = after, and asking twice gives the same answer."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axioms.core.lazy import np
from axioms.core.registry import Metric, axiom
from axioms.core.values import Values, as_numpy, relative_gap
from axioms.properties.views import SideView

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.module import Model

GROUPS = {
    "weights": "parameters and buffers with another value or gradient; 1 more where the model's outputs have moved",
    "flags": "requires_grad, training and attention implementation that are not what they were",
    "hooks": "modules and parameters with other hooks, global ones included",
    "code": "functions that were replaced: a module's forward, or a name in the file that defines its class",
    "globals": "torch's modes and settings, and the states of the random number generators",
}
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")
SETTINGS = """is_grad_enabled is_inference_mode_enabled is_anomaly_enabled get_default_dtype is_autocast_enabled
    are_deterministic_algorithms_enabled is_warn_always_enabled""".split()

State = dict[tuple[str, str], Any]
"""What may not change, by group and name."""


@axiom(
    "purity",
    metrics={
        "changes": Metric("number of things that are not as they were; the same for every example"),
        **{group: Metric(about) for group, about in GROUPS.items()},
        "relative_gap": Metric("max_i |first_i - second_i| / max_i max(|first_i|, |second_i|)", rounding=True),
    },
    expect={f"{name}.max": {"le": 0} for name in ("changes", *GROUPS)} | {"relative_gap.max": {"le": 1e-9}},
)
def purity(side: SideView) -> dict[str, Values]:
    """What running the method changes, and how far its scores are from those of the run before.

    State it first in a spec: what only a method's first run changes is seen here only if no other check ran it before.
    """
    one = side.side
    outputs = one.outputs  # those of the untouched model, and whatever a first forward pass loads is loaded
    changed: set[tuple[str, str]] = set()
    with watched(one.model.module, changed):
        first = side.scores
        # Seen also from inside, because being at rest ends by restoring what a method may have left.
        with one.model.at_rest(), watched(one.model.module, changed):
            second = side.rerun(_left_alone(one.model), one.inputs, side.target, one.batch_size)
    if not _close(replace(one).outputs, outputs):
        changed.add(("weights", "outputs"))
    counts = {group: sum(each == group for each, _ in changed) for group in GROUPS}
    return {
        **{name: np.full(len(first), float(count)) for name, count in {"changes": len(changed), **counts}.items()},
        "relative_gap": relative_gap(first, as_numpy(second.scores)),
    }


@contextmanager
def watched(module: nn.Module, changed: set[tuple[str, str]]) -> Iterator[None]:
    """Adds to `changed` whatever is not the same on exit."""
    before = state(module)
    yield
    after = state(module)
    changed |= {key for key in before.keys() | after.keys() if not _same(before.get(key), after.get(key))}


def state(module: nn.Module) -> State:
    """Everything that a method has no business changing."""
    groups: Mapping[str, Mapping[str, Any]] = {
        "weights": dict(_weights(module)),
        "flags": dict(_flags(module)),
        "hooks": dict(_hooks(module)),
        "code": dict(_code(module)),
        "globals": dict(_globals()),
    }
    return {(group, name): value for group, values in groups.items() for name, value in values.items()}


def _weights(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, parameter in module.named_parameters():
        yield name, parameter.detach().clone()
        yield f"{name}.grad", None if parameter.grad is None else parameter.grad.detach().clone()
    for name, buffer in module.named_buffers():
        yield name, buffer.detach().clone()


def _flags(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, parameter in module.named_parameters():
        yield f"{name}.requires_grad", parameter.requires_grad
    for name, each in module.named_modules():
        yield f"{name}.training", each.training
        yield f"{name}.attention", getattr(getattr(each, "config", None), "_attn_implementation", None)


def _hooks(module: nn.Module) -> Iterator[tuple[str, Any]]:
    from torch.nn.modules import module as shared

    # A hook's key is never given twice, so the keys alone tell whether hooks were exchanged.
    for name, each in module.named_modules():
        yield name, [tuple(getattr(each, kind)) for kind in HOOKS]
    for name, parameter in module.named_parameters():
        yield f"{name} (tensor)", [tuple(getattr(parameter, kind, None) or ()) for kind in TENSOR_HOOKS]
    for name, value in vars(shared).items():
        if name.startswith("_global_") and name.endswith("_hooks"):
            yield name, tuple(value)


def _code(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, each in module.named_modules():
        yield name, (type(each).forward, vars(each).get("forward"))
    for file in {type(each).__module__ for each in module.modules()} | {"torch.nn.functional"}:
        for name, value in vars(sys.modules[file]).items():
            if callable(value):
                yield f"{file}.{name}", value


def _globals() -> Iterator[tuple[str, Any]]:
    import torch
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    yield "function modes", tuple(map(id, _get_current_function_mode_stack()))
    yield "dispatch modes", tuple(map(id, _get_current_dispatch_mode_stack()))
    for name in SETTINGS:
        yield name, getattr(torch, name)()
    yield "random of torch", torch.get_rng_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for number, values in enumerate(torch.cuda.get_rng_state_all()):
            yield f"random of cuda:{number}", values
    yield "random of python", random.getstate()
    yield "random of numpy", pickle.dumps(np.random.get_state(legacy=False))


def _same(before: Any, after: Any) -> bool:
    import torch

    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        if (before.dtype, before.shape, before.device) != (after.dtype, after.shape, after.device):
            return False
        return bool(((before == after) | ((before != before) & (after != after))).all())
    return type(before) is type(after) and bool(before == after)


def _left_alone(model: Model) -> Model:
    """The same model, which does not put itself at rest: somebody has, and wants to see what becomes of it."""
    from axioms.model.module import Model

    class LeftAlone(Model):
        at_rest = nullcontext  # type: ignore[assignment]

    return LeftAlone(model.module)


def _close(now: Tensor, before: Tensor) -> bool:
    """Equal up to the rounding of one forward pass."""
    import torch

    return torch.allclose(now, before, rtol=1e-6, atol=0, equal_nan=True)
