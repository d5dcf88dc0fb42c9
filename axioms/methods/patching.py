"""Estimates of activation patching: what another value at a place inside the model would take from the target.

With a the value at the place, p what a patch puts there and f the target, patching measures f(a) - f(p), one forward
pass for each place. One backward pass estimates it everywhere:

    AtP      (a - p) . df/da                      Nanda 2023; Kramar et al. 2024, equation 4
    RelP     (a - p) . LRP's coefficients at a    Jafari et al. 2025
    QK fix   (A(a) - A(p)) . df/dA                Kramar et al. 2024, equations 7, 9 and 10

At the input, where the patch is zero, the first and the third are Gradient x Input, and the second is LRP. At other
places `axioms.attribute(..., at=)` has them for a patch of zeros, and the axiom `patching_correlation` for every patch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.registry import method
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.methods.estimates import difference, recomputed_softmax
from axioms.methods.gradient import differentiate_inside, plain_composite
from axioms.methods.lrp import SELECTIVE_SCAN, WRITTEN_SWISH

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

Attention = Literal["gradient", "frozen"]
GATES = frozenset(("mul", "__mul__", "__rmul__", "multiply"))
"""Products entry by entry; those of attention are contractions."""


def relp_composite(attention: Attention = "gradient") -> Composite:
    """Return the rules of RelP: those of norms, activations and gates; linear maps keep their gradient (the 0-rule)."""
    rules = {"norm": RuleRef("norm_as_linear"), "normalizer": RuleRef("stop"), "activation": RuleRef("identity")}
    half = Entry("product", RuleRef("uniform"), functions=GATES)
    frozen = (Entry("softmax", RuleRef("stop")),) if attention == "frozen" else ()
    return Composite.of(rules).then(half, *frozen, *SELECTIVE_SCAN, WRITTEN_SWISH)


@method("atp", composite=plain_composite, settles=True, estimate=difference)
def atp(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Attribution patching (Nanda 2023): the gradient times the difference to the patch, at the input to zero."""
    return inputs.features * differentiate_inside(model, inputs, target)


@method("atp_qk", composite=plain_composite, settles=True, estimate=recomputed_softmax)
def atp_qk(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """AtP with the QK fix of AtP* (Kramar et al. 2024): where queries or keys are patched, the softmax is recomputed.

    Everywhere else it is `atp`. The other half of AtP*, GradDrop, is not here.
    """
    return inputs.features * differentiate_inside(model, inputs, target)


@method("relp", composite=relp_composite, settles=True, estimate=difference)
def relp(model: Model, inputs: Inputs, target: Target, *, attention: Attention = "gradient") -> Tensor:
    """RelP (Jafari et al. 2025): LRP at the place, times the difference to the patch in place of the value.

    Norms are linear at their deviation (LN-rule), activations pass on by their ratio (Identity-rule), gates by half
    (Half-rule). Their repository runs these three (TransformerLens/demos/lrp_patching.ipynb) and attention by its
    gradient; its table of rules also has attention weights that are constants (AH-rule): `attention: frozen`.
    """
    from axioms.engine.handlers.propagate import propagate

    return propagate(model, inputs, target, relp_composite(attention))
