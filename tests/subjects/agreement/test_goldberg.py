"""The reader of Goldberg's rows, with a stand-in for spaCy's documents."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from axioms.core.errors import AssetMissing, InputError, MissingPackage
from axioms.subjects.agreement.goldberg import MASK, read, spacy_parser, subject_of


@dataclass
class Token:
    """What of a spaCy token is used."""

    text: str
    idx: int
    dep_: str = ""
    tag_: str = ""
    head: Token | None = None
    children: list[Token] = field(default_factory=list)


def parsed(text: str, deps: dict[str, tuple[str, str]], tags: dict[str, str]) -> list[Token]:
    """Words split at spaces; `deps` says word: (relation, head), `tags` word: tag."""
    tokens, at = [], 0
    for word in text.split(" "):
        tokens.append(Token(word, at, tag_=tags.get(word, "")))
        at += len(word) + 1
    by_word = {token.text: token for token in tokens}
    for word, (relation, head) in deps.items():
        by_word[word].dep_, by_word[word].head = relation, by_word[head]
        by_word[head].children.append(by_word[word])
    return tokens


GOOD = "the keys to the cabinet lie here ."


def row(text: str = GOOD, verb: str = "lie", other: str = "lies", attractors: str = "1") -> str:
    return "\t".join([attractors, text, text.replace(f" {verb} ", f" {MASK} "), verb, other])


def parse(texts: list[str]) -> Iterable[list[Token]]:
    for text in texts:
        yield parsed(text, {"keys": ("nsubj", "lie")}, {"lie": "VBP"})


def test_rows_become_samples_with_their_subject(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(row() + "\n")
    (sample,), counts = read(file, parse)
    assert sample.text[slice(*sample.subject)] == "keys"
    assert sample.text[slice(*sample.verb)] == "lie"
    assert (sample.forms, sample.attractors, sample.context) == (("lie", "lies"), 1, "the keys to the cabinet")
    assert sample.masked("[MASK]") == "the keys to the cabinet [MASK] here ."
    assert dict(counts) == {"read": 1}


@pytest.mark.parametrize(
    "bad",
    [
        "one column",
        row() + "\tmore",
        row(attractors="many"),
        row().replace(MASK, "lie"),
        row().replace(" here", f" {MASK}"),
        row().replace("\tlies", "\t"),
        "1\tanother sentence\t" + row().split("\t", 2)[2],
        "\ufffd\t\t\t\t",
    ],
)
def test_malformed_rows_are_counted(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(f"{row()}\n{bad}\n\n")
    samples, counts = read(file, parse)
    assert len(samples) == 1
    assert dict(counts) == {"read": 2, "malformed": 1}


def test_bytes_that_are_no_text_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_bytes(b"\xff\xfe\x00\n" + row().encode() + b"\r\n")
    samples, counts = read(file, parse)
    assert (len(samples), counts["malformed"]) == (1, 1)


def test_equal_forms_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(row(other="lie"))
    assert read(file, parse) == ([], {"read": 1, "same_forms": 1})


@pytest.mark.parametrize(
    ("deps", "tag", "reason"),
    [
        ({"keys": ("nsubjpass", "lie")}, "VBP", "not_nsubj"),
        ({}, "VBP", "not_nsubj"),
        ({"keys": ("nsubj", "lie"), "cabinet": ("nsubj", "lie")}, "VBP", "not_nsubj"),
        ({"keys": ("nsubj", "lie")}, "VB", "not_present"),
    ],
)
def test_what_the_parser_finds_decides(deps: dict[str, tuple[str, str]], tag: str, reason: str) -> None:
    at = GOOD.index("lie")
    assert subject_of(parsed(GOOD, deps, {"lie": tag}), (at, at + 3)) == (reason, None)


def test_the_subject_of_an_auxiliary_hangs_on_its_verb() -> None:
    text = "the keys have vanished"
    document = parsed(text, {"keys": ("nsubj", "vanished"), "have": ("aux", "vanished")}, {"have": "VBP"})
    assert subject_of(document, (9, 13)) == ("", (4, 8))


def test_a_verb_that_is_no_token_of_the_parser() -> None:
    assert subject_of(parsed(GOOD, {}, {}), (1, 3)) == ("not_nsubj", None)


def test_some_rows_at_random(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text("".join(row(GOOD.replace("here", f"here{number}")) + "\n" for number in range(20)))
    first, again, other = (read(file, parse, n=5, seed=seed)[0] for seed in (0, 0, 1))
    assert first == again != other
    assert len(first) == 5
    with pytest.raises(InputError, match="asked for 21 rows"):
        read(file, parse, n=21)


def test_no_file_is_a_reason_to_skip(tmp_path: Path) -> None:
    with pytest.raises(AssetMissing, match="there is no file"):
        read(tmp_path / "none.tsv", parse)


def test_no_spacy_is_a_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingPackage, match=r"pip install pytest-axioms\[agreement\]"):
        spacy_parser("en_core_web_trf")


@pytest.mark.parametrize(("marks", "said"), [((), "no parser and no tagger"), (("DEP",), "has no tagger")])
def test_a_pipeline_that_does_not_parse_is_refused(
    monkeypatch: pytest.MonkeyPatch, marks: tuple[str, ...], said: str
) -> None:
    """spaCy itself would end the process."""
    document = SimpleNamespace(has_annotation=marks.__contains__)
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=lambda _: lambda _: document))
    with pytest.raises(InputError, match=said):
        spacy_parser("some_pipeline")


def test_a_pipeline_that_parses_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipeline:
        def __call__(self, text: str) -> SimpleNamespace:
            return SimpleNamespace(has_annotation=("DEP", "TAG").__contains__)

        def pipe(self, texts: list[str]) -> Iterable[list[Token]]:
            return parse(texts)

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=lambda _: Pipeline()))
    (document,) = spacy_parser("some_pipeline")([GOOD])
    assert subject_of(document, (24, 27)) == ("", (4, 8))
