"""The engine: sees every torch function of the forward pass and applies the composite's rule to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from axioms.errors import UncoveredOperation
from axioms.propagate.composite import Composite
from axioms.propagate.operations import PASSIVE, UNKNOWN, Operation, classify, variables
from axioms.propagate.rules import RULES
from axioms.subjects.inputs import Inputs
from axioms.subjects.model import Model
from axioms.subjects.targets import Target


class Propagation(TorchFunctionMode):
    """While active, each call gets the rule of its kind; what mixes variables and has none raises."""

    def __init__(self, composite: Composite, path: list[str]) -> None:
        super().__init__()
        self.composite = composite
        self.path = path

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        operands = sum(1 for _ in variables((*args, *kwargs.values())))
        kind = classify(name, operands, kwargs, args)
        if kind == PASSIVE:
            return func(*args, **kwargs)
        if kind == UNKNOWN:
            raise UncoveredOperation(
                f"no rule covers {name!r} in {self.path[-1] or 'the model'!r}. Relevance would cross it by the plain "
                "gradient, which is no rule; see axioms/propagate/operations.py to say what kind of operation it is."
            )
        rule = self.composite.rule(kind)
        if rule is None:
            return func(*args, **kwargs)
        return RULES[rule.name](Operation(kind, name, func, args, kwargs), **rule.options)


def propagate(model: Model, inputs: Inputs, target: Target, composite: Composite) -> Tensor:
    """Relevance of every feature: Gradient x Input on the graph that the composite's rules make."""
    features = inputs.features.detach().requires_grad_()
    with _path_of(model.module) as path, Propagation(composite, path):
        outputs = model(inputs.with_features(features))
    if not outputs.requires_grad:  # every path was stopped
        return torch.zeros_like(inputs.features)
    (gradient,) = torch.autograd.grad(target(outputs).sum(), features)
    return features.detach() * gradient


@contextmanager
def _path_of(module: nn.Module) -> Iterator[list[str]]:
    """A list whose last entry is the path of the module that is being called."""
    path = [""]
    handles = []
    for name, child in module.named_modules():

        def enter(child: nn.Module, args: Any, name: str = name) -> None:
            path.append(name)

        def leave(child: nn.Module, args: Any, output: Any) -> None:
            path.pop()

        handles += [child.register_forward_pre_hook(enter), child.register_forward_hook(leave, always_call=True)]
    try:
        yield path
    finally:
        for handle in handles:
            handle.remove()
