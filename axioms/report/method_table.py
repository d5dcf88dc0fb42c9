"""Which rule each method uses for which operation, from the methods themselves (Arras et al. 2025, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axioms.core.registry import METHODS
from axioms.engine.composite import Composite, RuleRef
from axioms.report.grid import Block, Cell, Grid

KINDS = {
    "linear": "linear map",
    "sum": "sum",
    "product": "product",
    "softmax": "softmax",
    "norm": "norm",
    "activation": "activation",
    "block": "attention block",
}
"""Kinds of operations, as a composite and as the table names them."""
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
    methods: Sequence[str],
    *,
    titles: Mapping[str, str] | None = None,
    paper: str = "",
) -> Grid | None:
    """Methods down, kinds of operations across; None where none of the methods is registered."""
    known = {each: METHODS.get(each).composite for each in methods if each in METHODS}
    composites = {each: make() if make else None for each, make in known.items()}
    kinds = [kind for kind in KINDS if any(each is not None and each.has(kind) for each in composites.values())]
    rows: list[list[Cell]] = [
        [(titles or {}).get(each, each), _passes(each), *(_rule(composite, kind) for kind in kinds)]
        for each, composite in composites.items()
    ]
    header = ["Method", "passes", *(KINDS[kind] for kind in kinds)]
    return Grid(name, title, caption, [], header, [Block("", rows, {})], note=NOTE, paper=paper) if rows else None


def every_method() -> Grid:
    """All registered methods that are made of rules."""
    made = [name for name in METHODS if METHODS.get(name).composite is not None]
    grid = method_table("methods", "Methods", "The rule that each method uses for each kind of operation.", made)
    assert grid is not None
    return grid


def _passes(name: str) -> str:
    passes = METHODS.get(name).passes
    return "varies" if passes is None else f"{passes:.2g}"


def _rule(composite: Composite | None, kind: str) -> str:
    """The rule that holds for the kind as such, not only in some modules or layers."""
    if composite is None or (kind == "block" and not composite.has(kind)):
        return NO_RULES
    found = composite.rule(kind, "", "")
    return PLAIN if found is None else _named(found)


def _named(rule: RuleRef) -> str:
    """`gamma 0.25`: the name, and those of its options that are not 0."""
    return " ".join([rule.name.replace("_", " "), *(f"{value:g}" for value in rule.options.values() if value)])
