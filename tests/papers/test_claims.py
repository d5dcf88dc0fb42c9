"""Every printed number that a claim rests on stands in the paper's text, beside the words that say whose it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from axioms.papers import PAPERS, PaperClaim, Printed

TEXTS = {"you2025": "lrp-vs-loo.txt", "arras2025": "decomposition-methods.txt"}
NUMBERS = [
    pytest.param(paper, number, id=f"{paper}-{claim.key}-{index}")
    for paper in TEXTS
    for claim in PAPERS[paper].claims
    for index, number in enumerate(claim.printed)
]


@pytest.fixture
def folder(root: Path) -> Path:
    """Where the papers' texts are, beside this project."""
    for above in root.parents:
        if (above / "shared" / "papers").is_dir():
            return above / "shared" / "papers"
    pytest.skip("the papers' texts (../shared/papers) are not here; they are not ours to redistribute")


@pytest.mark.parametrize(("paper", "number"), NUMBERS)
def test_a_printed_number_stands_in_the_text(folder: Path, paper: str, number: Printed) -> None:
    lines = (folder / TEXTS[paper]).read_text(encoding="utf-8").splitlines()
    spelled = re.compile(rf"(?<![\d.]){re.escape(number.text)}(?![\d]|\.\d)")
    assert any(all(words in line for words in number.beside) and spelled.search(line) for line in lines), number


@pytest.mark.parametrize("paper", TEXTS)
def test_rows_have_their_own_keys_and_fit_a_line(paper: str) -> None:
    claims = PAPERS[paper].claims
    assert len({claim.key for claim in claims}) == len(claims)
    assert all(len(claim.claim) <= 60 for claim in claims)


def test_a_number_that_is_not_there_is_noticed(folder: Path) -> None:
    wrong = Printed("0.53", "CP-LRP", ("| CP-LRP | 0.52 | 1.00 |",))
    with pytest.raises(AssertionError):
        test_a_printed_number_stands_in_the_text(folder, "you2025", wrong)


def test_what_a_scorecard_shows() -> None:
    numbers = (Printed("0.52", "CP-LRP", ()), Printed("0.22", "AttnLRP", ()))
    assert PaperClaim("C", "c", "p", numbers).printed_text == "0.52 against 0.22"
    assert PaperClaim("C", "c", "p", numbers, "+0.30").printed_text == "+0.30"
