"""Files of labelled texts as rows: TSV, CSV, JSONL, Parquet. Data formats only."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axioms.core.errors import AssetMissing, InputError, did_you_mean

Column = str | int
"""A name from the header, or a number from 0 in a file without one."""


@dataclass
class Table:
    """The rows of a file, each with its line, and the lines that could not be read."""

    file: Path
    columns: tuple[Column, ...]
    rows: list[tuple[int, dict[Column, Any]]] = field(default_factory=list)
    malformed: dict[int, str] = field(default_factory=dict)
    """The lines that could not be read, and what is wrong with each."""

    def require(self, column: Column) -> None:
        """Raise an `InputError` with a suggestion if there is no such column."""
        if column not in self.columns:
            hint = did_you_mean(str(column), map(str, self.columns))
            raise InputError(f"{self.file.name} has no column {column!r}.{hint}")


def read_table(file: Path, *, header: bool) -> Table:
    """Return the rows of a file, read by what its name ends in."""
    readers: dict[str, Callable[[Path, bool], Table]] = {
        ".tsv": _read_tsv,
        ".csv": _read_csv,
        ".jsonl": lambda file, header: _read_jsonl(file),
        ".parquet": lambda file, header: _read_parquet(file),
    }
    if file.suffix not in readers:
        raise InputError(f"{file.name} must end in {', '.join(readers)}, which says what it is.")
    if not file.is_file():
        raise InputError(f"there is no file {file}.")
    try:
        return readers[file.suffix](file, header)
    except UnicodeDecodeError:
        raise InputError(f"{file.name} is not UTF-8 text.") from None


def _read_csv(file: Path, header: bool) -> Table:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return _separated(file, csv.reader(stream, strict=True), header)


def _read_tsv(file: Path, header: bool) -> Table:
    with file.open(encoding="utf-8-sig", newline="") as stream:  # a quotation mark is a character of the text here
        return _separated(file, csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), header)


def _separated(file: Path, reader: Any, header: bool) -> Table:
    table: Table | None = None
    line = 1
    try:
        for values in reader:
            start, line = line, reader.line_num + 1
            if not values:
                continue  # an empty line
            if table is None:
                table = Table(file, tuple(values) if header else tuple(range(len(values))))
                if header:
                    continue
            if len(values) == len(table.columns):
                table.rows.append((start, dict(zip(table.columns, values, strict=True))))
            else:
                table.malformed[start] = f"{len(values)} columns, not {len(table.columns)}"
    except csv.Error as error:
        raise InputError(f"{file.name}:{line}: {error}.") from None
    return table or Table(file, ())


def _read_jsonl(file: Path) -> Table:
    rows: list[tuple[int, dict[Column, Any]]] = []
    malformed: dict[int, str] = {}
    with file.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                value = json.loads(line) if line.strip() else None
            except ValueError:
                malformed[number] = "not JSON"
                continue
            if isinstance(value, dict):
                rows.append((number, value))
            elif value is not None:
                malformed[number] = "not an object"
    # Objects need not have the same keys: those that every one or some have are all columns.
    return Table(file, tuple(dict.fromkeys(key for _, row in rows for key in row)), rows, malformed)


def _read_parquet(file: Path) -> Table:
    try:
        import pyarrow.parquet
    except ImportError:
        raise AssetMissing(f"reading {file.name} needs pyarrow: pip install pyarrow") from None
    try:
        read = pyarrow.parquet.read_table(file)
    except pyarrow.ArrowException as error:
        raise InputError(f"{file.name} is not a readable Parquet file: {error}") from None
    return Table(file, tuple(read.column_names), list(_numbered(read.to_pylist())))


def _numbered(rows: list[dict[Column, Any]]) -> Iterator[tuple[int, dict[Column, Any]]]:
    yield from enumerate(rows, start=1)
