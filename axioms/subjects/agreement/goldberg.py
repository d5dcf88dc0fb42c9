"""Goldberg's (2019) agreement sentences: five columns between tabs, filtered as in Arras et al. (2025, Appendix B).

    attractors    sentence    sentence with ***mask***    verb form that agrees    the other form

The columns do not say where the subject is. spaCy's dependency parser finds it, as in the paper.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from axioms.core.errors import AssetMissing, InputError, MissingPackage
from axioms.subjects.agreement.sample import Sample, Span

MASK = "***mask***"
COLUMNS = 5
PRESENT = ("VBZ", "VBP")
AUXILIARY = ("aux", "auxpass")

Parse = Callable[[list[str]], Iterable[Any]]
"""Texts to spaCy documents."""


def read(file: Path, parse: Parse, *, n: int | None = None, seed: int = 0) -> tuple[list[Sample], Counter[str]]:
    """Return the sentences that have one nominal subject, and how many rows were read and fell to each filter.

    With `n`, that many rows are drawn at random.
    """
    rows = _lines(file)
    if n is not None:
        if not 0 < n <= len(rows):
            raise InputError(f"asked for {n} rows; {file.name} has {len(rows)}.")
        rows = [rows[index] for index in sorted(random.Random(seed).sample(range(len(rows)), n))]
    counts: Counter[str] = Counter(read=len(rows))
    unparsed = list(_well_formed(rows, counts))
    samples = []
    for sample, document in zip(unparsed, parse([sample.text for sample in unparsed]), strict=True):
        reason, subject = subject_of(document, sample.verb)
        if subject is None:
            counts[reason] += 1
        else:
            samples.append(Sample(sample.text, sample.verb, sample.forms, subject, sample.attractors))
    return samples, counts


def _lines(file: Path) -> list[str]:
    if not file.is_file():
        raise AssetMissing(
            f"there is no file {file}. It is lgd_dataset.tsv of github.com/yoavg/bert-syntax: put it there, or say "
            "where it is with `path`."
        )
    # Rows end at line feeds alone: a text may hold other characters that Python takes for line ends.
    return [line for line in file.read_bytes().decode("utf-8", errors="replace").split("\n") if line.strip()]


def _well_formed(rows: list[str], counts: Counter[str]) -> Iterator[Sample]:
    """Yield the rows that are what they should be, with an empty span in place of the subject."""
    for row in rows:
        columns = [column.strip() for column in row.split("\t")]
        if len(columns) != COLUMNS or not columns[0].isdecimal() or columns[2].count(MASK) != 1 or not all(columns):
            counts["malformed"] += 1
            continue
        attractors, text, masked, agrees, other = columns
        start = masked.index(MASK)
        if masked.replace(MASK, agrees) != text:
            counts["malformed"] += 1
        elif agrees == other:
            counts["same_forms"] += 1
        else:
            yield Sample(text, (start, start + len(agrees)), (agrees, other), (0, 0), int(attractors))


def subject_of(document: Any, verb: Span) -> tuple[str, Span | None]:
    """Return where the verb's nominal subject stands; or None, and before it the filter that says so.

    The subject of an auxiliary ("have been") hangs on the verb that it helps.
    """
    token = next((word for word in document if word.idx == verb[0]), None)
    if token is None or token.idx + len(token.text) != verb[1]:
        return "not_nsubj", None  # the parser cuts the words in another way
    heads = [token, token.head] if token.dep_ in AUXILIARY else [token]
    subjects = [child for head in heads for child in head.children if child.dep_ == "nsubj"]
    if len(subjects) != 1:
        return "not_nsubj", None
    if token.tag_ not in PRESENT:
        return "not_present", None
    return "", (subjects[0].idx, subjects[0].idx + len(subjects[0].text))


def spacy_parser(pipeline: str) -> Parse:
    """Return spaCy's parser; raise `MissingPackage` with what to install, `InputError` where it cannot parse."""
    try:
        import spacy
    except ImportError:
        raise MissingPackage(
            "subjects are found with spaCy, which is not installed: pip install pytest-axioms[agreement], then "
            f"python -m spacy download {pipeline}."
        ) from None
    try:
        loaded = spacy.load(pipeline)
    except (OSError, ImportError, ValueError) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise MissingPackage(
            f"spaCy has no pipeline {pipeline!r} here ({first}): python -m spacy download {pipeline}."
        ) from None
    tried = loaded("the keys to the cabinet are here .")
    # Of what no parser has seen, spaCy does not say so when it is asked for the subject: it ends the process.
    absent = [name for mark, name in (("DEP", "parser"), ("TAG", "tagger")) if not tried.has_annotation(mark)]
    if absent:
        raise InputError(f"spaCy's pipeline {pipeline!r} has no {' and no '.join(absent)}; en_core_web_trf has both.")
    return loaded.pipe
