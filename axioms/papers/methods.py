"""Which rule each method uses for which operation, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from axioms.papers.grid import Block, Cell, Grid

if TYPE_CHECKING:
    from axioms.record import MethodRecord, RuleRecord

KINDS = {
    "linear": "linear map",
    "sum": "sum",
    "product": "product",
    "softmax": "softmax",
    "norm": "norm",
    "activation": "activation",
    "block": "attention block",
}
"""Kinds of operations, as a method's rules and as the table name them."""
PLAIN = "gradient"
NO_RULES = "-"
NOTE = (
    f"With options as they are by default. {PLAIN}: crossed by the operation's own gradient. stop: a constant, which "
    f"nothing crosses. {NO_RULES}: not made of rules, or of none for such an operation."
)


def method_table(
    name: str,
    title: str,
    caption: str,
    methods: Mapping[str, MethodRecord],
    *,
    names: Mapping[str, str] | None = None,
    paper: str = "",
) -> Grid | None:
    """Methods down, kinds of operations across; None where there are no methods. `names` are the paper's."""
    kinds = [kind for kind in KINDS if any(kind in (method.rules or {}) for method in methods.values())]
    rows: list[list[Cell]] = [
        [(names or {}).get(label, label), _passes(method), *(_rule(method, kind) for kind in kinds)]
        for label, method in methods.items()
    ]
    header = ["Method", "passes", *(KINDS[kind] for kind in kinds)]
    return Grid(name, title, caption, [], header, [Block("", rows, {})], note=NOTE, paper=paper) if rows else None


def _passes(method: MethodRecord) -> str:
    return "varies" if method.passes is None else f"{method.passes:.2g}"


def _rule(method: MethodRecord, kind: str) -> str:
    """The rule that holds for the kind as such, not only in some modules or layers."""
    if method.rules is None or (kind == "block" and kind not in method.rules):
        return NO_RULES
    rule = method.rules.get(kind)
    return PLAIN if rule is None else _named(rule)


def _named(rule: RuleRecord) -> str:
    """`gamma 0.25`: the name, and those of its options that are not 0."""
    return " ".join([rule.name.replace("_", " "), *(f"{value:g}" for value in rule.options.values() if value)])
