"""What a check needs to know of a subject; each is computed shard by shard, and kept by shard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from axioms.core.registry import AXIOMS, METHODS
from axioms.run.address import Opened
from axioms.run.memory import digest_of
from axioms.spec import Check, MethodRef
from axioms.spec.pairs import FORWARD

WHOLE = -1
"""In the place of the number of a shard: all examples at once."""
CONSERVING = ("conservation", "ledger")
What = Literal["measurement", "examples", "accounts"]


@dataclass(frozen=True, eq=False)
class Request:
    """The metrics of an axiom, the examples that a report shows, or the accounts of where relevance went."""

    what: What
    axiom: str
    options: Mapping[str, Any]
    method: MethodRef | None
    """None for an axiom that looks at the models alone."""

    @cached_property
    def name(self) -> str:
        """What tells requests to one subject apart."""
        return digest_of([self.what, self.axiom, dict(self.options), identity(self.method)])

    @property
    def is_kept(self) -> bool:
        """Whether a later run may use the answer: not a time, nor what other people's code computed, without digest."""
        is_timed = self.what == "measurement" and AXIOMS.get(self.axiom).timed
        return not is_timed and (self.method is None or ":" not in self.method.name)

    def shards(self, count: int) -> list[int]:
        """Return which of so many shards it is computed on: all, the first, or all examples at once."""
        if self.what == "measurement":
            axiom = AXIOMS.get(self.axiom)
            once, adds_up = axiom.once, axiom.adds_up
        else:
            once, adds_up = self.what == "accounts" or self.axiom == "loo_correlation", True
        if count == 1 or once:
            return [0]
        return list(range(count)) if adds_up else [WHOLE]


def identity(method: MethodRef | None) -> list[Any] | None:
    """Return what tells methods apart in a key: the name and the options, not the label."""
    return None if method is None else [method.name, method.options]


def measurement(axiom: str, options: Mapping[str, Any], method: MethodRef | None) -> Request:
    """Return the request for everything that an axiom measures of a method."""
    return Request("measurement", axiom, options, method)


def requests_of(check: Check, opened: Opened) -> list[Request]:
    """Return everything that a check needs to know of its subject, in the order in which it asks."""
    requests = [measurement(FORWARD, {}, None)] if check.equivalence and check.function != FORWARD else []
    if check.axiom is not None:
        requests.append(measurement(check.axiom.name, check.axiom.options, check.method))
    for compared in (member.comparison for member in (check, *check.family)):
        if compared is not None:
            methods = (compared.better, compared.than)
            requests += [measurement(compared.axiom, compared.options, method) for method in methods]
    shown = (examples_request(check, opened), accounts_request(check))
    return [*requests, *(request for request in shown if request is not None)]


def examples_request(check: Check, opened: Opened) -> Request | None:
    """Return the request for a few examples with their relevance; None where a report shows none."""
    if check.method is None or check.rewrite is not None:
        return None
    is_shown = {
        "ground_truth": True,
        "loo_correlation": opened.has_texts and check.subject.pair is None,
        "implementation_invariance": opened.has_images,
    }
    return Request("examples", check.function, {}, check.method) if is_shown.get(check.function) else None


def accounts_request(check: Check) -> Request | None:
    """Return the request for the ledger of a method that is made of rules; of any other there is none."""
    method = check.method
    if check.function not in CONSERVING or method is None or not is_made_of_rules(method.name):
        return None
    return Request("accounts", "", {}, method)


def is_made_of_rules(name: str) -> bool:
    """Tell whether a method propagates relevance by rules: its own, or those that a spec gives it."""
    method = METHODS.get(name)
    return method.takes("rules") or (method.composite is not None and bool(method.composite().entries))
