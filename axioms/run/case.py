"""A shard of a subject with the attributions that its checks share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from torch import Tensor

from axioms.core.errors import NotDefined
from axioms.core.registry import METHODS
from axioms.engine.attribution import Attribution, Swept
from axioms.engine.handlers.tap import Tap
from axioms.methods.estimates import difference
from axioms.methods.running import check_finite, run_method, run_sweep
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.notes import note
from axioms.model.targets import Target
from axioms.properties.helpers.views import PairView, SideView
from axioms.run.memory import ALWAYS, Key, Memory, key_of
from axioms.run.requests import identity
from axioms.spec import MethodRef, Run
from axioms.subjects.built import ONLY, BuiltSubject, outputs_of
from axioms.subjects.data import Data

Report = Callable[[str, int, int], None]
"""Progress of long work: what, how many done, how many in all."""
Value = TypeVar("Value")

LOO = MethodRef.model_validate("loo")


@dataclass(frozen=True)
class Case:
    """A shard under the settings of a run; computes attributions and shares them by the memory of its worker."""

    name: str
    """Of the shard in memory."""
    subject: BuiltSubject
    """With the examples of this shard alone."""
    data: Data
    """All examples of the subject."""
    run: Run
    memory: Memory
    report: Report
    plain: Case | None = None
    """The case of the model by itself, of which a rewrite made a pair: its attributions are those of the left side."""

    def key(self, *what: Any) -> Key:
        """Return the key of a value that depends on this shard and on `what`."""
        return key_of(self.name, *what)

    def view(self, method: MethodRef | None, side: str) -> SideView:
        """Return one side of the subject, as an axiom sees it."""
        shown = self.subject.sides[side]
        return SideView(shown, shown.reorder(self.subject.target), MethodBench(self, method, side), self.subject.data)

    def view_of_all(self, method: MethodRef | None, side: str) -> SideView:
        """Return the same for an axiom that looks at the data as a whole, and at the first examples only."""
        return replace(self.view(method, side), data=self.data)

    def pair(self, method: MethodRef | None) -> PairView:
        """Return both sides of the subject, as an axiom sees them."""
        return PairView(self.view(method, "left"), self.view(method, "right"))

    def attribution(self, method: MethodRef, side: str) -> Attribution:
        """Return the relevance of a method on one side, in the order of the data."""
        if self.plain is not None and side == "left":
            return self.plain.attribution(method, ONLY)

        def attribute() -> Attribution:
            at = self.subject.sides[side]
            target = at.reorder(self.subject.target)
            known = target(at.outputs) if at.moved is None else None
            attribution = self.rerun(method, at.model, at.inputs, target, at.batch_size, known)
            check_finite(METHODS.get(method.name), attribution.scores, at.inputs.first)
            return at.restore(attribution)

        key = self.key("attribution", side, identity(method))
        if method == LOO:  # nothing costs more, and other specs refer to it when the shard is long forgotten
            key = key_of(ALWAYS, key)
        return _noted(self.memory.recall(key, attribute))

    def sweep(self, method: MethodRef, side: str, kinds: Sequence[str]) -> Swept:
        """Return the relevance on one side with the softmax bypassed in some layers, for every setting."""

        def sweep() -> Swept:
            at = self.subject.sides[side]
            target = at.reorder(self.subject.target)
            swept = run_sweep(
                METHODS.get(method.name),
                at.model,
                at.inputs,
                target,
                target(outputs_of(at.model, at.inputs, at.batch_size)),
                kinds,
                batch_size=at.batch_size,
                options=method.options,
                progress=partial(self.report, f"{method.label}, sweep"),
            )
            restored = {layers: at.restore(attribution) for layers, attribution in swept.attributions.items()}
            return replace(swept, attributions=restored)

        return self.memory.recall(self.key("sweep", side, identity(method), list(kinds)), sweep)

    def rerun(
        self,
        method: MethodRef,
        model: Model,
        inputs: Inputs,
        target: Target,
        batch_size: int,
        output: Tensor | None = None,
    ) -> Attribution:
        """Run the method; `output` is the target's, where it is known already."""
        entry = METHODS.get(method.name)
        options = dict(method.options)
        if entry.takes("seed"):
            options.setdefault("seed", self.run.seed)
        progress = partial(self.report, method.label)
        return _noted(
            run_method(entry, model, inputs, target, output, batch_size=batch_size, options=options, progress=progress)
        )

    def remember(self, side: str, what: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed of one side, for any method."""
        if self.plain is not None and side == "left":
            return self.plain.remember(ONLY, what, compute)
        return self.memory.recall(self.key("remembered", side, what), compute)


def _noted(attribution: Attribution) -> Attribution:
    """Return an attribution, and say again what there was to say when it was computed."""
    for sentence in attribution.notes:
        note(sentence)
    return attribution


@dataclass(frozen=True)
class MethodBench:
    """What computes for an axiom (see `Bench`): one method on one side of a case."""

    case: Case
    method: MethodRef | None
    """None for an axiom that looks at the models alone."""
    side: str

    @property
    def _tested(self) -> MethodRef:
        return self.method or LOO

    def attribution(self) -> Attribution:
        """Return the relevance of the method under test."""
        return self.case.attribution(self._tested, self.side)

    def reference(self) -> Attribution:
        """Return the relevance of leave-one-out."""
        return self.case.attribution(LOO, self.side)

    def rerun(self, model: Model, inputs: Inputs, target: Target, batch_size: int) -> Attribution:
        """Run the method under test on any model and inputs."""
        return self.case.rerun(self._tested, model, inputs, target, batch_size)

    def estimate(self, tap: Tap, patch: Tensor) -> Tensor:
        """Return what the method under test says that a patch would take, after a run of it with the tap open."""
        return (METHODS.get(self._tested.name).estimate or difference)(tap, patch)

    def variant(self, options: Mapping[str, Any]) -> Attribution:
        """Return the relevance of the method under test with some of its options changed."""
        missing = [name for name in options if not METHODS.get(self._tested.name).takes(name)]
        if missing:
            raise NotDefined(
                f"method {self._tested.label!r} has no option {missing[0]!r}, by which this axiom varies it; leave the "
                "method out here (`methods:` of the check), or claim it under `refused_by`."
            )
        changed = self._tested.model_copy(update={"options": {**self._tested.options, **options}})
        return self.case.attribution(changed, self.side)

    def sweep(self, kinds: Sequence[str]) -> Swept:
        """Return the relevance with the softmax bypassed in some layers."""
        return self.case.sweep(self._tested, self.side, kinds)

    def remember(self, what: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed of this side, for any method."""
        return self.case.remember(self.side, what, compute)

    def progress(self, done: int, total: int) -> None:
        """Report how much of the measuring is done."""
        self.case.report(self.method.label if self.method else "models", done, total)
