"""A sweep over layers as tables: examples x layers of whatever is measured under each setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from axioms.core.lazy import np
from axioms.core.sweeps import KINDS
from axioms.core.values import Values
from axioms.properties.views import SideView

if TYPE_CHECKING:
    from axioms.engine.attribution import Swept


@dataclass(frozen=True)
class Tables:
    """One measure under every setting."""

    none: Values
    """Per example, with no layer bypassed."""
    every: Values
    """Per example, with every layer bypassed."""
    kinds: Mapping[str, Values]
    """examples x layers; for a kind that was not swept, no layers"""

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
    """Every measure under every setting; each setting is measured once, as if it were the method under test."""
    from axioms.engine.sweep import NONE, settings

    swept = side.sweep(kinds)
    found = {setting: measure(view) for setting, view in _views(side, swept).items()}

    def tabled(name: str, kind: str) -> Values:
        columns = [found[setting][name] for setting in settings(kind, swept.layers)] if kind in kinds else []
        return np.ma.stack(columns, axis=1) if columns else np.empty((len(found[NONE][name]), 0))

    every = frozenset(swept.layers)
    return {
        name: Tables(found[NONE][name], found[every][name], {kind: tabled(name, kind) for kind in KINDS})
        for name in found[NONE]
    }


def _views(side: SideView, swept: Swept) -> dict[frozenset[int], SideView]:
    """The side with each setting's relevance in the place of the method's own."""

    def progress(number: int, done: int, total: int) -> None:
        side.progress(number * total + done, len(swept.attributions) * total)

    return {
        setting: replace(
            side,
            attribution=lambda attribution=attribution: attribution,  # type: ignore[misc]
            progress=lambda done, total, number=number: progress(number, done, total),  # type: ignore[misc]
        )
        for number, (setting, attribution) in enumerate(swept.attributions.items())
    }
