"""How many: options on which time and memory depend, with the most that makes sense of each.

Without them a slip of the keyboard, such as `nodes: 2147483648`, takes all memory of the machine.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Nodes = Annotated[int, Field(le=2_000)]
"""Of a quadrature: its nodes are the eigenvalues of a matrix of that size."""
Samples = Annotated[int, Field(le=100_000)]
"""Draws, repetitions or bins: arrays of that length, for each example."""
