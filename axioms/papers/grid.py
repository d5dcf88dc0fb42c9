"""A table before it is Markdown, LaTeX or CSV: headed columns, blocks of rows, numbers that know their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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

    @property
    def ours_text(self) -> str:
        """Ours, as it is printed; nothing where only the paper has a number."""
        if self.ours is None:
            return "-" if self.paper is None else ""
        return fixed(self.ours, self.digits)

    @property
    def interval_text(self) -> str:
        """The interval in square brackets, where it is shown."""
        if self.interval is None or not self.show_interval:
            return ""
        return f"[{fixed(self.interval[0], self.digits)}, {fixed(self.interval[1], self.digits)}]"

    @property
    def paper_text(self) -> str:
        """The paper's in parentheses, where there is one."""
        return "" if self.paper is None else f"({fixed(self.paper, self.digits)})"


Cell = Number | str
"""A number, or a text: the label that names a row, or what a table of texts says."""


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
    """Headings over several columns, with how many; an empty one over columns that have none."""
    header: list[str]
    """Every column's heading; a heading that ends in ↑ or ↓ says which way is better."""
    blocks: list[Block]
    second: Literal["italic", "underlined"] = "italic"
    """How the paper marks second place."""
    note: str = ""
    """What else a reader must know of its cells."""
    paper: str = ""
    """The paper whose table it is, where it is one's."""

    @property
    def full_title(self) -> str:
        """The title, with the paper before it."""
        return f"{self.paper}, {self.title}" if self.paper else self.title

    @property
    def numbers(self) -> list[Number]:
        """Every number in it."""
        return [cell for block in self.blocks for row in block.rows for cell in row if isinstance(cell, Number)]

    @property
    def labels(self) -> set[int]:
        """The columns of labels: those whose first cell is a text."""
        return {index for index, cell in enumerate(self.blocks[0].rows[0]) if isinstance(cell, str)}

    @property
    def group_of(self) -> list[str]:
        """The heading over each column."""
        return [title for title, width in self.groups for _ in range(width)] or [""] * len(self.header)

    @property
    def legend(self) -> str:
        """How to read a cell."""
        interval = ", [its interval]" if any(number.interval_text for number in self.numbers) else ""
        paper = ", (the paper's number)" if any(number.paper_text for number in self.numbers) else ""
        said = [f"Ours{interval}{paper}."] if interval or paper else []
        if any(number.place for number in self.numbers):
            said.append(f"First place is bold, second is {self.second}.")
        return " ".join([*said, *([self.note] if self.note else [])])


def fixed(number: float, digits: int) -> str:
    """With so many digits after the point, and without the sign of a zero."""
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
