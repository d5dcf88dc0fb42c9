"""Every metric of implementation invariance, from two maps that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from axioms.model.inputs import Inputs
from axioms.properties.helpers.views import PairView, SideView
from axioms.properties.implementation_invariance import implementation_invariance
from tests.properties.sides import Three, make_side

LEFT = np.array([[1.0, 2.0, 4.0, -1.0], [3.0, -2.0, 0.5, 9.0], [1.0, 2.0, 7.0, 7.0]])
RIGHT = np.array([[2.0, 1.0, 5.0, 0.0], [-4.0, 1.0, 1.0, 8.0], [3.0, 1.0, 7.0, 7.0]])
COUNTED = np.array([[True] * 4, [True, True, True, False], [True, True, False, False]])


def said(scores: np.ndarray[Any, Any]) -> SideView:
    features = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    inputs = Inputs(features, candidates=torch.from_numpy(COUNTED))
    return make_side(Three(), inputs, method=lambda *_: torch.from_numpy(scores.copy()), batch_size=3)[0]


def test_maps_are_compared_over_their_candidates_and_gaps_over_all_features() -> None:
    found = implementation_invariance(PairView(said(LEFT), said(RIGHT)))
    assert set(found) == {
        "relative_gap",
        "pearson",
        "pearson_sum_normalized",
        "spearman",
        "sign_flipped",
        "undefined",
    }
    np.testing.assert_allclose(found["relative_gap"], [1 / 5, 7 / 9, 2 / 7])
    assert found["undefined"].tolist() == [0.0, 0.0, 1.0]
    for name in ("pearson", "pearson_sum_normalized", "spearman", "sign_flipped"):
        assert np.ma.getmaskarray(found[name]).tolist() == [False, False, True], name
    for row in (0, 1):
        left, right = LEFT[row][COUNTED[row]], RIGHT[row][COUNTED[row]]
        r = stats.pearsonr(left, right).statistic
        assert found["pearson"][row] == pytest.approx(r)
        assert found["spearman"][row] == pytest.approx(stats.spearmanr(left, right).statistic)
        divided = stats.pearsonr(left / left.sum(), right / right.sum()).statistic
        assert found["pearson_sum_normalized"][row] == pytest.approx(divided)
    assert found["sign_flipped"][:2].tolist() == [0.0, 1.0]  # 3 - 2 + 0.5 is positive, -4 + 1 + 1 negative
    assert found["pearson_sum_normalized"][1] == pytest.approx(-found["pearson"][1])
