"""What a report shows beside the numbers: relevance on a few examples, and the accounts of where it went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from axioms.core.registry import METHODS
from axioms.core.values import Values
from axioms.engine.attribution import Attribution
from axioms.properties.helpers.accounts import accounts_of
from axioms.record import Example
from axioms.run.case import Case, identity
from axioms.run.examples import EXAMPLES, images, sentences, texts
from axioms.run.measuring import is_adapted
from axioms.spec import Check, MethodRef
from axioms.subjects.built import ONLY

CONSERVING = ("conservation", "ledger")
SHOWN = ("scores", "output", "total")


def examples_of(check: Check, case: Case) -> Sequence[Example]:
    """Return what a report can show of the relevance itself, on a few of the examples."""
    method, subject = check.method, case.subject
    if method is None or check.rewrite is not None:
        return []
    if check.function == "ground_truth":
        side = next(iter(subject.sides))
        return sentences(subject, _recall(case, "all", method, side, lambda: case.attribution(method, side)))
    if check.function == "loo_correlation" and subject.tokens and ONLY in subject.sides:
        return texts(subject, _first(case, method, ONLY))
    if check.function == "implementation_invariance" and subject.data.shape is not None:
        left, right = (
            _recall(case, "all", method, side, partial(case.attribution, method, side)) for side in ("left", "right")
        )
        return images(subject, left, right)
    return []


def accounts_by_side(check: Check, case: Case) -> dict[str, dict[str, Any]]:
    """Return the ledger by side of a method that is made of rules; of any other there is none."""
    method = check.method
    if check.function not in CONSERVING or method is None or not is_made_of_rules(method.name):
        return {}

    def compute() -> dict[str, Values]:
        sides = {side: accounts_of(case.view(method, side)) for side in case.subject.sides}
        return {"json": np.array(json.dumps({side: account for side, account in sides.items() if account is not None}))}

    arrays = case.cache.recall_measured(case.key("accounts", identity(method)), compute)
    accounts: dict[str, dict[str, Any]] = json.loads(str(arrays["json"]))
    return accounts


def is_made_of_rules(name: str) -> bool:
    """Tell whether a method propagates relevance by rules: its own, or those that a spec gives it."""
    method = METHODS.get(name)
    return method.takes("rules") or (method.composite is not None and bool(method.composite().entries))


def _first(case: Case, method: MethodRef, side: str) -> Attribution:
    """Return the attribution of the first examples, by themselves: it is the same whatever else was run."""

    def attribute() -> Attribution:
        at = case.subject.sides[side]
        target = at.reorder(case.subject.target).rows(0, EXAMPLES)
        return case.rerun(method, at.model, at.inputs.rows(0, EXAMPLES), target, at.batch_size)

    return _recall(case, "first", method, side, attribute)


def _recall(
    case: Case, examples: str, method: MethodRef, side: str, attribute: Callable[[], Attribution]
) -> Attribution:
    """Return an attribution that is shown, from an earlier run where there is one: nothing is computed to be shown."""
    if is_adapted(method):
        return attribute()

    def compute() -> dict[str, Values]:
        attribution = attribute()
        return {name: getattr(attribution, name).double().cpu().numpy() for name in SHOWN}

    arrays = case.cache.recall_measured(case.key("shown", examples, side, identity(method)), compute)
    scores, output, total = (torch.from_numpy(np.asarray(arrays[name])) for name in SHOWN)
    return Attribution(scores, output, total, method.name)
