"""Composites of one's own with zennit's interface, `context(module)`: `zennit:mypkg.rules.MyComposite`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Method
from axioms.core.errors import UnknownName, did_you_mean
from axioms.core.imports import import_modules

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

Run = Callable[["Model", "Inputs", "Target", Any], "Tensor"]
"""Distributes the output by a composite."""


def composite_class(path: str, run: Run) -> Method:
    """Return the method that a composite at a dotted path is; the keywords that it is made with are the options."""
    module, _, name = path.rpartition(".")
    import_modules([module])
    members = vars(sys.modules[module])
    kind: Any = members.get(name)
    if not callable(getattr(kind, "context", None)):
        composites = [member for member, value in members.items() if hasattr(value, "context")]
        raise UnknownName(
            f"unknown method {f'zennit:{path}'!r}: {module!r} has no class {name!r} with a method `context`."
            f"{did_you_mean(name, composites)}"
        )

    def function(model: Model, inputs: Inputs, target: Target, **options: Any) -> Any:
        return run(model, inputs, target, kind(**options))

    function.__doc__ = inspect.getdoc(kind) or f"{name} of {module}."
    function.__qualname__, function.__module__ = f"zennit:{path}", module
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("model", "inputs", "target")]
    options = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(kind, eval_str=True).parameters.values()
        if parameter.annotation is not inspect.Parameter.empty
    ]
    function.__signature__ = inspect.Signature([*positional, *options])  # type: ignore[attr-defined]
    return Method(f"zennit:{path}", function, passes=None)
