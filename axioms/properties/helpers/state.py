"""What a method must not change: the model, its hooks and code, and the settings of the process."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from axioms.core.lazy import np

if TYPE_CHECKING:
    from torch import nn

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


@contextmanager
def watched(module: nn.Module, changed: set[tuple[str, str]]) -> Iterator[None]:
    """Add to `changed` whatever is not the same on exit."""
    before = state(module)
    yield
    after = state(module)
    changed |= {key for key in before.keys() | after.keys() if not _same(before.get(key), after.get(key))}


def state(module: nn.Module) -> State:
    """Return everything that a method has no business changing."""
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
        yield name, parameter.clone()
        yield f"{name}.grad", None if parameter.grad is None else parameter.grad.clone()
    for name, buffer in module.named_buffers():
        yield name, buffer.clone()


def _flags(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, parameter in module.named_parameters():
        yield f"{name}.requires_grad", parameter.requires_grad
    for name, part in module.named_modules():
        yield f"{name}.training", part.training
        yield f"{name}.attention", getattr(getattr(part, "config", None), "_attn_implementation", None)


def _hooks(module: nn.Module) -> Iterator[tuple[str, Any]]:
    from torch.nn.modules import module as shared

    # A hook's key is never given twice, so the keys alone tell whether hooks were exchanged.
    for name, part in module.named_modules():
        yield name, [tuple(getattr(part, kind)) for kind in HOOKS]
    for name, parameter in module.named_parameters():
        yield f"{name} (tensor)", [tuple(getattr(parameter, kind, None) or ()) for kind in TENSOR_HOOKS]
    for name, value in vars(shared).items():
        if name.startswith("_global_") and name.endswith("_hooks"):
            yield name, tuple(value)


def _code(module: nn.Module) -> Iterator[tuple[str, Any]]:
    from axioms.model.code import files_of

    for name, part in module.named_modules():
        yield name, (type(part).forward, vars(part).get("forward"))
    for file in files_of(module):
        for name, value in vars(file).items():
            if callable(value):
                yield f"{file.__name__}.{name}", value


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
