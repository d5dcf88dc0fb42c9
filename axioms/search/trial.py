"""An axiom asked of a method on one small model, without a spec."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from axioms.core.entries import Axiom, Method
from axioms.core.errors import InputError, NotDefined, UncoveredOperation
from axioms.core.registry import METHODS
from axioms.engine.attribution import Attribution, Swept
from axioms.engine.handlers.tap import Tap
from axioms.methods.running import run_method
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.properties.helpers.views import SideView
from axioms.search.falsify import LEAST_GAP, LEAST_VALUE, NEAREST_KINK
from axioms.search.instances import Instance
from axioms.subjects.built import ONLY, Side, outputs_of
from axioms.subjects.models.modules.expression import ExpressionModel

Value = TypeVar("Value")

RELATIVE_TO_SCORES = ("relative_gap", "on_null")
"""Metrics that are shares of the largest relevance."""


@dataclass
class TrialBench:
    """What computes for an axiom (see `Bench`), with a memory of its own."""

    method: Method
    side: Side
    target: Target
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def attribution(self) -> Attribution:
        """Return the relevance of the method."""
        return self.remember("attribution", lambda: self._run(self.method, self.side.model, self.side.inputs))

    def reference(self) -> Attribution:
        """Return the relevance of leave-one-out."""
        return self.remember("reference", lambda: self._run(METHODS.get("loo"), self.side.model, self.side.inputs))

    def rerun(self, model: Model, inputs: Inputs, target: Target, batch_size: int) -> Attribution:
        """Run the method on any model and inputs."""
        return self._run(self.method, model, inputs, target)

    def estimate(self, tap: Tap, patch: Tensor) -> Tensor:
        """Return what the method says that a patch would take."""
        raise NotDefined("a trial has no components.")

    def variant(self, options: Mapping[str, Any]) -> Attribution:
        """Return the relevance with some options changed."""
        raise NotDefined("a trial has one setting of the method.")

    def sweep(self, kinds: Sequence[str]) -> Swept:
        """Return the relevance with the softmax bypassed in some layers."""
        raise NotDefined("a trial has no layers.")

    def remember(self, what: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed before under this name."""
        if what not in self.memory:
            self.memory[what] = compute()
        value: Value = self.memory[what]
        return value

    def progress(self, done: int, total: int) -> None:
        """Report nothing: a trial takes milliseconds."""

    def _run(self, method: Method, model: Model, inputs: Inputs, target: Target | None = None) -> Attribution:
        target = target or self.target
        output = target(outputs_of(model, inputs, len(inputs)))
        if getattr(model.module, "closest_kink", math.inf) < NEAREST_KINK:
            raise NotDefined("a ReLU is at its kink, where its gradient is whatever rounding makes of it.")
        return run_method(method, model, inputs, target, output, batch_size=len(inputs), options={})


@dataclass(frozen=True)
class Trial:
    """A method and an axiom on one instance."""

    method: Method
    axiom: Axiom
    instance: Instance

    @property
    def metric(self) -> str:
        """The metric that the axiom's default bound is about."""
        return next(iter(self.axiom.expect)).partition(".")[0]

    @property
    def bound(self) -> float:
        """The largest value that keeps the axiom."""
        return float(next(iter(self.axiom.expect.values()))["le"])

    @cached_property
    def view(self) -> SideView:
        """The model at the point, as an axiom sees it."""
        names = list(self.instance.point)
        module = ExpressionModel(self.instance.expressions, names)
        features = torch.tensor([[*self.instance.point.values()]], dtype=torch.float64)
        side = Side(ONLY, Model(module), read_inputs(module, features), batch_size=64)
        target = choose(0, side.outputs)
        return SideView(side, target, TrialBench(self.method, side, target))

    @cached_property
    def relevance(self) -> dict[str, float]:
        """What each feature gets."""
        return dict(zip(self.instance.point, self.view.scores[0].tolist(), strict=True))

    def measure(self) -> float | None:
        """Return the metric; None where nothing is shown: a kink, no rule, no output, or an axiom that says nothing."""
        outputs = self.view.outputs
        if not np.isfinite(outputs).all() or np.abs(outputs).min() < LEAST_VALUE:
            return None
        try:
            values = np.ma.asarray(self.axiom.function(self.view)[self.metric])
            scores = self.view.scores
        except (UncoveredOperation, NotDefined, InputError):
            return None
        if np.ma.is_masked(values) or not np.isfinite(values).all() or not np.isfinite(scores).all():
            return None
        # Where everything cancels, what is left is rounding, and its relative size is anything.
        is_rounding = self.metric in RELATIVE_TO_SCORES and np.abs(scores).max() <= LEAST_GAP
        return None if is_rounding else float(values.max())

    def exceeds(self, value: float) -> bool:
        """Tell whether a value of the metric breaks the axiom, and by more than rounding."""
        return value > max(self.bound, LEAST_GAP)

    def keeps(self) -> bool:
        """Tell whether the method keeps the axiom here."""
        value = self.measure()
        return value is not None and value <= self.bound
