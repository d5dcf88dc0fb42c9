"""Axioms, one a file. Importing this registers them and does not import torch."""

from axioms.checks import (
    conservation,
    forward_equivalence,
    implementation_invariance,
    loo_correlation,
    perturbation,
    relevance,
)

__all__ = [
    "conservation",
    "forward_equivalence",
    "implementation_invariance",
    "loo_correlation",
    "perturbation",
    "relevance",
]
