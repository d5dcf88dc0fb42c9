"""The mutants themselves: what is edited, what is left alone, and that a sample is the seed's."""

from __future__ import annotations

import pytest
import yaml

from tests.mutation.operators import mutants_of
from tests.mutation.run import EQUIVALENT, all_mutants, draw


def edits(line: str) -> set[tuple[str, str]]:
    return {(mutant.operator, mutant.now) for mutant in mutants_of("a.py", f"{line}\n")}


@pytest.mark.parametrize(
    ("line", "operator", "now"),
    [
        ("x = 3", "constant", "x = 4"),
        ("x = 1e-9", "constant", "x = 1.000000001"),
        ("x = True", "constant", "x = False"),
        ("x = a < b", "comparison", "x = a <= b"),
        ("x = a is None", "comparison", "x = a is not None"),
        ("x = a * b + c", "operator", "x = (a / b) + c"),
        ("x = a and b", "operator", "x = (a or b)"),
        ("x = -a", "operator", "x = (a)"),
        ("x = not a", "dropped not", "x = (a)"),
        ("x = ~a", "dropped not", "x = (a)"),
        ("x = (a + b).detach()", "dropped detach", "x = (a + b)"),
        ("x = f(a, b, c)", "swapped arguments", "x = f(b, a, c)"),
        ("x = a[1:n]", "off by one", "x = a[1:(n) + 1]"),
        ("x = range(n)", "off by one", "x = range((n) + 1)"),
        ("x = max(a, b)", "min/max", "x = min(a, b)"),
        ("x = (a * b).sum(1)", "min/max", "x = (a * b).mean(1)"),
        ("x = a.clamp(min=b)", "min/max", "x = a.clamp(max=b)"),
        ("x = f(a, b=c)", "dropped keyword", "x = f(a)"),
        ("f(a)", "dropped statement", "pass"),
        ("x += a", "dropped statement", "pass"),
        ("x = f(x)", "dropped statement", "pass"),
    ],
)
def test_edits(line: str, operator: str, now: str) -> None:
    assert (operator, now) in edits(line)


@pytest.mark.parametrize(
    "line",
    [
        "def f(x: int | None) -> list[int]: ...",
        "assert x == 1",
        "raise ValueError(1 + 1)",
        "x = f'{a + 1}'",
        "if TYPE_CHECKING: y = 1",
        "x = zip(a, strict=True)",
        "'A docstring with 1 < 2.'",
        "Name = Callable[[int], int]",
        "x = relative_gap(a, b)",
    ],
)
def test_what_no_run_can_notice_is_left_alone(line: str) -> None:
    assert edits(line) == set()


def test_a_sample_is_the_seeds_and_has_every_operator() -> None:
    pool = all_mutants("axioms/verdict/")
    first, again, other = draw(pool, 40, 1), draw(pool, 40, 1), draw(pool, 40, 2)
    assert first == again
    assert first != other
    assert {mutant.operator for mutant in first} == {mutant.operator for mutant in pool}


def test_every_equivalent_mutant_still_exists_and_has_a_reason() -> None:
    listed = yaml.safe_load(EQUIVALENT.read_text())
    files = {row["file"] for row in listed}
    known = {(mutant.file, mutant.was, mutant.now) for file in files for mutant in all_mutants(file)}
    for row in listed:
        assert row["why"]
        assert (row["file"], row["was"], row["now"]) in known, f"{row['file']} has no such mutant: {row['was']}"
