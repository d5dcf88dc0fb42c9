"""From the answers of shards to the measurement of a subject."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axioms.core.entries import Axiom
from axioms.core.registry import AXIOMS
from axioms.core.values import Values
from axioms.run.address import Address
from axioms.run.answers import NOTES, Executor
from axioms.run.requests import measurement
from axioms.spec import MethodRef
from axioms.spec.metrics import split_metric
from axioms.verdict.measure import Measurement


def measure(
    executor: Executor, address: Address, name: str, options: Mapping[str, Any], method: MethodRef | None
) -> Measurement:
    """Return everything that an axiom measures of a method on a subject."""
    axiom = AXIOMS.get(name)
    answers = executor.answers(address, measurement(name, options, method))
    values = joined(axiom, [{full: part for full, part in answer.items() if full != NOTES} for answer in answers])
    notes = dict.fromkeys(note for answer in answers if NOTES in answer for note in json.loads(str(answer[NOTES])))
    kinds = {full: axiom.metrics[_metric(axiom, full)].kind for full in values}
    return Measurement(values, kinds, address.run.confidence, address.run.seed, tuple(notes))


def joined(axiom: Axiom, parts: Sequence[Mapping[str, Values]]) -> Mapping[str, Values]:
    """Return the values of all examples from those of each shard, in the order of the shards."""
    if len(parts) == 1:
        return parts[0]
    derived = {full: axiom.metrics[_metric(axiom, full)].derive for full in parts[0]}
    values = {full: _concatenated([part[full] for part in parts]) for full in parts[0] if derived[full] is None}
    for full, derive in derived.items():
        if derive is not None:
            side = full.removesuffix(_metric(axiom, full))
            metrics = {metric: values[f"{side}{metric}"] for metric in axiom.metrics if f"{side}{metric}" in values}
            values[full] = derive(metrics)
    return {full: values[full] for full in parts[0]}


def _metric(axiom: Axiom, full: str) -> str:
    """Return the name of a metric without its side."""
    return split_metric(axiom, full)[1]


def _concatenated(columns: Sequence[Values]) -> Values:
    is_masked = any(isinstance(column, np.ma.MaskedArray) for column in columns)
    joined: Values = np.ma.concatenate(columns) if is_masked else np.concatenate(columns)
    return joined
