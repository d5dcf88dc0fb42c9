"""The attention block as one operation: what happens inside it cannot matter.

AttnLRP crosses a block operation by operation, and so depends on how the block is written. `block_lrp` asks only what
the block computes. Let B map the block's normed input x to its output, and let h be the gradient that arrives there.
Then

    R = x * sum over outputs o of h_o * integral from 0 to 1 of (d B_o / d x)(t x) dt,

each input's Aumann-Shapley share on the straight path from zero, with Gauss-Legendre nodes over the block alone.

*Invariance.* R is made of x, h and the function B. Two blocks that compute the same function get the same relevance,
whatever they do inside: re-association, fused or rescaled projections, permuted heads, any way to write the softmax,
with or without W_O's own module (B followed by a linear map has the same integral, as a linear map has one gradient).
What crosses the boundary must be the same: a rewrite that moves a norm's scale into the block changes x, and B with
it.

*Completeness.* sum R = sum_o h_o (B_o(x) - B_o(0)) by the fundamental theorem of calculus; what the block's biases
put out at zero is theirs, and the ledger shows it under `bias`. With n nodes the quadrature is exact for polynomials of
degree 2 n - 1 along the path, so for multilinear blocks: two nodes for (Q K') V. A softmax is not a polynomial, and
the error falls by a factor with every node. Of f(x) - f(0) it is 0.11, 3e-3, 1e-6 and 1e-9 at 4, 8, 16 and 24 nodes on
the trained causal model of specs/block_nodes.yaml, which claims 1e-6 at 24; on random models 16 are enough
(benchmarks/block_nodes.py).

*Cost.* The rest of the network is crossed once, a block once per node: 1 + nodes x (the blocks' share of a pass).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.counts import Nodes
from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.methods.lrp import attnlrp_composite

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


def block_composite(nodes: int = 16) -> Composite:
    """AttnLRP's rules with each attention block as one operation."""
    return attnlrp_composite().then(Entry("block", RuleRef("aumann_shapley", {"nodes": nodes})))


@method("block_lrp", passes=None, composite=block_composite, settles=True)
def block_lrp(model: Model, inputs: Inputs, target: Target, *, nodes: Nodes = 16) -> Tensor:
    """AttnLRP with each attention block as one operation, by Aumann-Shapley with `nodes` Gauss-Legendre nodes."""
    from axioms.engine.handlers.propagate import propagate

    if nodes < 1:
        raise InputError(f"block_lrp needs at least one node, not {nodes}.")
    return propagate(model, inputs, target, block_composite(nodes))
