"""The relevance of each token of one text, by several methods, with what each of them kept on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from axioms.commands.explain.names import Names
from axioms.core.errors import AxiomsError
from axioms.core.registry import METHODS
from axioms.core.values import as_numpy
from axioms.engine.attribution import Attribution
from axioms.engine.handlers.ledger import Ledger, recording
from axioms.methods.running import run_method
from axioms.model.targets import Target, choose
from axioms.properties.helpers.correlations import constant, pearson, too_few
from axioms.properties.helpers.units import all_features, units_of
from axioms.report.spelling import Piece, spelt
from axioms.run.build import placed_side
from axioms.spec import Run
from axioms.spec.references import MethodRef
from axioms.subjects.built import ONLY, Side
from axioms.subjects.models.language import LanguageModel, tokenize

if TYPE_CHECKING:
    from axioms.model.removals import Removal

TOKENS_AT_ONCE = 2048
"""In one forward pass of leave-one-out: language models give an output for every word at each of them."""

Report = Callable[[str, int, int], None]
"""Called with the method at work, how much of it is done, and of how much."""
LOO = "loo"


@dataclass(frozen=True)
class Answer:
    """What one method says; `reason` is why it says nothing."""

    method: str
    scores: tuple[float, ...] = ()
    loo_r: float | None = None
    """Pearson's r with leave-one-out, as the axiom `loo_correlation` measures it; None where there is none."""
    ledger: Ledger | None = None
    """Only of methods that propagate relevance."""
    reason: str = ""

    @property
    def total(self) -> float:
        """The sum of all relevance."""
        return sum(self.scores)

    @property
    def largest(self) -> float:
        """The size of the largest score."""
        return max((abs(score) for score in self.scores), default=0.0)


@dataclass(frozen=True)
class Question:
    """A text before a model, and the output that is asked about."""

    side: Side
    tokens: tuple[str, ...]
    cut: bool
    """Whether the text was longer than the model's limit."""
    target: Target
    about: str
    """The output in words."""
    run: Run

    @cached_property
    def output(self) -> float:
        """The number that is explained."""
        return float(self.target(self.side.outputs)[0])

    @property
    def pieces(self) -> list[Piece]:
        """The tokens as a reader would write them."""
        return spelt(self.tokens)

    @property
    def removal(self) -> str:
        """What leaving a token out means."""
        return str(self.side.inputs.removal.kind)


def ask(model: LanguageModel, text: str, target: Any, remove: Removal | None, run: Run) -> Question:
    """Put the question: `target` is what a spec may write, and a class or a token may also be given by its name."""
    split = tokenize(model, [text])
    side = placed_side(ONLY, model, split.inputs, remove, run)
    names = Names(model, side.outputs.shape[1])
    chosen = choose(names.numbered(target), side.outputs)
    return Question(side, split.strings[0], bool(split.cut), chosen, names.described(chosen, side.outputs), run)


def explain(question: Question, methods: Sequence[MethodRef], report: Report) -> Iterator[Answer]:
    """Yield what each method says, as soon as it is known. A method that is not defined for this model says why.

    Nothing but these methods is run. Where leave-one-out is one of them it is run first, for the others' `loo_r`.
    """
    reference = next((method for method in methods if method.name == LOO), None)
    first = None if reference is None else _attempt(question, reference, report)
    loo = first[0] if isinstance(first, tuple) else None
    for method in methods:
        outcome = first if method is reference and first is not None else _attempt(question, method, report)
        if isinstance(outcome, str):
            yield Answer(method.label, reason=outcome)
        else:
            yield replace(_answer(question, method, outcome[0], loo), ledger=outcome[1])


def _attempt(question: Question, method: MethodRef, report: Report) -> tuple[Attribution, Ledger | None] | str:
    """Return what a method gives, or why it gives nothing."""
    try:
        return _attribution(question, method, report)
    except AxiomsError as error:
        return str(error)


def _answer(question: Question, method: MethodRef, attribution: Attribution, loo: Attribution | None) -> Answer:
    r = None if loo is None else _correlation(question, attribution, loo)
    return Answer(method.label, tuple(as_numpy(attribution.scores)[0].tolist()), r)


def _attribution(question: Question, method: MethodRef, report: Report) -> tuple[Attribution, Ledger | None]:
    entry, side = METHODS.get(method.name), question.side
    options = dict(method.options)
    if entry.takes("seed"):
        options.setdefault("seed", question.run.seed)
    if entry.name == LOO:
        options.setdefault("rows", max(1, TOKENS_AT_ONCE // len(question.tokens)))
    with recording() as ledger:
        attribution = run_method(
            entry,
            side.model,
            side.inputs,
            question.target,
            question.target(side.outputs),
            batch_size=1,
            options=options,
            progress=lambda done, total: report(method.label, done, total),
        )
    return attribution, ledger if ledger.entries else None


def _correlation(question: Question, attribution: Attribution, loo: Attribution) -> float | None:
    """Return Pearson's r with leave-one-out; None where there are too few tokens or one of the two is constant."""
    number = question.side.inputs.units()
    shape = (1, len(question.tokens))
    units = all_features(shape) if number is None else units_of(number.cpu().numpy())
    scores, reference = units.sums(as_numpy(attribution.scores)), units.sums(as_numpy(loo.scores))
    if bool(too_few(units.counted)[0]) or bool(constant(reference, units.counted)[0]):
        return None
    r = float(pearson(scores, reference, units.counted)[0])
    return r if np.isfinite(r) else None
