"""A check to its result: build the subject, attribute, measure, judge."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from torch import Tensor

from axioms.core.errors import AssetMissing, NotApplicable, NotDefined, UncoveredOperation
from axioms.core.registry import AXIOMS, METHODS, Axiom
from axioms.core.values import Values
from axioms.engine.attribution import Attribution, Swept
from axioms.methods.running import run_method, run_sweep
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.properties.ledger import accounts_of
from axioms.properties.views import PairView, SideView
from axioms.run.build import build_subject, rewritten_subject
from axioms.run.cache import Kept, descriptors, key_of, subject_digest
from axioms.run.examples import EXAMPLES, images, sentences, texts
from axioms.spec import Check, MethodRef, PlacedBound, Run
from axioms.spec.expand import FORWARD
from axioms.spec.metrics import split_metric
from axioms.spec.references import AxiomRef
from axioms.subjects.built import ONLY, BuiltSubject, outputs_of
from axioms.verdict.judge import Finding, Judgement, Verdict, judge
from axioms.verdict.measure import Measurement
from axioms.verdict.statistics import PairedTest, claim_p, cohen_d_z, holm, win_share

Report = Callable[[str, int, int], None]
"""Progress of long work: what, how many done, how many in all."""

SUBJECTS_KEPT = 8
TRUTH = "ground_truth"
CONSERVING = ("conservation", "ledger")
LOO = MethodRef.model_validate("loo")


@dataclass(frozen=True)
class Result:
    """What a check showed, with everything a report needs."""

    check: Check
    run: Run
    judgement: Judgement
    measurement: Measurement
    seconds: float
    worst: str = ""
    """The example that speaks most against the bound."""
    tests: Mapping[str, PairedTest] = field(default_factory=dict)
    """Of a comparison, by metric."""
    examples: Sequence[Mapping[str, Any]] = ()
    """Sentences with the relevance of their tokens, for heatmaps."""
    accounts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of a check of conservation, by side: where relevance went, per layer and operation."""


