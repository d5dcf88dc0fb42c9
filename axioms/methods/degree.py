"""Products split by degree: LRP that does not mind how a product is grouped.

The uniform rule is not associative. It gives each factor half, so of (x1 x2) x3 the last factor gets half of
everything and of x1 (x2 x3) the first. `degree_lrp` gives a factor the share of its polynomial degree: x1 x2 has
degree 2 and gets 2/3.

*Theorem.* On a graph of products, linear maps without bias and additions of equal degrees, whose output f has degree
D, `degree_lrp` is Gradient x Input / D. It therefore depends on f alone, and it conserves.

*Proof.* Let g be the true gradient and h that of the changed graph. We show h_v = g_v d_v / D for every variable v of
degree d_v, from the output backwards. At the output d = D and h = g. A linear map or an addition of equal degrees
passes both on in the same way, and its ends have one degree. At a product u = v w, of degree d_u = d_v + d_w, h_v =
h_u w d_v / d_u = (g_u d_u / D) w d_v / d_u = g_v d_v / D. Where v is used more than once, the sums over its uses are
in the same proportion. Features have degree 1, so x h = x g / D, and by Euler's theorem sum x g = D f.

*Where degrees differ.* In w (x y + z) the sum joins degrees 2 and 1. We take the largest, which makes w's share a
third of everything; written out as w x y + w z, w gets a third of the first term and half of the second. At (2, 3, 4,
5) that is 11 1/3 against 13. The two are one function, so `degree_lrp` is not implementation invariant there, and no
other number for the degree of x y + z would make it so: the right share differs from term to term. What is right for
every polynomial is sum_k (x . grad f_k) / k over the homogeneous parts f_k of f, which is Integrated Gradients from
zero (the integral of t^(k-1) is 1/k); over one block of a network that is `block_lrp`. The counterexample is a
violation claim in specs/remedies.yaml.

*In Transformers.* A norm, an activation and a softmax start degrees anew, so Q, K, V and A all have degree 1 and
`degree_lrp` is AttnLRP on the usual block. It differs where products of products occur: linear attention, gated units
without a norm in between, products written by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import method
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.methods.lrp import SELECTIVE_SCAN, attnlrp_composite

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


def degree_composite(epsilon: float = 0.0) -> Composite:
    """AttnLRP's rules with products split by degree."""
    by_degree = Entry("product", RuleRef("degree", {"epsilon": epsilon}))
    return attnlrp_composite(epsilon).then(by_degree, *SELECTIVE_SCAN)


@method("degree_lrp", composite=degree_composite, settles=True)
def degree_lrp(model: Model, inputs: Inputs, target: Target, *, epsilon: float = 0.0) -> Tensor:
    """AttnLRP with products split by polynomial degree: on homogeneous graphs, Gradient x Input / degree."""
    from axioms.engine.handlers.propagate import propagate

    return propagate(model, inputs, target, degree_composite(epsilon))
