"""pytest-axioms: attribution methods for Transformers, checked against axioms stated in YAML."""

from axioms import methods, papers, properties, rewrites, subjects  # noqa: F401  (imported to fill the registries)
from axioms.core.registry import Metric, axiom, data, method, rewrite, subject
from axioms.engine.attribution import Attribution, Decomposition
from axioms.methods.attribute import attribute

__all__ = ["Attribution", "Decomposition", "Metric", "attribute", "axiom", "data", "method", "rewrite", "subject"]
__version__ = "0.1.0"
