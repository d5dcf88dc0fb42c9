"""What is ranked, correlated and removed: the candidates of each example, or chunks of them. Rows differ in length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axioms.core.lazy import np
from axioms.core.values import Numbers, Values

if TYPE_CHECKING:
    Flags = np.ndarray[Any, np.dtype[np.bool_]]
else:
    Flags = Any


@dataclass(frozen=True)
class Units:
    """Which unit each feature belongs to."""

    number: Numbers
    """examples x features: 0, 1, ... from the left; -1 where a feature is no candidate."""

    @property
    def counts(self) -> Numbers:
        """How many units each example has."""
        return self.number.max(axis=1) + 1

    @property
    def counted(self) -> Flags:
        """Which of the places in `sums` are units of the example: examples x units."""
        return np.arange(max(1, int(self.counts.max()))) < self.counts[:, None]

    def sums(self, scores: Values) -> Values:
        """Return the sum of each unit's features: examples x units, 0 where an example has no such unit."""
        candidate = self.number >= 0
        example = np.nonzero(candidate)[0]
        sums = np.zeros(self.counted.shape)
        np.add.at(sums, (example, self.number[candidate]), scores[candidate])
        return sums


def all_features(shape: tuple[int, int]) -> Units:
    """Return units that are single features."""
    return Units(np.broadcast_to(np.arange(shape[1], dtype=np.int64), shape))


def units_of(number: Any) -> Units:
    """Return units from the numbers that `Inputs.units` gives."""
    return Units(np.asarray(number, dtype=np.int64))
