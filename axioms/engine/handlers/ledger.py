"""The ledger: where relevance went that did not reach the input.

"Why does it not sum to the logit?" For each operation it notes the relevance that arrived and what the operation kept
back: its bias, a constant added to it (a position), the stabilizer, the softmax, a norm. Every rule sends the gradient
g of its output on by a linear map, so what it keeps is sum_k c_k g_k with coefficients c in closed form
(closed_forms.py). Nothing is computed as a difference; what the closed forms do not explain is an entry of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from typing import Any

import torch
from torch import Tensor

from axioms.core.html import html_table
from axioms.engine.closed_forms import Absorbed, absorbed_by
from axioms.engine.composite import RuleRef, layer_number
from axioms.engine.operations import Operation

CATEGORIES = ("bias", "position", "epsilon", "softmax", "norm", "gradient")
"""Who keeps relevance. `gradient` is a product or an activation that relevance crosses by the plain gradient."""


@dataclass
class LedgerEntry:
    """One operation: the relevance that arrived at its output, and what was kept there."""

    path: str
    operation: str
    rule: str
    arrived: float = 0.0
    absorbed: dict[str, float] = field(default_factory=dict)

    @property
    def layer(self) -> int | None:
        """The number of the layer, 1-based; None outside the layers."""
        return layer_number(self.path)

    @property
    def passed(self) -> float:
        """The relevance that went on to the operation's inputs."""
        return self.arrived - sum(self.absorbed.values())


@dataclass
class Account:
    """All calls of one function in one layer: the relevance that came in, what was kept, and what went out."""

    layer: int | None
    """1-based; None outside the layers."""
    operation: str
    came_in: float = 0.0
    absorbed: dict[str, float] = field(default_factory=dict)

    @property
    def went_out(self) -> float:
        """The relevance that went on to the inputs of these calls."""
        return self.came_in - sum(self.absorbed.values())


@dataclass
class Ledger:
    """The entries of one forward and backward pass; sums are over the batch."""

    strict: bool = True
    """Whether an operation without a rule raises; else it is noted here."""
    entries: list[LedgerEntry] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    """Operations without a rule, which crossed by their plain gradient because the call was not strict."""
    output: float = 0.0
    features: float = 0.0

    def absorbed(self, category: str) -> float:
        """Return what this category absorbed in the whole model."""
        return sum(entry.absorbed.get(category, 0.0) for entry in self.entries)

    @property
    def unexplained(self) -> float:
        """The relevance that neither reached the features nor was absorbed by a closed form: about 0."""
        return self.output - self.features - sum(self.absorbed(category) for category in CATEGORIES)

    def accounts(self) -> list[Account]:
        """Return one account per layer and operation, from the first layer to the last, then those outside."""
        accounts: dict[tuple[int | None, str], Account] = {}
        for entry in self.entries:
            account = accounts.setdefault((entry.layer, entry.operation), Account(entry.layer, entry.operation))
            account.came_in += entry.arrived
            for category, share in entry.absorbed.items():
                account.absorbed[category] = account.absorbed.get(category, 0.0) + share
        return sorted(accounts.values(), key=lambda account: (account.layer is None, account.layer or 0))

    def watch(self, operation: Operation, value: Tensor, rule: RuleRef | None, path: str) -> None:
        """Note what the operation absorbs, once the backward pass brings its gradient."""
        if not value.requires_grad:
            return
        entry = LedgerEntry(path, operation.name, rule.name if rule else "gradient")
        coefficients = absorbed_by(operation, value, rule)
        self._listen(entry, value, coefficients)

    def watch_constants(self, name: str, value: Any, constants: Tensor, path: str) -> None:
        """Note what constants absorb that stand beside variables: a class token in a concatenation, a filled mask."""
        if isinstance(value, Tensor) and value.requires_grad and bool((constants != 0).any()):
            self._listen(LedgerEntry(path, name, "gradient"), value, {"position": constants})

    def _listen(self, entry: LedgerEntry, value: Tensor, coefficients: Absorbed) -> None:
        self.entries.append(entry)
        shown = value.detach()

        def note(gradient: Tensor) -> None:
            entry.arrived += _weighted(shown, gradient)
            for category, coefficient in coefficients.items():
                entry.absorbed[category] = entry.absorbed.get(category, 0.0) + _weighted(coefficient, gradient)

        value.register_hook(note)

    def table(self) -> str:
        """Return a table of what each category absorbed, layer by layer, with the sums."""
        lines = [f"{'layer':<10}" + "".join(f"{category:>12}" for category in CATEGORIES)]
        lines += [f"{row[0]:<10}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in self._rows()]
        return "\n".join([*lines, *self._closing()])

    def _repr_html_(self) -> str:
        """Return the same table for a notebook."""
        closing = "<br>".join(escape(line) for line in self._closing())
        rows = [[escape(cell) for cell in row] for row in self._rows()]
        return html_table(["layer", *CATEGORIES], rows, "what absorbed relevance") + f"<p>{closing}</p>"

    def _rows(self) -> list[list[str]]:
        """Return a row of cells for each layer, and one of the sums."""
        layers = sorted({entry.layer for entry in self.entries}, key=lambda layer: (layer is None, layer or 0))
        sums = [f"{self.absorbed(category):.4f}" for category in CATEGORIES]
        return [*(_row(self, layer) for layer in layers), ["all", *sums]]

    def _closing(self) -> list[str]:
        """Return the sentences below the table: the sum, and what had no rule."""
        summed = f"output {self.output:.6g} = features {self.features:.6g} + the above"
        return [
            f"{summed} + {self.unexplained:.2g} unexplained",
            *(f"no rule for {name}: crossed by its plain gradient" for name in dict.fromkeys(self.uncovered)),
        ]


def _row(ledger: Ledger, layer: int | None) -> list[str]:
    """Return what each category absorbed in a layer, as cells."""
    entries = [entry for entry in ledger.entries if entry.layer == layer]
    sums = (sum(entry.absorbed.get(category, 0.0) for entry in entries) for category in CATEGORIES)
    return ["outside" if layer is None else str(layer), *(f"{share:.4f}" for share in sums)]


def constant_output(output: float) -> LedgerEntry:
    """Return the entry of an output that is a constant, because every path was stopped: it absorbs all."""
    return LedgerEntry("", "output", "stop", output, {"position": output})


def _weighted(coefficient: Tensor, gradient: Tensor) -> float:
    """Return sum c g, where a gradient of 0 leaves nothing, also of an infinite c: a masked logit."""
    gradient, coefficient = torch.broadcast_tensors(gradient.double(), coefficient.double())
    return float(torch.where(gradient == 0, 0.0, coefficient * gradient).sum())


ACTIVE: ContextVar[Ledger | None] = ContextVar("axioms_ledger", default=None)


@contextmanager
def recording(*, strict: bool = True) -> Iterator[Ledger]:
    """Give a ledger that the engine fills while this is open; not strict, it takes note of what has no rule."""
    ledger = Ledger(strict)
    token = ACTIVE.set(ledger)
    try:
        yield ledger
    finally:
        ACTIVE.reset(token)
