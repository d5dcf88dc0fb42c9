"""A composite: which rule each kind of operation gets. A propagation method is a composite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RuleRef:
    """A rule by name with its options."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Composite:
    """Rules by kind of operation. A kind without a rule keeps its plain gradient."""

    rules: Mapping[str, RuleRef]

    def rule(self, kind: str) -> RuleRef | None:
        """The rule for an operation of this kind."""
        return self.rules.get(kind)
