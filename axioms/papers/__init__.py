"""The papers that reports reproduce: their tables, row names and printed numbers, one module each.

A further paper is one file, in or outside this package, that calls `register`; `--axioms-import` loads it.
"""

from axioms.papers import arras2025, you2025
from axioms.papers.claims import PaperClaim, Printed
from axioms.papers.grid import Block, Grid, Number
from axioms.papers.layouts import Column, LayerFigure, LayerLayout, MethodLayout, Mode
from axioms.papers.paper import PAPERS, Paper, PaperPage, register

__all__ = [
    "PAPERS",
    "Block",
    "Column",
    "Grid",
    "LayerFigure",
    "LayerLayout",
    "MethodLayout",
    "Mode",
    "Number",
    "Paper",
    "PaperClaim",
    "PaperPage",
    "Printed",
    "register",
]

register(you2025.PAPER)
register(arras2025.PAPER)
