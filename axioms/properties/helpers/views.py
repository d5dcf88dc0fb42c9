"""What an axiom sees: the sides of a subject, and the relevance of the method under test on each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.units import Units, all_features, units_of

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.attribution import Attribution, Swept
    from axioms.engine.handlers.tap import Tap
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target
    from axioms.subjects.built import Side
    from axioms.subjects.data import Data

Value = TypeVar("Value")

NOTHING = 1e-3
"""The share of the output under which scores count as zero in `gap_to`."""
GAP = "max_i |{a}_i - {b}_i| / max(max_i |{a}_i|, max_i |{b}_i|, |output| / 1000)"


class Bench(Protocol):
    """What computes for an axiom: the method under test, on one side of a subject."""

    def attribution(self) -> Attribution:
        """Return the relevance of the method under test, computed once for all axioms."""

    def reference(self) -> Attribution:
        """Return the relevance of leave-one-out, computed once for all axioms and methods."""

    def rerun(self, model: Model, inputs: Inputs, target: Target, batch_size: int) -> Attribution:
        """Run the method under test on any model and inputs; the answer is never remembered."""

    def estimate(self, tap: Tap, patch: Tensor) -> Tensor:
        """Return what the method under test says that a patch would take, after a run of it with the tap open."""

    def variant(self, options: Mapping[str, Any]) -> Attribution:
        """Return the relevance of the method under test with some of its options changed."""

    def sweep(self, kinds: Sequence[str]) -> Swept:
        """Return the relevance with the softmax bypassed in some layers, for every setting of these kinds."""

    def remember(self, what: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what `compute` gave for this side when it was first asked, by any axiom and for any method."""

    def progress(self, done: int, total: int) -> None:
        """Report how much of the measuring is done."""


@dataclass(frozen=True)
class SideView:
    """One side of a subject, with the relevance of the method under test and of leave-one-out."""

    side: Side
    target: Target
    """In the order of this side's examples."""
    bench: Bench
    data: Data | None = None
    """Where the inputs come from, for axioms that need more of it than the model does."""

    @property
    def model(self) -> Model:
        """The model of this side."""
        return self.side.model

    @property
    def inputs(self) -> Inputs:
        """What the model is given."""
        return self.side.inputs

    @property
    def batch_size(self) -> int:
        """How many examples the model is given at a time."""
        return self.side.batch_size

    @cached_property
    def scores(self) -> Values:
        """The relevance of the method under test: examples x features."""
        return as_numpy(self.bench.attribution().scores)

    @cached_property
    def loo(self) -> Values:
        """The relevance of leave-one-out: examples x features."""
        return as_numpy(self.bench.reference().scores)

    @property
    def outputs(self) -> Values:
        """All outputs of the plain forward pass: examples x outputs."""
        return as_numpy(self.side.outputs)

    def rerun(self, model: Model | None = None, inputs: Inputs | None = None, batch_size: int | None = None) -> Values:
        """Run the method again, on another model, other inputs or with another batch size; return its scores."""
        again = self.bench.rerun(
            model or self.model, self.inputs if inputs is None else inputs, self.target, batch_size or self.batch_size
        )
        return as_numpy(again.scores)

    def gap_to(self, scores: Values) -> Values:
        """Return, per example, how far other scores are from these, relative to the largest of both.

        Where all are smaller than a thousandth of the output, that is what counts: behind a LayerNorm a gradient's sum
        over the width is nothing but rounding, and a gap between two such zeros is none.
        """
        output = np.abs(as_numpy(self.bench.attribution().output)) * NOTHING
        largest = np.maximum(np.abs(self.scores), np.abs(scores)).max(axis=1)
        return divided(np.abs(self.scores - scores).max(axis=1), np.maximum(largest, output))

    def units(self, chunk: int | None = None) -> Units:
        """Return what is ranked and correlated: the candidates of each example, or chunks of them."""
        number = self.inputs.units(chunk)
        shape = (int(self.inputs.features.shape[0]), int(self.inputs.features.shape[1]))
        return all_features(shape) if number is None else units_of(number.cpu().numpy())


@dataclass(frozen=True)
class PairView:
    """Both sides of a pair."""

    left: SideView
    right: SideView
