"""What a spec says in one place against what it says in another."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.core.errors import Problem, did_you_mean
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.source import Document, Path_
from axioms.core.sweeps import KINDS, kind_of
from axioms.spec.metrics import split_metric
from axioms.spec.schema import Spec, options_in_checks


def consistency_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield the lines of a spec that contradict others or have no effect."""
    for problems in (_side_problems, _sweep_problems, _option_problems, _rewrite_problems, _absence_problems):
        yield from problems(spec, document)


def _side_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield checks that speak of two sides where the subject has one."""
    if spec.subject.pair is not None:
        return
    for index, check in enumerate(spec.checks):
        axiom = AXIOMS.get(check.axiom.name)
        if axiom.scope == "pair":
            yield document.problem(("checks", index, "axiom"), f"{axiom.name!r} needs a subject with a `pair`.")
        for metric in (*check.expect, *check.record):
            if split_metric(axiom, metric)[0] is not None:
                yield document.problem(("checks", index), f"{metric!r} names a side, and the subject has no `pair`.")


def _sweep_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield a sweep that nothing looks at, methods that cannot be swept, and metrics of settings that are not."""
    looking = [index for index, check in enumerate(spec.checks) if AXIOMS.get(check.axiom.name).takes("sweep")]
    if spec.sweep is not None and not looking:
        yield document.problem(("sweep",), "no check looks at it; add one with the axiom 'bypass_gain'.")
    for index in looking:
        check = spec.checks[index]
        for method in spec.methods:
            if not check.is_for(method.label):
                continue
            if not METHODS.get(method.name).takes("bypass"):
                what = f"{method.label!r} has no softmax to bypass; name the methods that do: `methods: [attnlrp]`."
                yield document.problem(("checks", index), what)
            elif {"bypass", "engine"} & set(method.options):
                what = f"a sweep sets `bypass` itself, in the fast engine; take both out of {method.label!r}."
                yield document.problem(("checks", index), what)
        kinds = check.axiom.options.get("sweep") or (spec.sweep.layers if spec.sweep is not None else KINDS)
        for metric in (*check.expect, *check.record):
            needed = kind_of(split_metric(AXIOMS.get(check.axiom.name), metric)[1])
            if needed is not None and needed not in kinds:
                yield document.problem(("checks", index), f"{metric!r} needs {needed!r} among the sweep's `layers`.")


def _absence_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield combinations that are said not to exist and that no check would try."""
    tried = [
        (check.axiom, method.label) for check in spec.checks for method in spec.methods if check.is_for(method.label)
    ]
    for index, absent in enumerate(spec.not_defined):
        if not any(absent.matches(*combination) for combination in tried):
            yield document.problem(("not_defined", index), "no check of this spec is meant; each must be tried.")


def _option_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield comparisons that could be meant under different options of their axiom."""
    for index, compare in enumerate(spec.compare):
        axiom = compare.metric.partition(".")[0]
        options = options_in_checks(spec, axiom)
        if compare.options is None and len(options) > 1:
            choices = " or ".join(map(str, options))
            what = f"the checks have {axiom!r} with different options; say which are meant: `options: {choices}`."
            yield document.problem(("compare", index), what)


def _rewrite_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Yield checks that name rewrites which the pair does not have, or that look at one side of a rewritten pair."""
    pair = spec.subject.pair
    known = [] if pair is None else [rewrite.name for rewrite in pair.rewritten]
    for index, check in enumerate(spec.checks):
        named: list[tuple[Path_, str]] = [(("checks", index, "on", name), name) for name in check.on]
        named += [(("checks", index, "rewrites", place), name) for place, name in enumerate(check.rewrites or ())]
        for path, name in named:
            if name not in known:
                yield document.problem(path, f"{name!r} is not among the pair's rewrites.{did_you_mean(name, known)}")
        axiom = AXIOMS.get(check.axiom.name)
        if known and (axiom.scope != "pair" or axiom.methodless):
            what = f"{axiom.name!r} is not about two models; with rewrites, use one that is: implementation_invariance."
            yield document.problem(("checks", index, "axiom"), what)
    if known and spec.compare:
        yield document.problem(("compare",), "a pair that is made by rewrites has nothing to compare.")
