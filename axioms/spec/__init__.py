"""YAML to checks."""

from axioms.spec.bounds import Bound
from axioms.spec.expand import Check, Comparison, Expanded, PlacedBound, expand_file
from axioms.spec.schema import TIERS, MethodRef, Run, Spec, Subject

__all__ = [
    "TIERS",
    "Bound",
    "Check",
    "Comparison",
    "Expanded",
    "MethodRef",
    "PlacedBound",
    "Run",
    "Spec",
    "Subject",
    "expand_file",
]
