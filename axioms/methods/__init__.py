"""Attribution methods. Importing this registers them and does not import torch."""

from axioms.methods import control, gradient, lrp, removal

__all__ = ["control", "gradient", "lrp", "removal"]
