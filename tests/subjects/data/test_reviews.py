"""The project's own review sentences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from axioms.core.errors import AssetMissing
from axioms.subjects.assets import locate
from axioms.subjects.data.overlap import overlapping
from axioms.subjects.load import load_model
from axioms.subjects.models.accuracy import accuracy

FIXTURES = Path(__file__).parents[3] / "fixtures"
HEADER, *LINES = (FIXTURES / "reviews.tsv").read_text(encoding="utf-8").splitlines()
ROWS = [tuple(line.split("\t")) for line in LINES]
TEXTS = [row[0] for row in ROWS]


def test_labels_and_kinds_are_balanced_also_in_every_six_rows() -> None:
    assert HEADER == "text\tlabel\tkind"
    assert len(ROWS) == 96
    for start in range(0, len(ROWS), 6):
        kinds = Counter(row[1:] for row in ROWS[start : start + 6])
        assert kinds == {(label, kind): 1 for label in "01" for kind in ("plain", "negation", "contrast")}


def test_no_sentence_is_a_copy_or_a_template_of_another() -> None:
    assert len(set(TEXTS)) == len(TEXTS)
    for bit in range(7):  # two different indices differ in one of their bits, so every pair is compared
        zeros, ones = ([text for at, text in enumerate(TEXTS) if (at >> bit) % 2 == side] for side in (0, 1))
        assert not any(overlapping(zeros, ones))


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The folder of the asset where it is cached; tests fetch nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AXIOMS_OFFLINE", "1")
        try:
            return locate("all-MiniLM-L6-v2", FIXTURES)
        except AssetMissing as reason:
            pytest.skip(f"{reason} (`axioms assets fetch all-MiniLM-L6-v2`)")


def test_lengths_are_8_to_40_tokens_special_ones_included(minilm: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm)
    lengths = [len(ids) for ids in tokenizer(TEXTS)["input_ids"]]
    assert min(lengths) - 2 >= 8
    assert max(lengths) <= 40


def test_the_committed_model_reads_most_of_them_right(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    score = accuracy(load_model("minilm-sentiment", {}, FIXTURES), TEXTS, [int(row[1]) for row in ROWS])
    assert score.share > 0.75, score  # chance is 0.5; 0.75 is five standard errors above it
