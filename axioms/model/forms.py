"""Models in the forms people have them in: wrapped, compiled, with hooks, with weights that autograd cannot use."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from axioms.core.errors import InputError, ModelFailed

if TYPE_CHECKING:
    from axioms.model.parts import Parts

CONSTANT = """the model's output does not depend on the features in a way that can be differentiated: its forward pass \
detaches them, turns gradients off, leaves torch or uses a kernel without a gradient; let it not, or use a method that \
needs no gradient, such as loo."""
RECOMPUTED = """gradient checkpointing calls parts of the model anew in the backward pass, where no rule reaches them; \
turn it off, and other hooks on saved tensors, or use a method that is not made of rules, such as loo or \
gradient_x_input."""
BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")


class _Compiler:
    """Torch's compiler, which has one setting for all threads."""

    lock = Lock()
    users = 0
    """How many want compiled code to run as it is written now."""
    setting: Any = None
    """What puts the compiler back."""


def unwrapped(module: nn.Module) -> nn.Module:
    """Return the module inside of torch.compile, DataParallel and DistributedDataParallel, which computes the same.

    Modes and hooks are one thread's, and replicas of a module run in others; compiled code shows its calls to nobody.
    Raises for what is no module, or one whose calls cannot be seen.
    """
    if not isinstance(module, nn.Module):
        raise InputError(
            f"a model must be a torch.nn.Module, not {type(module).__name__}; pass the module that an exported program "
            "was made from, and call a function in the `forward` of a module."
        )
    if isinstance(module, torch.jit.ScriptModule) or _is_exported(module):
        made = "exported" if _is_exported(module) else "a TorchScript module"
        raise InputError(f"the model is {made}, whose calls cannot be seen; pass the module that it was made from.")
    while True:
        if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
            module = module.module
        elif type(module).__name__ == "OptimizedModule" and isinstance(module._modules.get("_orig_mod"), nn.Module):
            module = module.get_submodule("_orig_mod")
        else:
            return module


def _is_exported(module: nn.Module) -> bool:
    """Tell whether torch.export made a module: it keeps its mode by an `eval` of its own, which raises."""
    return isinstance(module, torch.fx.GraphModule) and "eval" in vars(module)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Run compiled modules and functions as they are written until the end of the block.

    It is put back by whoever leaves last.
    """
    if "torch._dynamo" not in sys.modules:  # nothing has been compiled yet
        yield
        return
    with _Compiler.lock:
        if _Compiler.users == 0:
            _Compiler.setting = torch.compiler.set_stance("force_eager")
        _Compiler.users += 1
    try:
        yield
    finally:
        with _Compiler.lock:
            _Compiler.users -= 1
            if _Compiler.users == 0:
                _Compiler.setting.__exit__(None, None, None)


@contextmanager
def without_backward_hooks(parts: Parts) -> Iterator[None]:
    """Let a user's backward hooks wait: what comes back is no gradient of theirs, and they would change it."""
    hooked = [
        (module, name, hooks)
        for _, module in parts.named
        for name in BACKWARD_HOOKS
        if (hooks := module.__dict__.get(name))
    ]
    try:
        for module, name, _ in hooked:
            module.__dict__[name] = OrderedDict()
        yield
    finally:
        for module, name, hooks in hooked:
            module.__dict__[name] = hooks


@contextmanager
def without_recomputation() -> Iterator[None]:
    """Refuse gradient checkpointing until the end of the block.

    What it computes again in the backward pass is computed without the modes of the forward pass, and takes the place
    of what those made.
    """
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks(RECOMPUTED):
            yield
    except (ModelFailed, RuntimeError) as error:
        if RECOMPUTED in f"{error} {error.__cause__}":
            raise InputError(RECOMPUTED) from error
        raise


def usable(value: Any) -> Any:
    """Return what autograd can use: a tensor that was made under torch.inference_mode() is copied."""
    return value.clone() if isinstance(value, Tensor) and value.is_inference() else value


def check_features(features: Tensor, attended: Tensor | None) -> None:
    """Raise for features (batch x features ...) that nothing can be attributed to; `attended` are no padding."""
    if features.dim() < 2 or 0 in features.shape:
        raise InputError(
            f"inputs must be batch x features with at least one example and one feature; got {tuple(features.shape)}."
        )
    if not features.is_floating_point():
        raise InputError(f"features must be floating-point numbers, not {features.dtype}.")
    if features.is_meta:
        return
    if not bool(torch.isfinite(features).all()):
        raise InputError("the features contain NaN or infinity.")
    if attended is not None and not bool(attended.any(dim=1).all()):
        example = int((~attended.any(dim=1)).nonzero()[0])
        raise InputError(f"the attention_mask of example {example} attends to no token; leave that example out.")


def check_weights(parts: Parts) -> None:
    """Raise for weights that autograd cannot use, and for attributes that would count as variables."""
    for path, module in parts.named:
        weights: Sequence[tuple[str, Tensor | None]] = (*module._parameters.items(), *module._buffers.items())
        for name, weight in weights:
            if weight is not None and weight.is_inference():
                raise InputError(
                    f"{_named(path, name)} was made under torch.inference_mode(), so that nothing can be "
                    "differentiated through it; build or load the model outside of it, or under torch.no_grad()."
                )
        for name, value in vars(module).items():
            if isinstance(value, Tensor) and value.requires_grad:
                raise InputError(
                    f"{_named(path, name)} is a tensor that requires a gradient and no parameter, and would be taken "
                    f"for something that depends on the input; assign {name}.detach(), or make it a parameter or a "
                    "buffer."
                )


def _named(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def gradient_of(output: Tensor, features: Tensor) -> Tensor:
    """Return the gradient of an output with respect to the features, or say why there is none."""
    try:
        gradient = torch.autograd.grad(output, features, allow_unused=True)[0] if output.requires_grad else None
    except RuntimeError as error:  # a checkpoint that is entered again, an operation that has no gradient
        raise InputError(f"the model cannot be differentiated: {' '.join(str(error).split())}") from error
    if gradient is None:
        raise InputError(CONSTANT)
    return gradient
