"""pytest-axioms: attribution methods for Transformers, checked against axioms stated in YAML."""

from axioms import checks, methods, rewrites, subjects  # noqa: F401  (imported to fill the registries)
from axioms.attribution import Attribution, Decomposition, attribute
from axioms.registry import Metric, axiom, data, method, rewrite, subject

__all__ = ["Attribution", "Decomposition", "Metric", "attribute", "axiom", "data", "method", "rewrite", "subject"]
__version__ = "0.1.0"
