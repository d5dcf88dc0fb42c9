"""What an axiom sees: the sides of a subject, and a method's relevance on each, as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.units import Units, all_features, units_of

if TYPE_CHECKING:
    from axioms.engine.attribution import Attribution, Swept
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target
    from axioms.subjects.built import Side
    from axioms.subjects.data import Data


NOTHING = 1e-3
"""The share of the output under which scores count as zero in `gap_to`."""
GAP = "max_i |{a}_i - {b}_i| / max(max_i |{a}_i|, max_i |{b}_i|, |output| / 1000)"


@dataclass(frozen=True)
class SideView:
    """One side with the relevance of the method under test and of leave-one-out."""

    side: Side
    target: Target
    attribution: Callable[[], Attribution]
    reference: Callable[[], Attribution]
    rerun: Callable[[Model, Inputs, Target, int], Attribution]
    """The method under test on another model, other inputs and target, or with another batch size; never cached."""
    variant: Callable[[Mapping[str, Any]], Attribution]
    """The method under test with some of its options changed, on this side."""
    progress: Callable[[int, int], None]
    sweep: Callable[[Sequence[str]], Swept]
    """The method under test with the softmax bypassed in some layers, for every setting of these kinds."""
    data: Data | None = None
    """Where the inputs come from, for axioms that need more of it than the model does."""

    @cached_property
    def scores(self) -> Values:
        """examples x features"""
        return as_numpy(self.attribution().scores)

    def gap_to(self, scores: Values) -> Values:
        """How far other scores of the same input are from these, relative to the largest of both, per example.

        Where all are smaller than a thousandth of the output, that is what counts: behind a LayerNorm a gradient's sum
        over the width is nothing but rounding, and a gap between two such zeros is none.
        """
        output = np.abs(as_numpy(self.attribution().output)) * NOTHING
        largest = np.maximum(np.abs(self.scores), np.abs(scores)).max(axis=1)
        return divided(np.abs(self.scores - scores).max(axis=1), np.maximum(largest, output))

    @cached_property
    def loo(self) -> Values:
        """Leave-one-out on the same side: examples x features."""
        return as_numpy(self.reference().scores)

    def units(self, chunk: int | None = None) -> Units:
        """What is ranked and correlated: the candidates of each example, or chunks of them."""
        number = self.side.inputs.units(chunk)
        shape = (int(self.side.inputs.features.shape[0]), int(self.side.inputs.features.shape[1]))
        return all_features(shape) if number is None else units_of(number.cpu().numpy())

    @property
    def outputs(self) -> Values:
        """examples x outputs of the plain forward pass."""
        return as_numpy(self.side.outputs)


@dataclass(frozen=True)
class PairView:
    """Both sides of a pair."""

    left: SideView
    right: SideView
