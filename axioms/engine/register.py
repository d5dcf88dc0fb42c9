"""Torch functions that the engine does not know, named from code of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def register_operation(
    function: Callable[..., Any] | str, *, kind: str | None = None, written_as: Callable[..., Any] | None = None
) -> None:
    """Tell the engine what a torch function is, so that models which call it can be attributed.

    Give either its `kind` or what it is made of. Kinds: `activation` (a function of each entry with g(0) = 0), `gate`
    (one with g(0) != 0, which needs an entry in the composite), `normalizer` (a deviation or a norm, by which something
    is divided), `sum` (a sum over entries), `same` (changes no number), `move` (moves or copies entries), `join` (puts
    variables beside others) and `query` (nothing of a variable comes out). `written_as` computes the same by calls that
    are known, each of which then gets its rule:

        axioms.register_operation(torch.erfc, kind="gate")
        axioms.register_operation(torch.addcdiv, written_as=lambda x, a, b, *, value=1: x + value * (a / b))
    """
    from axioms.engine.calls import register

    register(function, kind, written_as)
