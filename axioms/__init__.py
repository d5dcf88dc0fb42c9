"""pytest-axioms: attribution methods for Transformers, checked against axioms stated in YAML.

PYTEST_DONT_REWRITE: a program that imports it before it starts pytest gets no warning that its assertions stay plain.
"""

from axioms import methods, papers, properties, rewrites, subjects  # noqa: F401  (imported to fill the registries)
from axioms.core.entries import Metric
from axioms.core.errors import NotApplicable, NotDefined
from axioms.core.registry import axiom, data, method, rewrite, rule, subject
from axioms.engine.attribution import Attribution, Decomposition
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.engine.register import register_operation
from axioms.methods.attribute import attribute
from axioms.methods.lrp import composite_method, composite_of

__all__ = [
    "Attribution",
    "Composite",
    "Decomposition",
    "Entry",
    "Metric",
    "NotApplicable",
    "NotDefined",
    "RuleRef",
    "attribute",
    "axiom",
    "composite_method",
    "composite_of",
    "data",
    "method",
    "register_operation",
    "rewrite",
    "rule",
    "subject",
]
__version__ = "0.1.0"
