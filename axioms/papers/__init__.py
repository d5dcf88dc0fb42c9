"""The papers that reports reproduce: their tables, row names and printed numbers. Importing this registers them."""

from axioms.core.registry import TABLES
from axioms.papers.layouts import LAYOUTS

TABLES.update(LAYOUTS)
