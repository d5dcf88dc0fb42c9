"""Find and shrink a model on which a method breaks an axiom."""

from __future__ import annotations

from dataclasses import dataclass

from axioms.core.errors import InputError, did_you_mean
from axioms.core.registry import AXIOMS, METHODS
from axioms.search.falsify import Progress, find_smallest, require_hypothesis, sees_expressions

WITNESSES = ("gradient_x_input", "integrated_gradients", "loo", "gradient", "attnlrp")
"""Methods that are tried in turn for one that keeps the axiom on the same model."""


@dataclass(frozen=True)
class Break:
    """A model and a point at which a method breaks an axiom."""

    method: str
    axiom: str
    expressions: tuple[str, ...]
    point: dict[str, float]
    metric: str
    value: float
    relevance: dict[str, float]
    witness: str | None
    """A method that keeps the axiom there."""
    after: int
    """Examples until the first one was found."""
    first_size: int
    """Operations of that first one."""


@dataclass
class Search:
    """Counts the examples of a search until the first break."""

    method: str
    axiom: str
    progress: Progress
    tried: int = 0
    judged: int = 0
    """Examples on which the axiom said something of the method."""
    first: tuple[int, int] | None = None
    """Examples until the first break, and its operations."""

    def run(self, *, seed: int, examples: int) -> Break | None:
        """Return the smallest break that is found, or None."""
        from axioms.search.instances import STRATEGIES, Instance
        from axioms.search.trial import Trial

        method, axiom = METHODS.get(self.method), AXIOMS.get(self.axiom)

        def is_break(instance: Instance) -> bool:
            value = (trial := Trial(method, axiom, instance)).measure()
            if self.first is None:
                self.tried += 1
                self.judged += value is not None
                self.progress(self.tried, self.judged)
            if value is None or not trial.exceeds(value):
                return False
            self.first = self.first or (self.tried, instance.size)
            return True

        smallest: Instance | None = None
        for strategy in STRATEGIES[self.axiom]:
            smallest = smallest or find_smallest(strategy(), is_break, seed=seed, examples=examples)
        if smallest is None:
            return None
        assert self.first is not None
        trial = Trial(method, axiom, smallest)
        value = trial.measure()
        assert value is not None
        witness = next((name for name in WITNESSES if Trial(METHODS.get(name), axiom, smallest).keeps()), None)
        texts = tuple(map(str, smallest.expressions))
        return Break(
            self.method, self.axiom, texts, smallest.point, trial.metric, value, trial.relevance, witness, *self.first
        )


def falsify_axiom(
    method: str, axiom: str, *, seed: int = 0, examples: int = 500, progress: Progress | None = None
) -> tuple[Break | None, Search]:
    """Return the smallest model on which a method breaks an axiom, or None, and how far the search got."""
    require_hypothesis()
    known = exact_axioms()
    if axiom not in known:
        names = ", ".join(known)
        raise InputError(
            f"{axiom!r} is not an axiom that can be falsified; those are {names}.{did_you_mean(axiom, known)}"
        )
    sees_expressions(method)
    search = Search(method, axiom, progress or (lambda tried, judged: None))
    return search.run(seed=seed, examples=examples), search


def exact_axioms() -> list[str]:
    """Return the names of the axioms of one model that hold exactly or not at all."""
    from axioms.search.instances import STRATEGIES

    return list(STRATEGIES)
