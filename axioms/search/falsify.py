"""Find and shrink a counterexample to implementation invariance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from axioms.core.entries import Method
from axioms.core.errors import AxiomsError, MissingPackage, NotDefined, UncoveredOperation
from axioms.core.registry import METHODS
from axioms.methods.running import run_method
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.subjects.models.expressions import Expression, operations, variables
from axioms.subjects.models.modules.expression import ExpressionModel

if TYPE_CHECKING:
    from axioms.search.strategies import Example

LEAST_GAP = 1e-6
"""Relative; rounding is 1e-15 on expressions of this size, and a counterexample should be worth showing."""
NEAREST_KINK = 1e-3
"""A gradient at the kink of a ReLU is whatever rounding makes of it, and shows nothing."""
LARGEST_FORWARD_GAP = 1e-12
LEAST_VALUE = 1e-3
"""Where the output is zero there is nothing to distribute, and rules that divide by it show nothing."""

Progress = Callable[[int, int], None]
"""Called with how many examples were tried, and on how many of them the method showed something."""


@dataclass(frozen=True)
class Seen:
    """An expression's value and relevance at a point."""

    value: float
    relevance: dict[str, float]
    kink: float


@dataclass(frozen=True)
class Counterexample:
    """Two expressions of one function with different relevance."""

    method: str
    example: Example
    left: dict[str, float]
    right: dict[str, float]
    gap: float
    after: int
    """Examples until the first one was found."""
    first_size: int
    """Operations of that first one."""


@dataclass
class _Search:
    method: Method
    progress: Progress
    options: Mapping[str, Any] = field(default_factory=dict)
    tried: int = 0
    exercised: int = 0
    """Of those, on how many the method gave relevance that can be compared: see `compare`."""
    first: tuple[int, int] | None = None
    """Examples until then, and operations."""

    def is_counterexample(self, example: Example) -> bool:
        compared = compare(self.method, example, self.options)
        if self.first is None:
            self.tried += 1
            self.exercised += compared is not None
            self.progress(self.tried, self.exercised)
        if compared is None or compared[2] <= LEAST_GAP:
            return False
        if self.first is None:
            self.first = (self.tried, operations(example.left))
        return True


def falsify(
    method: str,
    *,
    seed: int = 0,
    examples: int = 500,
    progress: Progress | None = None,
    options: Mapping[str, Any] | None = None,
) -> Counterexample | None:
    """Return the smallest counterexample that the search finds, or None; raise where no example shows anything.

    It tries so many expressions and, where none is a counterexample, as many with attention blocks.
    """
    require_hypothesis()
    from axioms.search import strategies

    search = _Search(sees_expressions(method), progress or (lambda tried, exercised: None), options or {})
    smallest: Example | None = None
    for of_blocks in (False, True):
        drawn = strategies.examples(of_blocks)
        smallest = smallest or find_smallest(drawn, search.is_counterexample, seed=seed, examples=examples)
    if smallest is None:
        if search.exercised == 0:
            raise NotDefined(
                f"none of {search.tried} examples exercised {method}: it has no rule for what they compute, or gives "
                "no finite relevance; nothing is shown."
            )
        return None
    smallest = peeled(smallest, search.is_counterexample)
    compared = compare(search.method, smallest, search.options)
    assert compared is not None
    assert search.first is not None
    left, right, gap = compared
    return Counterexample(method, smallest, left.relevance, right.relevance, gap, *search.first)


def sees_expressions(name: str) -> Method:
    """Return a method; raise where it changes modules alone, of which expressions have none."""
    method = METHODS.get(name)
    if method.on_modules:
        raise NotDefined(
            f"no example exercises {name}: it changes modules, by hooks, and an expression has none, so that a search "
            f"shows nothing. `axioms audit MODULE:FUNCTION --methods {name}` tries it on a model."
        )
    return method


def peeled(example: Example, is_counterexample: Callable[[Example], bool]) -> Example:
    """Return the counterexample without what surrounds the step on both sides, as far as it stays one."""
    if type(example.left) is not type(example.right):
        return example
    for left, right in zip(example.left.children, example.right.children, strict=False):
        names = {*variables(left), *variables(right)}
        inner = replace(
            example, left=left, right=right, point={name: at for name, at in example.point.items() if name in names}
        )
        if left != right and operations(left) and is_same(inner) and is_counterexample(inner):
            return peeled(inner, is_counterexample)
    return example


def is_same(example: Example) -> bool:
    """Return whether the two are the same function, at random points too: parts of equal wholes need not be."""
    names = list(example.point)
    points = torch.randn(8, len(names), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    left, right = (ExpressionModel(side, names)(points) for side in (example.left, example.right))
    return bool(torch.allclose(left, right, rtol=1e-9, atol=1e-12))


def compare(
    method: Method, example: Example, options: Mapping[str, Any] | None = None
) -> tuple[Seen, Seen, float] | None:
    """Return both sides and their relative gap; None where nothing is shown: a kink, no rule, no finite number."""
    try:
        left, right = (look(method, side, example.point, options) for side in (example.left, example.right))
    except (NotDefined, UncoveredOperation):
        return None
    numbers = torch.tensor([[*left.relevance.values()], [*right.relevance.values()]], dtype=torch.float64)
    if not bool(torch.isfinite(numbers).all()) or min(left.kink, right.kink) < NEAREST_KINK:
        return None
    if abs(left.value - right.value) > LARGEST_FORWARD_GAP * max(1.0, abs(left.value)):
        raise AxiomsError(f"{example.left} and {example.right} are not the same function: {example.step} is wrong.")
    if min(abs(left.value), abs(right.value)) < LEAST_VALUE:
        return None
    size = float(numbers.abs().max())
    gap = float((numbers[0] - numbers[1]).abs().max())
    # Where everything cancels, what is left is rounding, and its relative size is anything.
    return (left, right, gap / size) if size > LEAST_GAP else None


def look(
    method: Method, expression: Expression, point: dict[str, float], options: Mapping[str, Any] | None = None
) -> Seen:
    """Return the expression's value and its relevance at the point."""
    names = list(point)
    module = ExpressionModel(expression, names)
    model, inputs = Model(module), read_inputs(module, torch.tensor([[*point.values()]], dtype=torch.float64))
    with torch.no_grad():
        outputs = model(inputs)
    kink = module.closest_kink
    target = choose(0, outputs)
    attribution = run_method(method, model, inputs, target, target(outputs), batch_size=1, options=options or {})
    return Seen(float(outputs), dict(zip(names, attribution.scores[0].tolist(), strict=True)), kink)


def require_hypothesis() -> Any:
    """Return the package, or raise a sentence that says what to install."""
    try:
        import hypothesis
        import hypothesis.errors
    except ModuleNotFoundError:
        raise MissingPackage("`axioms falsify` needs hypothesis: pip install hypothesis") from None
    return hypothesis


def find_smallest(strategy: Any, is_counterexample: Callable[[Any], bool], *, seed: int, examples: int) -> Any:
    """Return the smallest value of a strategy that is a counterexample, or None after so many examples."""
    hypothesis = require_hypothesis()
    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    try:
        return hypothesis.find(strategy, is_counterexample, settings=settings, random=Random(seed))
    except hypothesis.errors.NoSuchExample:
        return None
