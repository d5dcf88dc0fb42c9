"""How far a metric may move: what a spec says, what an axiom says, what the dtype says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.core.registry import AXIOMS
from axioms.spec import expand_file
from axioms.spec.tolerance import DEFAULTS, Tolerance, tolerance_of

Write = Callable[..., Path]


def found(stated: dict[str, Tolerance], axiom: str, metric: str, dtype: str = "float64", check: str = "attnlrp") -> str:
    tolerance = tolerance_of(stated, AXIOMS.get(axiom), check, metric, dtype)
    return "any" if tolerance is None else f"{tolerance.abs:g} {tolerance.rel:g}"


def test_defaults_depend_on_the_dtype() -> None:
    assert found({}, "conservation", "ratio.mean") == "1e-07 1e-06"
    assert found({}, "conservation", "ratio.mean", "float32") == "0.0001 0.0001"
    sizes = [DEFAULTS[dtype].abs or 0.0 for dtype in ("float64", "float32", "float16")]
    assert sizes == sorted(sizes)


def test_an_axiom_of_rounding_says_so_and_one_of_time_is_never_gated() -> None:
    assert found({}, "precision", "relative_gap.max") == "0.0001 1"
    timed = next(AXIOMS.get(name) for name in AXIOMS if AXIOMS.get(name).timed)
    assert found({}, timed.name, next(iter(timed.metrics))) == "any"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("loo_correlation.left.pearson.mean", True),
        ("loo_correlation.pearson.mean", True),
        ("loo_correlation.pearson", True),
        ("loo_correlation.*", True),
        ("*.pearson*", True),
        ("attnlrp/loo_correlation.*", True),
        ("attn*/*", True),
        ("cp_lrp/loo_correlation.*", False),
        ("loo_correlation.spearman", False),
        ("loo_correlation.right.*", False),
        ("conservation.*", False),
    ],
)
def test_patterns(pattern: str, matches: bool) -> None:
    stated = {pattern: Tolerance(abs=0.25)}
    assert found(stated, "loo_correlation", "left.pearson.mean") == ("0.25 1e-06" if matches else "1e-07 1e-06")


def test_the_first_pattern_counts() -> None:
    stated = {"*.pearson*": Tolerance(rel=0.5), "*": Tolerance(abs=1.0)}
    assert found(stated, "loo_correlation", "pearson.mean") == "1e-07 0.5"
    assert found(stated, "loo_correlation", "spearman.mean") == "1 1e-06"


def test_a_spec_states_tolerances(write_spec: Write, good_spec: str) -> None:
    file = write_spec(good_spec + "tolerance: {conservation.ratio.mean: {abs: 0.01}}\n")
    assert expand_file(file).checks[0].tolerance == {"conservation.ratio.mean": Tolerance(abs=0.01)}


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ("{conservation.ratoi: {abs: 1.0}}", "'conservation' measures no 'ratoi'. Did you mean 'ratio'?"),
        ("{conservtion.*: {abs: 1.0}}", "matches no `axiom.metric`. Did you mean 'conservation'?"),
        ("{conservation.*: {abs: -1.0}}", "greater than or equal to 0"),
        ("{conservation.*: {}}", "a tolerance is {abs: ...}, {rel: ...} or both"),
        ("{conservation.*: {absolute: 1.0}}", "absolute: unknown key. Known: abs, rel."),
        ("{conservation.*: 0.1}", "tolerance.conservation.*"),
    ],
)
def test_mistakes_get_their_line(write_spec: Write, good_spec: str, stated: str, what: str) -> None:
    with pytest.raises(SpecError) as error:
        expand_file(write_spec(good_spec + f"tolerance: {stated}\n"))
    assert "mine.yaml:10: tolerance" in str(error.value)
    assert what in str(error.value)