@dataclass
class _Case:
    """A built subject and the attributions computed on it so far."""

    subject: BuiltSubject
    described: Any = None
    """What the spec and its fixtures say of the subject."""
    plain: _Case | None = None
    """The case of the model by itself, of which a rewrite made a pair: its attributions are those of the left side."""
    attributions: dict[tuple[str, str], Attribution] = field(default_factory=dict)
    sweeps: dict[tuple[str, str], Swept] = field(default_factory=dict)
    measured: dict[str, Measurement] = field(default_factory=dict)
    """By axiom and method: a comparison needs them of its whole family, and checks have most of them already."""
    p_values: dict[str, float] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Of the subject as it was built, and of its description."""
        return subject_digest(self.subject, self.described)


class Runner:
    """Runs checks; keeps recent subjects and their attributions, which many checks share."""

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, report: Report | None = None, kept: Kept | None = None
    ) -> None:
        """`kept` are measurements of earlier runs, used where nothing that they depend on has changed."""
        self._kept = kept
        self._overrides = dict(overrides or {})
        self._report = report or (lambda what, done, total: None)
        self._cases: OrderedDict[str, _Case] = OrderedDict()
        self._missing: dict[str, AssetMissing] = {}
        """By subject, and by asset: one attempt is enough, every further one would wait for the network again."""
        self._inapplicable: dict[str, NotApplicable] = {}

    def run(self, check: Check) -> Result:
        """The result of one check. Errors in a model or a method are raised, not judged."""
        started = time.perf_counter()
        run = check.run.model_copy(update=self._overrides)
        try:
            result = self._result(check, run, started)
        except (NotApplicable, UncoveredOperation, NotDefined) as error:
            # A rewrite that does not apply is no refusal of the method's.
            if not check.refusal or isinstance(error, NotApplicable) is not (check.method is None):
                raise
            said = Judgement(Verdict.REFUSED, True, str(error), ())
            bare = replace(check, expect=(), violation=None, record=(), reported={})
            nothing = Measurement({}, {}, run.confidence, run.seed)
            return Result(bare, run, said, nothing, time.perf_counter() - started)
        if not check.refusal:
            return result
        reason = "so the claimed refusal is no longer shown"
        return replace(result, judgement=replace(result.judgement, passed=False, reason=reason))

    def _result(self, check: Check, run: Run, started: float) -> Result:
        case = self._case(check, run)
        judgement: Judgement | None = None
        if check.equivalence and check.function != FORWARD:
            judgement = self._not_equivalent(check, case, run)
        measurement = self._measure(check, case, run)
        tests = self._tests(check, case, run)
        judgement = judgement or judge(check, measurement, run.dtype, tests)
        worst = _worst_example(judgement, measurement, case.subject)
        shown = self._examples(check, case, run)
        accounts = self._accounts(check, case, run)
        seconds = time.perf_counter() - started
        return Result(check, run, judgement, measurement, seconds, worst, tests, shown, accounts)

    def _case(self, check: Check, run: Run) -> _Case:
        described = [check.subject.model_dump(mode="json"), run.model_dump()]
        key = json.dumps([*described, str(check.file.parent)], sort_keys=True)
        if key in self._inapplicable:
            raise self._inapplicable[key]
        if key not in self._cases:
            fixtures = descriptors(described, check.file)
            for needed in (key, *(each["asset"] for each in fixtures if each["asset"] is not None)):
                if needed in self._missing:
                    raise self._missing[needed]
            try:
                self._cases[key] = self._built(check, run)
                self._cases[key].described = [*described, *fixtures]
            except AssetMissing as error:
                self._missing[error.asset or key] = error.with_traceback(None)
                raise
            except NotApplicable as error:
                self._inapplicable[key] = error.with_traceback(None)
                raise
        self._cases.move_to_end(key)
        while len(self._cases) > SUBJECTS_KEPT:
            self._cases.popitem(last=False)
        return self._cases[key]

    def _built(self, check: Check, run: Run) -> _Case:
        pair = check.subject.pair
        if pair is None or pair.rewrite is None:
            return _Case(build_subject(check.subject, run, check.file, self._report))
        alone = check.subject.model_copy(update={"model": pair.model, "pair": None})
        plain = self._case(replace(check, subject=alone), run)
        return _Case(rewritten_subject(plain.subject, pair.rewrite, run), plain=plain)

    def _not_equivalent(self, check: Check, case: _Case, run: Run) -> Judgement | None:
        """An inconclusive judgement where the models of a pair do not compute the same function."""
        axiom = AXIOMS.get(FORWARD)
        measured = _named(axiom, {"": axiom.function(self._pair(case, run, None))}, run)
        reference = AxiomRef.model_validate(FORWARD)
        forward = replace(check, axiom=reference, expect=check.equivalence, violation=None, record=(), comparison=None)
        judged = judge(forward, measured, run.dtype)
        if judged.passed:
            return None
        reason = f"the two models are not the same function: {judged.reason}"
        return Judgement(Verdict.INCONCLUSIVE, False, reason, judged.findings)

    def _examples(self, check: Check, case: _Case, run: Run) -> list[dict[str, Any]]:
        """What a report can show of the relevance itself, on a few of the examples."""
        method, subject = check.method, case.subject
        if method is None or check.rewrite is not None:
            return []
        if check.function == TRUTH:
            return sentences(subject, self._attribution(case, run, method, next(iter(subject.sides))))
        few = partial(self._few, case, run, method)
        if check.function == "loo_correlation" and subject.tokens and ONLY in subject.sides:
            return texts(subject, few(ONLY))
        if check.function == "implementation_invariance" and subject.data.shape is not None:
            return images(subject, few("left"), few("right"))
        return []

    def _few(self, case: _Case, run: Run, method: MethodRef, side: str) -> Attribution:
        """The attribution of the first examples, by themselves: what is shown is the same whatever else was run."""
        one = case.subject.sides[side]
        target = one.own(case.subject.target).rows(0, EXAMPLES)
        return self._rerun(run, method, one.model, one.inputs.rows(0, EXAMPLES), target, one.batch_size)

    def _accounts(self, check: Check, case: _Case, run: Run) -> dict[str, dict[str, Any]]:
        """The ledger of a method that propagates relevance in one pass; of any other there is none."""
        if check.function not in CONSERVING or check.method is None or METHODS.get(check.method.name).passes != 1:
            return {}
        found = {name: self._side(case, run, check.method, name) for name in case.subject.sides}
        kept = {name: accounts_of(view) for name, view in found.items()}
        return {name: account for name, account in kept.items() if account is not None}

    def _measure(self, check: Check, case: _Case, run: Run) -> Measurement:
        if check.comparison is None:
            assert check.axiom is not None
            return self._measure_axiom(check.axiom.name, check.axiom.options, case, run, check.method)
        compared = check.comparison
        better = self._measure_axiom(compared.axiom, compared.options, case, run, compared.better)
        than = self._measure_axiom(compared.axiom, compared.options, case, run, compared.than)
        differences = {
            name: better.values[name] - than.values[name]
            for name, kind in better.kinds.items()
            if kind == "per_example"
        }
        return Measurement(differences, better.kinds, compared.confidence, run.seed)

    def _tests(self, check: Check, case: _Case, run: Run) -> dict[str, PairedTest]:
        """The paired tests of a comparison, corrected over all of its spec's, whichever of them are run."""
        family = [(member, placed) for member in check.family for placed in member.expect]
        p_values = [self._p_value(member, placed, self._case(member, run), run) for member, placed in family]
        tests = {}
        for (member, placed), p, p_holm in zip(family, p_values, holm(p_values), strict=True):
            if member.order == check.order:
                differences = self._compared(member, placed, case, run)
                d_z, wins = cohen_d_z(differences), win_share(differences, placed.bound)
                tests[placed.metric] = PairedTest(p, p_holm, len(family), d_z, wins)
        return tests

    def _p_value(self, member: Check, placed: PlacedBound, case: _Case, run: Run) -> float:
        assert member.comparison is not None
        compared = member.comparison
        methods = [[method.name, method.options] for method in (compared.better, compared.than)]
        what = [compared.axiom, dict(compared.options), methods, placed.metric, placed.bound.model_dump()]
        key = json.dumps(what, sort_keys=True)
        if key not in case.p_values:
            differences = self._compared(member, placed, case, run)
            case.p_values[key] = claim_p(differences, placed.bound, seed=run.seed)
        return case.p_values[key]

    def _compared(self, member: Check, placed: PlacedBound, case: _Case, run: Run) -> Values:
        """The differences of a comparison, without the examples for which the metric is not defined (masked)."""
        return np.ma.compressed(self._measure(member, case, run).values[placed.metric.removesuffix(".mean")])

    def _measure_axiom(
        self, name: str, options: Mapping[str, Any], case: _Case, run: Run, method: MethodRef | None
    ) -> Measurement:
        key = json.dumps([name, dict(options), method and [method.name, method.options]], sort_keys=True)
        if key not in case.measured:
            case.measured[key] = self._measure_or_recall(name, options, case, run, method)
        return case.measured[key]

    def _measure_or_recall(
        self, name: str, options: Mapping[str, Any], case: _Case, run: Run, method: MethodRef | None
    ) -> Measurement:
        """What an earlier run measured, if it is kept, else measured now and kept."""
        adapted = method is not None and ":" in method.name  # other people's code, which nobody here has a digest of
        if self._kept is None or adapted or AXIOMS.get(name).timed:
            return self._measure_anew(name, options, case, run, method)
        key = key_of(case.digest, name, dict(options), method and [method.name, method.options])
        values = self._kept.get(key)
        if values is not None:
            return _measurement(AXIOMS.get(name), values, run)
        measured = self._measure_anew(name, options, case, run, method)
        self._kept.put(key, measured.values)
        return measured

    def _measure_anew(
        self, name: str, options: Mapping[str, Any], case: _Case, run: Run, method: MethodRef | None
    ) -> Measurement:
        axiom = AXIOMS.get(name)
        if axiom.scope == "pair":
            return _named(axiom, {"": axiom.function(self._pair(case, run, method), **options)}, run)
        sides = {side: self._side(case, run, method, side) for side in case.subject.sides}
        measured = {side: axiom.function(view, **options) for side, view in sides.items()}
        return _named(axiom, {"" if side == ONLY else f"{side}.": values for side, values in measured.items()}, run)

    def _pair(self, case: _Case, run: Run, method: MethodRef | None) -> PairView:
        return PairView(self._side(case, run, method, "left"), self._side(case, run, method, "right"))

    def _side(self, case: _Case, run: Run, method: MethodRef | None, side: str) -> SideView:
        return SideView(
            case.subject.sides[side],
            case.subject.sides[side].own(case.subject.target),
            partial(self._attribution, case, run, method or LOO, side),
            partial(self._attribution, case, run, LOO, side),
            partial(self._rerun, run, method or LOO),
            partial(self._variant, case, run, method or LOO, side),
            partial(self._report, method.label if method else "models"),
            partial(self._sweep, case, run, method or LOO, side),
            case.subject.data,
        )

    def _attribution(self, case: _Case, run: Run, method: MethodRef, side: str) -> Attribution:
        if case.plain is not None and side == "left":
            return self._attribution(case.plain, run, method, ONLY)
        key = (side, json.dumps([method.name, method.options], sort_keys=True))
        if key not in case.attributions:
            one = case.subject.sides[side]
            target = one.own(case.subject.target)
            known = target(one.outputs) if one.moved is None else None
            found = self._rerun(run, method, one.model, one.inputs, target, one.batch_size, known)
            case.attributions[key] = one.restored(found)
        return case.attributions[key]

    def _variant(self, case: _Case, run: Run, method: MethodRef, side: str, options: Mapping[str, Any]) -> Attribution:
        changed = method.model_copy(update={"options": {**method.options, **options}})
        return self._attribution(case, run, changed, side)

    def _sweep(self, case: _Case, run: Run, method: MethodRef, side: str, kinds: Sequence[str]) -> Swept:
        key = (side, json.dumps([method.name, method.options, list(kinds)], sort_keys=True))
        if key not in case.sweeps:
            one = case.subject.sides[side]
            target = one.own(case.subject.target)
            found = run_sweep(
                METHODS.get(method.name),
                one.model,
                one.inputs,
                target,
                target(outputs_of(one.model, one.inputs, one.batch_size)),
                kinds,
                batch_size=one.batch_size,
                options=method.options,
                progress=partial(self._report, f"{method.label}, sweep"),
            )
            restored = {layers: one.restored(each) for layers, each in found.attributions.items()}
            case.sweeps[key] = replace(found, attributions=restored)
        return case.sweeps[key]

    def _rerun(
        self,
        run: Run,
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
            options.setdefault("seed", run.seed)
        if output is None:
            output = target(outputs_of(model, inputs, batch_size))
        progress = partial(self._report, method.label)
        return run_method(
            entry, model, inputs, target, output, batch_size=batch_size, options=options, progress=progress
        )


def _named(axiom: Axiom, measured: Mapping[str, Mapping[str, Values]], run: Run) -> Measurement:
    """All metrics under their full names, and a clear error where an axiom does not measure what it declared."""
    values, kinds = {}, {}
    for prefix, metrics in measured.items():
        if set(metrics) != set(axiom.metrics):
            raise TypeError(f"axiom {axiom.name!r} declared {sorted(axiom.metrics)} and measured {sorted(metrics)}")
        for name, value in metrics.items():
            values[f"{prefix}{name}"] = value
            kinds[f"{prefix}{name}"] = axiom.metrics[name].kind
    return Measurement(values, kinds, run.confidence, run.seed)


def _measurement(axiom: Axiom, values: Mapping[str, Values], run: Run) -> Measurement:
    """A measurement from values that are kept under their full names."""
    kinds = {name: axiom.metrics[split_metric(axiom, name)[1]].kind for name in values}
    return Measurement(values, kinds, run.confidence, run.seed)


def _worst_example(judgement: Judgement, measurement: Measurement, subject: BuiltSubject) -> str:
    for finding in judgement.findings:
        index = _worst_index(finding, measurement)
        if index is not None:
            name = subject.data.name(index)
            value = measurement.values[finding.metric.rpartition(".")[0]][index]
            return f"#{index} {value:.4g}" + (f"  {name}" if name else "")
    return ""


def _worst_index(finding: Finding, measurement: Measurement) -> int | None:
    """Where a mean must not be large, the largest value is the worst; elsewhere the quantity knows."""
    metric, _, aggregate = finding.metric.rpartition(".")
    if metric not in measurement.values:
        return None
    if aggregate == "mean" and finding.bound.comparator in ("lt", "le"):
        return int(measurement.values[metric].argmax())
    return finding.quantity.worst
