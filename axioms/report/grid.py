"""A table before it is Markdown, LaTeX or CSV: headed columns, blocks of rows, numbers that know their meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """One cell: ours, with its interval, and the paper's."""

    ours: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    paper: float | None = None
    digits: int = 2
    show_interval: bool = False
    place: int = 0
    """1 and 2 for first and second place among its rivals; 0 otherwise."""


Cell = Number | str
"""A number, or the label that names a row."""


@dataclass(frozen=True)
class Block:
    """Rows under a heading; `sections` puts further headings before some of them."""

    title: str
    rows: list[list[Cell]]
    sections: dict[int, str]


@dataclass(frozen=True)
class Grid:
    """A whole table."""

    name: str
    title: str
    caption: str
    groups: list[tuple[str, int]]
    """Headings over several columns, with how many; empty where there are none."""
    header: list[str]
    """Every column's heading; a heading that ends in ↑ or ↓ says which way is better."""
    blocks: list[Block]

    @property
    def ranked(self) -> bool:
        """Whether any cell has a place."""
        return any(
            isinstance(cell, Number) and cell.place for block in self.blocks for row in block.rows for cell in row
        )

    @property
    def legend(self) -> str:
        """How to read a cell."""
        numbers = [cell for block in self.blocks for row in block.rows for cell in row if isinstance(cell, Number)]
        said = ["Ours"]
        if any(number.interval is not None and number.show_interval for number in numbers):
            said.append(", [its interval]")
        if any(number.paper is not None for number in numbers):
            said.append(", (the paper's number)")
        places = (
            " First place is bold, second is italic; LOO's correlation with itself takes none." if self.ranked else ""
        )
        return "".join(said) + "." + places
