"""The register of parsers: from a call of a torch function to the operation that it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from axioms.engine.operations import Operation

Args = tuple[Any, ...]
Kwargs = Mapping[str, Any]
Parser = Callable[[str, Callable[..., Any], Args, Kwargs], Operation | None]
"""The operation of a call with variables in it; None where the plain gradient is the rule."""

PARSERS: dict[str, Parser] = {}


def parser(*names: str) -> Callable[[Parser], Parser]:
    """Register a parser for these function names."""

    def register(function: Parser) -> Parser:
        PARSERS.update(dict.fromkeys(names, function))
        return function

    return register


def is_variable(value: Any) -> bool:
    """Whether it depends on the input."""
    return isinstance(value, Tensor) and value.requires_grad


def argument(args: Args, kwargs: Kwargs, place: int, name: str, default: Any = None) -> Any:
    """A positional-or-keyword argument."""
    return args[place] if len(args) > place else kwargs.get(name, default)
