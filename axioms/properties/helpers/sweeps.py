"""A sweep over layers as tables: a measure under each setting, examples x layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from axioms.core.lazy import np
from axioms.core.sweeps import KINDS
from axioms.core.values import Values
from axioms.properties.helpers.views import Bench, SideView

if TYPE_CHECKING:
    from axioms.engine.attribution import Attribution, Swept


@dataclass(frozen=True)
class Tables:
    """One measure under every setting."""

    none: Values
    """Per example, with no layer bypassed."""
    every: Values
    """Per example, with every layer bypassed."""
    kinds: Mapping[str, Values]
    """By kind, examples x layers; of a kind that was not swept, no layers."""

    @property
    def total_gain(self) -> Values:
        """Per example: every layer bypassed minus none."""
        return self.every - self.none

    @property
    def single_gain(self) -> Values:
        """examples x layers: one layer bypassed minus none."""
        return self.kinds["single"] - self.none[:, None]

    @property
    def late_minus_early(self) -> Values:
        """Per example: the mean single-layer gain of the second half of the layers minus that of the first half."""
        half = self.single_gain.shape[1] // 2  # of an odd number, the middle layer is in neither half
        if half == 0:
            return np.full(len(self.none), np.nan)
        return self.single_gain[:, -half:].mean(axis=1) - self.single_gain[:, :half].mean(axis=1)


def tables(
    side: SideView, kinds: Sequence[str], measure: Callable[[SideView], Mapping[str, Values]]
) -> dict[str, Tables]:
    """Return every measure under every setting, which is measured as if it were the method under test."""
    from axioms.engine.handlers.sweep import NONE, settings

    swept = side.bench.sweep(kinds)
    measured = {setting: measure(view) for setting, view in _views(side, swept).items()}

    def table(name: str, kind: str) -> Values:
        columns = [measured[setting][name] for setting in settings(kind, swept.layers)] if kind in kinds else []
        return np.ma.stack(columns, axis=1) if columns else np.empty((len(measured[NONE][name]), 0))

    every = frozenset(swept.layers)
    return {
        name: Tables(measured[NONE][name], measured[every][name], {kind: table(name, kind) for kind in KINDS})
        for name in measured[NONE]
    }


def _views(side: SideView, swept: Swept) -> dict[frozenset[int], SideView]:
    """Return the side under each setting: with that setting's relevance in the place of the method's."""
    count = len(swept.attributions)
    return {
        setting: replace(side, bench=cast(Bench, _Setting(side.bench, attribution, number, count)))
        for number, (setting, attribution) in enumerate(swept.attributions.items())
    }


class _Setting:
    """A bench of one setting of a sweep; only the relevance and the progress differ from the bench of the method."""

    def __init__(self, bench: Bench, attribution: Attribution, number: int, count: int) -> None:
        self._bench, self._attribution = bench, attribution
        self._number, self._count = number, count

    def attribution(self) -> Attribution:
        return self._attribution

    def progress(self, done: int, total: int) -> None:
        self._bench.progress(self._number * total + done, self._count * total)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)
