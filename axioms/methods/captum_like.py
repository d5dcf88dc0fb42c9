"""Classes of one's own with captum's interface, `attribute(inputs, target=...)`: `captum:mypkg.rules.MyMethod`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Method
from axioms.core.errors import MethodFailed, UnknownName, did_you_mean, said
from axioms.core.imports import import_modules

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


def class_method(path: str) -> Method:
    """Return the method that a class at a dotted path is; the keywords of its `attribute` are the options."""
    import sys

    module, _, name = path.rpartition(".")
    unknown = f"unknown method {f'captum:{path}'!r}:"
    import_modules([module])
    members = vars(sys.modules[module])
    kind = members.get(name)
    if not inspect.isclass(kind) or not callable(getattr(kind, "attribute", None)):
        classes = [member for member, value in members.items() if hasattr(value, "attribute")]
        raise UnknownName(
            f"{unknown} {module!r} has no class {name!r} with a method `attribute`.{did_you_mean(name, classes)}"
        )

    made_of: Any = kind

    def function(model: Model, inputs: Inputs, target: Target, **options: Any) -> Any:
        features = inputs.features.clone().requires_grad_()
        try:
            scores = made_of(_as_module(model, inputs, target)).attribute(features, target=0, **options)
        except Exception as error:
            raise MethodFailed(f"method {f'captum:{path}'!r} raised {said(error)}; mend it there.") from error
        return scores[0] if isinstance(scores, tuple) else scores

    function.__doc__ = inspect.getdoc(kind) or f"{name} of {module}."
    function.__qualname__, function.__module__ = f"captum:{path}", module
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("model", "inputs", "target")]
    known = inspect.signature(made_of.attribute, eval_str=True).parameters.values()
    options = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in known
        if parameter.name not in ("self", "inputs", "target") and parameter.default is not inspect.Parameter.empty
    ]
    function.__signature__ = inspect.Signature([*positional, *options])  # type: ignore[attr-defined]
    return Method(f"captum:{path}", function, passes=None)


def _as_module(model: Model, inputs: Inputs, target: Target) -> nn.Module:
    """Return a module from features to the number that is explained, as its only output: target 0 is meant."""
    import torch

    class Explained(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.module

        def forward(self, features: Tensor) -> Tensor:
            # Rows beyond the batch are the batch again, as captum expands it.
            example = torch.arange(len(features), device=features.device) % len(inputs)
            rows = inputs.select(example).with_features(features)
            return target.select(example)(model(rows)).unsqueeze(1)

    return Explained()
