"""The tables of a module: its weights, its parts and its hooks, and the function that it runs in its class's place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules import module as shared

from axioms.model.attributes import PutBack

TABLES = {"_parameters": "weights", "_buffers": "weights", "_modules": "modules"}
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
CAPTURING = "transformers.utils.output_capturing"


def tables_of(name: str, part: nn.Module) -> Iterator[tuple[str, PutBack]]:
    """Yield what puts back the weights and the parts of a module, by kind."""
    for table, kind in TABLES.items():
        yield kind, entries_of(name, getattr(part, table))


def hooks_of(name: str, part: nn.Module) -> Iterator[PutBack]:
    """Yield what puts back the hooks of a module."""
    for table in HOOKS:
        yield _hook_table(name, getattr(part, table))


def hooks_of_all() -> Iterator[PutBack]:
    """Yield what puts back the hooks that every module runs."""
    for table, hooks in vars(shared).items():
        if table.startswith("_global_") and table.endswith("_hooks"):
            yield _hook_table("of all modules", hooks)


def entries_of(name: str, table: dict[Any, Any]) -> PutBack:
    """Put back the entries of a table."""
    before = dict(table)

    def put_back() -> list[str]:
        if len(table) == len(before) and all(table.get(name) is value for name, value in before.items()):
            return []
        table.clear()
        table.update(before)
        return [name]

    return put_back


def _hook_table(name: str, table: dict[Any, Any]) -> PutBack:
    """Put back hooks, and name them but for those by which transformers keeps hidden states and attention.

    It leaves them on the model when these are first asked for, with a flag among the attributes of the model.
    """
    before, put_entries_back = dict(table), entries_of(name, table)

    def put_back() -> list[str]:
        others = [key for key, hook in table.items() if key in before or getattr(hook, "__module__", None) != CAPTURING]
        is_as_it_was = len(others) == len(before) and all(table.get(key) is hook for key, hook in before.items())
        changed = put_entries_back()
        return [] if is_as_it_was else changed

    return put_back


def own_forward_of(name: str, part: nn.Module) -> PutBack:
    """Put back the function that a module runs in the place of its class's, or that it has none."""
    before = vars(part).get("forward")

    def put_back() -> list[str]:
        if vars(part).get("forward") is before:
            return []
        vars(part).pop("forward", None)
        if before is not None:
            vars(part)["forward"] = before
        return [name]

    return put_back
