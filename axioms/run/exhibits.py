"""What a report shows beside the numbers: relevance on a few examples, and the accounts of where it went."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from axioms.core.values import Values
from axioms.engine.attribution import Attribution
from axioms.properties.helpers.accounts import accounts_of
from axioms.record import Example
from axioms.run.case import Case
from axioms.run.examples import EXAMPLES, SENTENCES, Ranked, images, sentences, texts
from axioms.spec import MethodRef
from axioms.subjects.built import ONLY

MOST = {"ground_truth": SENTENCES, "loo_correlation": EXAMPLES, "implementation_invariance": EXAMPLES}
"""Examples that a report shows, by axiom."""
_EXAMPLE: TypeAdapter[Example] = TypeAdapter(Example)


def shown_examples(case: Case, axiom: str, method: MethodRef) -> dict[str, Values]:
    """Return those examples of a shard that a report may show for an axiom, as JSON with the rank of each."""
    subject = case.subject
    ranked: Sequence[Ranked]
    if axiom == "ground_truth":
        ranked = sentences(subject, case.attribution(method, next(iter(subject.sides))))
    elif axiom == "loo_correlation":
        ranked = texts(subject, _first(case, method))
    else:
        ranked = images(subject, *(case.attribution(method, side) for side in ("left", "right")))
    return _packed([[rank, example.model_dump(mode="json")] for rank, example in ranked])


def chosen_examples(axiom: str, parts: Iterable[Mapping[str, Values]]) -> list[Example]:
    """Return the examples of highest rank among those of all shards; of equal ones the earlier."""
    ranked = [pair for part in parts for pair in _unpacked(part)]
    ranked.sort(key=lambda pair: -pair[0])
    return [_EXAMPLE.validate_python(example) for _, example in ranked[: MOST[axiom]]]


def accounts(case: Case, method: MethodRef) -> dict[str, Values]:
    """Return the ledger of a method by side, as JSON."""
    sides = {side: accounts_of(case.view(method, side)) for side in case.subject.sides}
    return _packed({side: account for side, account in sides.items() if account is not None})


def accounts_by_side(parts: Sequence[Mapping[str, Values]]) -> dict[str, dict[str, Any]]:
    """Return the ledger by side, which is that of the first examples."""
    by_side: dict[str, dict[str, Any]] = _unpacked(parts[0])
    return by_side


def _first(case: Case, method: MethodRef) -> Attribution:
    """Return the attribution of the first examples, out of that which the check itself needed."""
    whole = case.attribution(method, ONLY)
    scores, output, total = (rows[:EXAMPLES] for rows in (whole.scores, whole.output, whole.total))
    return replace(whole, scores=scores, output=output, total=total)


def _packed(content: Any) -> dict[str, Values]:
    return {"json": np.array(json.dumps(content))}


def _unpacked(arrays: Mapping[str, Values]) -> Any:
    return json.loads(str(arrays["json"]))
