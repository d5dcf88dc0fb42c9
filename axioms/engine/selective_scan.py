"""The products of a selective scan (Mamba), by MambaLRP (Rezaei Jafari et al. 2024).

h_t = A_t h_(t-1) + B_t x_t, y_t = C_t h_t, out = y * silu(z). A, B, C and the step size are computed from the input but
held constant, so relevance follows the sequence x; the gate's product is split in half.
"""

from __future__ import annotations

from torch import Tensor

from axioms.engine.operations import Operation, Product
from axioms.engine.rules import GATED, rule, signal_take_all, uniform

CONTRACTIONS = ("matmul", "__matmul__", "bmm", "einsum")


@rule
def scan_product(operation: Operation) -> Tensor:
    """Half and half for the gate; else all to the sequence: x in B x (the last factor), h in h C (the first)."""
    assert isinstance(operation, Product)
    if any(hasattr(factor, GATED) for factor in operation.factors):
        return uniform(operation)
    return signal_take_all(operation, signal=0 if operation.name in CONTRACTIONS else -1)
