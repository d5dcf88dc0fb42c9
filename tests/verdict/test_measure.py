"""Numbers with intervals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from axioms.verdict.measure import Measurement, Quantity, aggregated, bootstrap_interval


def mean(values: list[float], seed: int = 0) -> object:
    return aggregated(np.array(values), "mean", confidence=0.95, seed=seed)


def test_aggregates() -> None:
    values = np.array([3.0, -1.0, 2.0, 8.0])
    quantities = {name: aggregated(values, name, confidence=0.95, seed=0) for name in ("mean", "max", "min", "median")}
    assert {name: quantity.value for name, quantity in quantities.items()} == {
        "mean": 3,
        "max": 8,
        "min": -1,
        "median": 2.5,
    }
    assert {name: quantity.worst for name, quantity in quantities.items()} == {
        "mean": 1,
        "max": 3,
        "min": 1,
        "median": None,
    }
    assert quantities["mean"].interval is not None
    assert quantities["max"].interval is None, "a bootstrap says nothing about a maximum"


def test_no_interval_of_one_example_and_a_point_where_all_agree() -> None:
    assert bootstrap_interval(np.array([2.0]), confidence=0.95, seed=0) is None
    assert bootstrap_interval(np.array([2.0, 2.0, 2.0]), confidence=0.95, seed=0) == (2.0, 2.0)


def test_examples_that_differ_by_rounding_have_an_interval() -> None:
    """BCa of such is not a number, and nothing in results.json may be that."""
    for number in range(1, 6):
        values = np.ones(48)
        values[:number] += 4e-15
        values[-1] -= 2e-15
        low, high = bootstrap_interval(values, confidence=0.95, seed=0) or (np.nan, np.nan)
        assert 1 - 1e-14 < low <= high < 1 + 1e-14


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(0).normal(size=30)
    assert mean(values.tolist(), 5) == mean(values.tolist(), 5)
    assert mean(values.tolist(), 5) != mean(values.tolist(), 6)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.normal(size=40), confidence=0.9, seed=trial) or (0, 0)
        covered += low <= 0 <= high
    assert 0.82 <= covered / 200 <= 0.97


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_the_interval_lies_within_the_data(values: list[float]) -> None:
    interval = bootstrap_interval(np.array(values), confidence=0.95, seed=0)
    assert interval is not None
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= interval[0] <= interval[1] <= max(values) + slack


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("aggregate", ["mean", "max", "min", "median"])
def test_one_bad_value_spoils_every_aggregate(aggregate: str, bad: float) -> None:
    quantity = aggregated(np.array([1.0, bad, 2.0]), aggregate, confidence=0.95, seed=0)
    assert not quantity.finite
    assert quantity.worst == 1


def test_a_measurement_knows_scalars_vectors_and_samples() -> None:
    values = {"left.r": np.array([0.0, 1.0]), "gain": np.array(0.5), "scores": np.array([[1.0, 2.0]])}
    kinds = {"left.r": "per_example", "gain": "scalar", "scores": "vector"}
    measurement = Measurement(values, kinds, 0.95, 0)
    assert measurement.quantity("left.r.mean").value == 0.5
    assert measurement.quantity("gain") == Quantity(0.5, 1)
    assert measurement.quantity("scores").value == [[1.0, 2.0]]


def test_where_bca_is_undefined_percentiles_take_its_place_in_silence() -> None:
    values = np.array([1.0, 1.0, 1.0, 1.0, 1.0 + 1e-14])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interval = bootstrap_interval(values, confidence=0.95, seed=0)
    assert interval is not None
    low, high = interval
    assert 1.0 <= low <= high <= 1.0 + 1e-14


def test_intervals_by_scipy_and_those_that_need_none() -> None:
    values = np.random.default_rng(0).exponential(size=20)
    wanted = bootstrap(
        (values,), np.mean, confidence_level=0.9, n_resamples=4000, method="BCa", rng=np.random.default_rng(7)
    ).confidence_interval
    assert bootstrap_interval(values, confidence=0.9, seed=7) == pytest.approx((wanted.low, wanted.high))
    assert bootstrap_interval(values[:1], confidence=0.9, seed=7) is None
    assert bootstrap_interval(np.array([2.0, 2.0]), confidence=0.9, seed=7) == (2.0, 2.0)
    assert bootstrap_interval(np.array([1.0, 2.0]), confidence=0.9, seed=7) == (1.0, 2.0)
    huge = np.array([1e20, 1e20 * (1 + 2.0**-52)])
    assert bootstrap_interval(huge, confidence=0.9, seed=7) == tuple(huge)


def test_a_curve_is_the_mean_of_the_examples_that_have_one() -> None:
    grid = np.ma.masked_array([[1.0, 2.0], [9.0, 9.0], [3.0, 6.0]], [[False] * 2, [True] * 2, [False] * 2])
    nobody = np.ma.masked_array([[1.0, 2.0]], [[True] * 2])
    values = {"some": grid, "none": nobody, "empty": np.zeros((0, 2)), "point": np.array([[1.0], [2.0]])}
    measurement = Measurement(values, dict.fromkeys(values, "curve"), 0.95, 0)
    assert (measurement.quantity("some").value, measurement.quantity("some").n) == ([2.0, 4.0], 2)
    assert measurement.quantity("point") == Quantity([1.5], 2)
    for name in ("none", "empty"):
        assert not measurement.quantity(name).finite
        assert measurement.quantity(name).n == 0


def test_examples_without_a_value_are_left_out_and_the_worst_keeps_its_number() -> None:
    values = np.ma.masked_array([0.0, 5.0, 1.0, 3.0], [True, False, False, False])
    for aggregate, value, worst in (("mean", 3.0, 2), ("max", 5.0, 1), ("min", 1.0, 2), ("median", 3.0, None)):
        quantity = aggregated(values, aggregate, confidence=0.95, seed=0)
        assert (quantity.value, quantity.n, quantity.worst) == (value, 3, worst)
    assert aggregated(np.ma.masked_all(2), "mean", confidence=0.95, seed=0).n == 0


def test_no_interval_warns_whatever_the_examples() -> None:
    generator = np.random.default_rng(0)
    cases = [np.array([1.0, 1.0 + 4e-15]), np.array([0.0] * 30 + [1.0]), generator.normal(size=5)]
    for number in range(1, 6):
        nearly_equal = np.ones(48)
        nearly_equal[:number] += 4e-15
        nearly_equal[-1] -= 2e-15
        cases.append(nearly_equal)
    for values in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert bootstrap_interval(values, confidence=0.95, seed=0) is not None


def test_a_list_is_finite_where_every_number_is() -> None:
    """A masked number, which a list says as None, is no number either."""
    assert Quantity([1.0, 2.0], 2).finite
    for value in ([1.0, np.nan], [np.inf, 1.0], [1.0, None], [[1.0], [np.nan]]):
        assert not Quantity(value, 2).finite


@pytest.mark.parametrize(("size", "step"), [(1e20, 2.0**14), (0.0, 1e-17)])
def test_rounding_is_no_sample(size: float, step: float) -> None:
    """Numbers a few units in the last place apart, or all next to zero, have their ends as an interval."""
    values = size + step * np.array([0.0, 3.0, 1.0, 2.0, 5.0, 4.0, 3.0, 2.0])
    assert bootstrap_interval(values, confidence=0.95, seed=0) == (values.min(), values.max())
    apart = size + 1e4 * max(step, 1e-16) * np.arange(8.0)
    low, high = bootstrap_interval(apart, confidence=0.95, seed=0) or (np.nan, np.nan)
    assert apart.min() < low < apart.mean() < high < apart.max()
