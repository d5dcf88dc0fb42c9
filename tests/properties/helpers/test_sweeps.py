"""A measure under every setting of a sweep, layer by layer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from axioms.properties.helpers.sweeps import Tables, _Setting

SINGLE = np.array([[1.0, 2.0, 4.0, 8.0, 16.0], [0.0, 1.0, 0.0, 3.0, 5.0]])
NONE, EVERY = np.array([1.0, -1.0]), np.array([3.0, 4.0])


def test_gains_are_over_nothing_bypassed() -> None:
    tables = Tables(NONE, EVERY, {"single": SINGLE})
    assert tables.total_gain.tolist() == [2.0, 5.0]
    assert tables.single_gain.tolist() == [[0.0, 1.0, 3.0, 7.0, 15.0], [1.0, 2.0, 1.0, 4.0, 6.0]]


@pytest.mark.parametrize(
    ("layers", "wanted"),
    [(5, [22 / 2 - 1 / 2, 10 / 2 - 3 / 2]), (4, [10 / 2 - 1 / 2, 5 / 2 - 3 / 2]), (2, [1.0, 1.0]), (3, [3.0, 0.0])],
)
def test_late_layers_minus_early_ones(layers: int, wanted: list[float]) -> None:
    """The middle layer of an odd number is in neither half."""
    assert Tables(NONE, EVERY, {"single": SINGLE[:, :layers]}).late_minus_early.tolist() == wanted


def test_one_layer_has_no_halves() -> None:
    assert np.isnan(Tables(NONE, EVERY, {"single": SINGLE[:, :1]}).late_minus_early).all()


def test_a_setting_has_its_own_relevance_and_its_part_of_the_progress() -> None:
    told: list[tuple[int, int]] = []
    bench = SimpleNamespace(progress=lambda *step: told.append(step), known=7)
    setting: Any = _Setting(bench, "its own", 2, 5)  # type: ignore[arg-type]
    assert setting.attribution() == "its own"
    assert setting.known == 7
    setting.progress(3, 10)
    assert told == [(23, 50)]
