"""Cost: the time of a method over that of one pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axioms.core.entries import Method
from axioms.core.registry import METHODS
from axioms.run.runner import Runner
from axioms.spec import expand_file

SPEC = """claim: c
subject:
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 2, length: 8}}
run: {dtype: float64}
methods: [cp_lrp]
checks:
  - axiom: {cost: {rounds: 3}}
    record: [passes, seconds]
"""


def test_cost_is_in_units_of_cp_lrp(write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CP-LRP takes 20 ms and another method 60 ms, that one costs three passes."""
    original = METHODS.get("cp_lrp")

    def taking(seconds: float) -> Method:
        def slow(model: Any, inputs: Any, target: Any) -> Any:
            time.sleep(seconds)
            return inputs.features

        return Method("slow", slow)

    monkeypatch.setitem(METHODS._entries, "cp_lrp", taking(0.02))
    monkeypatch.setitem(METHODS._entries, "slow", taking(0.06))
    (check,) = expand_file(write_spec(SPEC.replace("methods: [cp_lrp]", "methods: [slow]"))).checks
    measured = Runner().run(check).measurement
    passes, seconds = (measured.quantity(name).value for name in ("passes", "seconds"))
    assert isinstance(passes, float)
    assert passes == pytest.approx(3, rel=0.4)
    assert seconds == pytest.approx(0.06, rel=0.5)
    assert original.passes == 1
