"""What `axioms new rule` writes. NAME stands for the name; all of it passes as it is, in seconds and offline."""

RULE = '''\
"""NAME: AttnLRP with a share of the softmax, a rule of my own.

    pytest                                                  its specs and its tests
    axioms falsify --method NAME                            the smallest expression that it attributes in two ways
    axioms explain minilm-sentiment "a dull film" --methods loo,attnlrp,NAME
    pytest --axioms-suite --axioms-method NAME              the whole suite that ships, for this method too
"""

import axioms

# CHANGE: how much of the relevance that AttnLRP sends through the softmax goes on.
SHARE = 0.5


def explicit_form(step, *, share: float = SHARE):
    """Divide relevance itself: R_Z = share Z (R_A - A sum R_A), the sum along the softmax.

    CHANGE together with the rule: the axiom `engine_agreement` compares the two. Without it, leave out `explicit=`.
    """
    (scores,) = step.copies
    logits, weights = scores.detach(), step.value

    def divide(relevance):
        rest = relevance - weights * relevance.sum(step.dim, keepdim=True)
        return [share * (logits * rest).masked_fill(weights == 0, 0)]  # a masked score is -inf

    return step.carry(divide, scores)


def absorbed(operation, value, options):
    """Return what the rule keeps back, as coefficients of the gradient of its value.

    CHANGE together with the rule: the axiom `ledger` adds it up. Without it, leave out `absorbs=`.
    """
    logits = operation.input.masked_fill(value == 0, 0)  # a masked score is -inf
    passed = value * (logits - (logits * value).sum(operation.dim, keepdim=True))
    return {"softmax": value - options.get("share", SHARE) * passed}


# CHANGE `on`: linear, sum, product, softmax, norm, normalizer, activation, gate or block.
@axioms.rule("NAME_softmax", on="softmax", explicit=explicit_form, absorbs=absorbed)
def NAME_softmax(operation, *, share: float = SHARE):
    """The softmax passes on a share of what its gradient passes on.

    CHANGE: a rule returns the value of its operation, unchanged, with another backward pass; Gradient x Input on the
    changed graph is the relevance. Parameters after the `*` are options, whose types are checked.
    """
    value = operation.forward()
    return value.detach() + share * (value - value.detach())


def NAME_composite(*, share: float = SHARE):
    """AttnLRP with a share of the softmax.

    CHANGE: which rule each kind of operation gets; what is added wins over the known method's. The first line above is
    what `axioms list` prints, and parameters after the `*` are options of the method.
    """
    entry = axioms.Entry("softmax", axioms.RuleRef("NAME_softmax", {"share": share}))
    return axioms.composite_of("attnlrp").then(entry)


axioms.composite_method("NAME", NAME_composite)
'''

