"""Paired tests against all sign patterns, Holm's correction by its definition, and error rates under the null."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.spec import Bound
from axioms.verdict.statistics import claim_p, cohen_d_z, finite_ends, holm, sign_flip_p, win_share

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def by_every_pattern(values: np.ndarray) -> float:
    sums = [abs(sum(np.array(signs) * values)) for signs in itertools.product((-1, 1), repeat=len(values))]
    return float(np.mean(np.array(sums) >= abs(values.sum()) - 1e-9))


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14])
def test_exact_against_every_pattern(n: int) -> None:
    values = np.random.default_rng(n).normal(0.4, 1, size=n)
    assert sign_flip_p(values, seed=0) == pytest.approx(by_every_pattern(values))


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
def test_drawn_against_every_pattern(shift: float) -> None:
    values = np.random.default_rng(3).normal(shift, 1, size=16)
    assert sign_flip_p(values, seed=0) == pytest.approx(by_every_pattern(values), abs=0.02)
    assert sign_flip_p(values, seed=0) == sign_flip_p(values, seed=0)


def test_rounding_hides_no_tie() -> None:
    """Ten times 0.1 and one 0.3: many patterns have the same sum, written in another order."""
    values = np.array([*[0.1] * 10, -0.3])
    assert sign_flip_p(values, seed=0) == by_every_pattern(values)


def test_ties_count_as_extreme_and_p_is_never_zero() -> None:
    assert sign_flip_p(np.full(8, 0.1), seed=0) == 2 / 2**8
    assert sign_flip_p(np.full(500, 0.1), seed=0) == 1e-4
    assert sign_flip_p(np.zeros(30), seed=0) == 1.0
    assert sign_flip_p(np.array([5.0]), seed=0) == 1.0, "one example shows nothing"


def test_the_claim_is_tested_at_the_bound() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.3, size=60)
    assert claim_p(values, Bound(gt=0.0), seed=0) == sign_flip_p(values, seed=0) == 1e-4
    assert claim_p(values, Bound(ge=0.48), seed=0) > 0.2
    ends = [sign_flip_p(values - end, seed=0) for end in (0.3, 0.55)]
    assert claim_p(values, Bound(between=(0.3, 0.55)), seed=0) == max(ends)
    assert claim_p(np.array([1.0, np.nan]), Bound(gt=0.0), seed=0) == 1.0
    assert claim_p(np.array([]), Bound(gt=0.0), seed=0) == 1.0


def rejected_by_definition(p_values: list[float], alpha: float) -> set[int]:
    """Holm (1979): step down from the smallest p; stop at the first above alpha / (how many are left)."""
    rejected: set[int] = set()
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - rank) > alpha:
            break
        rejected.add(index)
    return rejected


@given(probabilities, st.floats(0.001, 0.5))
def test_holm_rejects_what_its_definition_rejects(p_values: list[float], alpha: float) -> None:
    adjusted = holm(p_values)
    assert {index for index, p in enumerate(adjusted) if p <= alpha} == rejected_by_definition(p_values, alpha)
    assert all(p <= one <= 1 for p, one in zip(p_values, adjusted, strict=True))


@given(probabilities, st.randoms())
def test_holm_does_not_depend_on_the_order(p_values: list[float], random: object) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert holm([p_values[index] for index in order]) == [holm(p_values)[index] for index in order]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize("n", [8, 25])
def test_false_positives_under_the_null_are_as_rare_as_claimed(n: int) -> None:
    """Skewless but heavy-tailed differences without an effect: about 5% of single tests reject, and so do families."""
    rng = np.random.default_rng(n)
    trials, family = 250, 4
    single = families = 0
    for _ in range(trials):
        p_values = [sign_flip_p(rng.standard_t(3, size=n), seed=int(rng.integers(10**9))) for _ in range(family)]
        single += p_values[0] <= 0.05
        families += min(holm(p_values)) <= 0.05
    # 250 trials at 5%: a standard deviation of 1.4%.
    assert single / trials <= 0.10
    assert families / trials <= 0.10
    assert families > 0, "the test can reject"


def test_power_where_there_is_an_effect() -> None:
    rng = np.random.default_rng(5)
    rejections = sum(sign_flip_p(rng.normal(0.8, 1, size=25), seed=trial) <= 0.05 for trial in range(60))
    assert rejections >= 50


def test_effect_sizes() -> None:
    differences = np.array([1.0, 2.0, 3.0, -2.0, 0.0])
    assert cohen_d_z(differences) == pytest.approx(0.8 / np.sqrt(((differences - 0.8) ** 2).sum() / 4))
    assert cohen_d_z(np.array([0.1, 0.1, 0.1])) is None
    assert cohen_d_z(np.array([1.0])) is None
    assert win_share(differences, Bound(gt=0.0)) == 0.6
    assert win_share(differences, Bound(lt=0.0)) == 0.2, "where less is better, less is a win"
    assert win_share(np.array([]), Bound(gt=0.0)) == 0.0


@pytest.mark.parametrize(
    ("bound", "ends"),
    [
        (Bound(gt=0.5), [0.5]),
        (Bound(ge=2), [2]),
        (Bound(lt=3), [3]),
        (Bound(le=-1), [-1]),
        (Bound(between=(2, 3)), [2, 3]),
        (Bound(approx=5, abs=0.5), [4.5, 5.5]),
    ],
)
def test_a_claim_clears_the_finite_ends_of_its_bound(bound: Bound, ends: list[float]) -> None:
    assert finite_ends(bound) == ends
    values = np.random.default_rng(0).normal(3, 1, size=8)
    assert claim_p(values, bound, seed=0) == max(by_every_pattern(values - end) for end in ends)


def test_effect_sizes_by_hand() -> None:
    assert cohen_d_z(np.array([1.0])) is None
    assert cohen_d_z(np.array([2.0, 2.0, 2.0])) is None
    assert cohen_d_z(np.array([0.0, 0.0])) is None
    assert cohen_d_z(np.array([1.0, 3.0])) == pytest.approx(2 / 2**0.5)
    assert cohen_d_z(np.array([-1.0, -3.0, -2.0])) == pytest.approx(-2.0)
    differences = np.array([1.0, 0.0, -1.0, -2.0])
    assert win_share(differences, Bound(gt=0)) == win_share(differences, Bound(ge=0)) == 0.25
    assert win_share(differences, Bound(lt=0)) == win_share(differences, Bound(le=0)) == 0.5
    assert win_share(np.array([]), Bound(gt=0)) == 0.0
    assert claim_p(np.array([]), Bound(gt=0), seed=0) == 1.0
    assert claim_p(np.array([1.0, np.nan]), Bound(gt=0), seed=0) == 1.0


def test_up_to_fourteen_examples_every_pattern_is_tried() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, size=15)
    assert sign_flip_p(values[:14], seed=0) * 2**14 == pytest.approx(round(sign_flip_p(values[:14], seed=0) * 2**14))
    drawn = sign_flip_p(values, seed=0)
    assert drawn * 10_000 == pytest.approx(round(drawn * 10_000))
    assert sign_flip_p(values, seed=1) != drawn


def test_two_examples_show_a_little_and_their_size_does_not_matter() -> None:
    assert sign_flip_p(np.array([1.0, 1.0]), seed=0) == 0.5
    assert sign_flip_p(np.array([1.0]), seed=0) == 1.0
    values = np.random.default_rng(3).normal(0.4, 1, size=9)
    wanted = by_every_pattern(values)
    for scale in (1e-14, 1.0, 1e14):
        assert sign_flip_p(values * scale, seed=0) == pytest.approx(wanted)
