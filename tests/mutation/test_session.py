"""Which mutants are functions with other code: everything else has to be imported."""

from __future__ import annotations

import pytest

from tests.mutation.operators import mutants_of
from tests.mutation.session import changed_functions

SOURCE = """
LIMIT = 3

def plain(x, y=4):
    return x + LIMIT

def outer(x):
    def inner(y):
        return x < y
    return inner

class Thing:
    size = 5

    def method(self):
        return first(
            self.size,
            self.size * 6,
        )

def last(): return 7
"""


def changed(now: str) -> list[str] | None:
    (mutant,) = (mutant for mutant in mutants_of("a.py", SOURCE) if mutant.now == now)
    pairs = changed_functions(compile(SOURCE, "a.py", "exec"), compile(mutant.source, "a.py", "exec"))
    return None if pairs is None else [before.co_qualname for before, _ in pairs]


@pytest.mark.parametrize(
    ("now", "functions"),
    [
        ("return (x - LIMIT)", ["plain"]),
        ("return x <= y", ["outer", "outer.<locals>.inner"]),
        ("return first(self.size * 6, self.size)", ["Thing.method"]),  # and not `last`, whose line stays its own
        ("def last(): return 8", ["last"]),
    ],
)
def test_a_function_gets_other_code_with_those_inside_it(now: str, functions: list[str]) -> None:
    assert changed(now) == functions


@pytest.mark.parametrize("now", ["LIMIT = 4", "def plain(x, y=5):", "size = 6"])
def test_what_runs_at_import_has_to_be_imported(now: str) -> None:
    assert changed(now) is None
