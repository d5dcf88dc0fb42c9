"""The held-out tenth is fixed by the text alone."""

from __future__ import annotations

import csv
from pathlib import Path

from axioms.subjects.data.splits import PARTS, digest, is_held_out, part
from axioms.subjects.data.texts import REVIEWS, reviews_asset


def test_a_part_is_the_texts_sha256_modulo_ten() -> None:
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4, Appendix B.1
    assert digest("abc") == abc
    assert part("abc") == int(abc, 16) % 10
    assert digest("naïve") != digest("naive")


def test_the_parts_are_of_about_the_same_size() -> None:
    texts = [f"sentence number {number}" for number in range(5000)]
    sizes = [sum(part(text) == which for text in texts) for which in range(PARTS)]
    assert sum(sizes) == len(texts)
    assert all(400 < size < 600 for size in sizes)
    assert sum(map(is_held_out, texts)) == sizes[0]


def test_the_held_out_split_of_the_asset_is_that_part_of_that_source(tmp_path: Path) -> None:
    texts = [f"a film , number {number}" for number in range(60)]
    with (tmp_path / REVIEWS).open("w", newline="") as handle:
        rows = [[text, 1, "imdb" if at % 3 == 0 else "rotten_tomatoes"] for at, text in enumerate(texts)]
        csv.writer(handle).writerows([["text", "label", "source"], *rows])
    loaded = reviews_asset(asset=str(tmp_path), source="rotten_tomatoes", split="held-out").texts
    expected = [text for at, text in enumerate(texts) if at % 3 and int(digest(text), 16) % 10 == 0]
    assert list(loaded) == expected
    assert 0 < len(loaded) < 20
