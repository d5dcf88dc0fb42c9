"""YAML as we read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axioms.core.errors import SpecError
from axioms.core.source import LARGEST_FILE, read


def parse(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    return read(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-9", 1e-9),
        ("1.5E+3", 1500.0),
        ("-2e3", -2000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("7", 7),
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("~", None),
        (".inf", float("inf")),
        ("'1e-9'", "1e-9"),
        ("1.2.3", "1.2.3"),
        ("e5", "e5"),
    ],
)
def test_scalars_are_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    found = parse(tmp_path, f"a: {text}").value["a"]
    assert found == value
    assert type(found) is type(value)


def test_places_are_those_of_the_keys(tmp_path: Path) -> None:
    document = parse(tmp_path, "a:\n  - x: 1\n  - y:\n      2\nb: {c: 3}\n")
    assert document.place(("a",)).line == 1
    assert document.place(("a", 1)).line == 3
    assert document.place(("a", 1, "y")).line == 3
    assert document.place(("b", "c")).line == 5
    assert document.place(("b", "nothing", "here")).line == 5


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice, first in line 1"),
        ("x:\n  a: 1\n  a: 2\n", 3, "given twice"),
        ("a: [1, 2\n", 2, "is not YAML"),
        ("- 1\n", 1, "must be a mapping"),
        ("", 1, "must be a mapping"),
        ("a: &x [*x]\n", 1, "contains itself"),
        ("? [1, 2]\n: 3\n", 1, "a key must be plain text"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, ""),
    ],
)
def test_bad_yaml_is_one_sentence(tmp_path: Path, text: str, line: int, what: str) -> None:
    if not what:  # a tag of another language builds plain values and runs nothing
        assert parse(tmp_path, text).value == {"a": ["ls"]}
        return
    with pytest.raises(SpecError) as error:
        parse(tmp_path, text)
    assert [problem.line for problem in error.value.problems] == [line]
    assert what in str(error.value)


def test_aliases_cannot_explode(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    with pytest.raises(SpecError, match="aliases multiply"):
        parse(tmp_path, "\n".join(lines))


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="at most"):
        parse(tmp_path, "a: " + "x" * LARGEST_FILE)


def test_a_missing_file_and_a_binary_one(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        read(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"a: 1\nb: \xff\xfe")
    with pytest.raises(SpecError, match="2: is not UTF-8"):
        read(tmp_path / "b.yaml")
