"""YAML to checks."""

from axioms.spec.bounds import Bound
from axioms.spec.check import Check, Comparison, PlacedBound
from axioms.spec.deciding import Claim
from axioms.spec.expand import Expanded, expand_file
from axioms.spec.references import MethodRef
from axioms.spec.schema import TIERS, Run, Spec
from axioms.spec.subject import Subject

__all__ = [
    "TIERS",
    "Bound",
    "Check",
    "Claim",
    "Comparison",
    "Expanded",
    "MethodRef",
    "PlacedBound",
    "Run",
    "Spec",
    "Subject",
    "expand_file",
]