RULE_TEST = '''\
"""NAME is what it says: an oracle that shares nothing with the rule, and properties of every input.

The oracle is plain algebra on lists of float64, worked out by hand: no torch, no gradient, nothing of axioms.
"""

import math

import axioms
import NAME
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = st.floats(-3, 3, allow_nan=False).map(lambda number: round(number, 3))
SCORES = st.lists(NUMBERS, min_size=2, max_size=5)
SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


class Weighted(torch.nn.Module):
    """The sum of a softmax with weights: the smallest model in which the rule has something to do."""

    def __init__(self, weights):
        super().__init__()
        self.weights = torch.tensor(weights, dtype=torch.float64)

    def forward(self, scores):
        return (torch.softmax(scores, dim=-1) * self.weights).sum(-1, keepdim=True)


def oracle(scores, weights, share):
    """Return R_i = share x_i a_i (w_i - sum_j a_j w_j), where a is the softmax of x.

    CHANGE together with the rule, from its definition on paper and not from its code.
    """
    exponentials = [math.exp(score) for score in scores]
    attention = [value / sum(exponentials) for value in exponentials]
    mean = sum(a * w for a, w in zip(attention, weights))
    return [share * x * a * (w - mean) for x, a, w in zip(scores, attention, weights)]


def relevance(scores, weights, share):
    inputs = torch.tensor([scores], dtype=torch.float64)
    return axioms.attribute(Weighted(weights), inputs, method="NAME", target=0, share=share)


def test_by_hand():
    """Two equal scores: attention 1/2 each, weights 3 and 1, so R = share 2 1/2 (3 - 2) and share 2 1/2 (1 - 2)."""
    assert relevance([2.0, 2.0], [3.0, 1.0], 0.5).scores[0].tolist() == pytest.approx([0.5, -0.5])


@settings(deadline=None, max_examples=30)
@given(SCORES, st.data(), SHARES)
def test_the_rule_is_its_oracle(scores, data, share):
    weights = data.draw(st.lists(NUMBERS, min_size=len(scores), max_size=len(scores)))
    expected = oracle(scores, weights, share)
    assert relevance(scores, weights, share).scores[0].tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(SCORES, SHARES)
def test_the_value_is_untouched_and_relevance_grows_with_the_share(scores, share):
    weights = [float(index) for index in range(len(scores))]
    part, whole = relevance(scores, weights, share), relevance(scores, weights, 1.0)
    assert torch.equal(part.output, Weighted(weights)(torch.tensor([scores], dtype=torch.float64))[0])
    torch.testing.assert_close(part.scores, share * whole.scores, rtol=1e-9, atol=1e-12)


def test_the_share_that_is_documented():
    entry = NAME.NAME_composite().entries[-1]
    assert entry.rule.options == {"share": NAME.SHARE}
'''

RULE_SPEC = """\
# What NAME.py must keep, and what it is known to break. Run: pytest specs/NAME.yaml

# CHANGE: what your rule promises, as a sentence that one can agree or disagree with.
claim: What NAME keeps back is accounted for, and its two forms agree.
source: NAME.py
subject:
  # A tiny BERT with random weights. Yours may be minilm-sentiment, or a model of the hub: owner/name.
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 4, length: 8}}
  target: predicted
run: {dtype: float64}
# The others stand beside it for comparison; `none_of_it` is the same rule with another option.
methods: [NAME, {NAME: {as: none_of_it, share: 0.0}}, attnlrp, cp_lrp]
checks:
  # The rule and its explicit form are one.
  - axiom: engine_agreement
  # All relevance that does not reach the input is named.
  - axiom: ledger
  # An example's relevance does not depend on its neighbours, and the model is left as it was.
  - axiom: batch_invariance
  - axiom: purity
  # CHANGE: the sum of relevance is the output, or it is known not to be. A violation that is claimed and gone fails.
  - axiom: conservation
    violated_by: {NAME: {}, none_of_it: {}, attnlrp: {}, cp_lrp: {}}
  # Measured and reported, not judged: no threshold is invented for it. The baseline gates it.
  - axiom: loo_correlation
    record: [pearson.mean]
compare:
  - {metric: loo_correlation.pearson, better: NAME, than: attnlrp, record: true}
"""

REWRITES_SPEC = """\
# What NAME.py makes of a model that is written in another way. Run: pytest specs/NAME_rewrites.yaml

# CHANGE: what your rule promises.
claim: NAME sees the function, and not how it is written.
source: NAME.py
subject:
  # `axioms list rewrites` names them; `rewrites: all` takes every one that applies.
  pair: {model: {tiny: {architecture: bert}}, rewrites: [permute_heads, rescale_qk, split_linear]}
  data: {random-tokens: {n: 3, length: 6}}
run: {dtype: float64}
methods: [NAME, attnlrp]
checks:
  - axiom: implementation_invariance
    # CHANGE: what is known to be violated, and why; the check then passes while that is so.
    # on: {split_linear: {because: "Two maps have other terms than one.", violated_by: {NAME: {}}}}
"""

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "DISTRIBUTION"
version = "0.1.0"
description = "CHANGE: an attribution rule, checked by pytest-axioms."
requires-python = ">=3.11"
dependencies = ["pytest-axioms"]

[tool.setuptools]
py-modules = ["NAME"]
"""
