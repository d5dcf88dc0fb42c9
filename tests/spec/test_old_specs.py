"""Specs as they were written before `subjects` and `add` still load, and mean what they meant.

`old/meaning.txt` was written by the version before those: one line for each check of the specs beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from axioms.spec import PlacedBound, expand_file

FOLDER = Path(__file__).parent / "old"
MEANING = (FOLDER / "meaning.txt").read_text(encoding="utf-8").splitlines()


def meaning(file: Path) -> Iterator[str]:
    for check in expand_file(file).checks:
        parts = [f"{file.name}::{check.function}[{check.id}]", check.tier, f"expect {bounds(check.expect)}"]
        parts += [] if check.violation is None else [f"violated {bounds(check.violation)}"]
        parts += ["refused"] if check.refusal else []
        parts += [f"record {', '.join(check.record)}"] if check.record else []
        parts += [f"because {check.because}"] if check.because else []
        yield " | ".join(parts)


def bounds(placed: Iterable[PlacedBound]) -> str:
    return ", ".join(f"{bound.metric} {bound.bound}" for bound in placed)


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("[!_]*.yaml")))
def test_it_means_what_it_meant(name: str) -> None:
    assert list(meaning(FOLDER / name)) == [line for line in MEANING if line.startswith(f"{name}::")]


def test_every_line_is_of_a_spec() -> None:
    assert {line.partition("::")[0] for line in MEANING} == {file.name for file in FOLDER.glob("[!_]*.yaml")}
