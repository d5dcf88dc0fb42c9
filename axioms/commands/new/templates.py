"""What `axioms new` writes. NAME stands for the name; all of it runs as it is, in seconds and without a download."""

SPEC = """\
# One claim, what it is about, and the checks that decide it. It passes as it is: change one thing at a time.
#
#   pytest specs/NAME.yaml         run it; the numbers go to reports/latest/summary.md
#   axioms check specs/NAME.yaml   only look for mistakes
#   axioms list                    the names of methods, axioms, models, data and rewrites

# CHANGE: what must be true, as a sentence that one can agree or disagree with. It is shown where a check fails.
claim: Relevance that does not reach the input has gone somewhere that can be named.
# CHANGE: where the claim comes from: a paper and its section, or a question of your own.
source: a question of my own

subject:
  # CHANGE: a tiny BERT with random weights. Yours may be a model of the hub (owner/name, or {owner/name: {task:
  # causal-lm}}), a folder (./my-model), a fixture (minilm-sentiment), or two that compute the same function
  # (pair: {left: ..., right: ...} instead of model).
  model: {tiny: {architecture: bert}}
  # CHANGE: random tokens. Texts are {text-file: {path: ../reviews.tsv, text: sentence, n: 64}}.
  data: {random-tokens: {n: 4, length: 8}}
  # What is explained: predicted, a class number, {probability: predicted} or {logit_difference: [1, 0]}.
  target: predicted
  # What leaving a token out means: attention_mask, delete, mask_token, zero_embedding, ...
  remove: attention_mask
# The same of several models: each entry changes the subject, and its name stands first in the ids of its checks.
# subjects: [{as: encoder, model: {tiny: {architecture: bert}}}, {as: decoder, model: {tiny: {architecture: llama}}}]

# float64 shows whether something holds exactly; float32 is faster and is the default.
run: {dtype: float64}

# A method is a name, or a name with options; `as` gives it a label of its own.
methods: [loo, attnlrp, cp_lrp, {integrated_gradients: {steps: 50}}, random]

checks:
  # An axiom without `expect` has a bound of its own: the ledger must explain all but 1e-9.
  - axiom: ledger
    methods: [attnlrp, cp_lrp]

  # `expect` bounds a metric: lt, le, gt, ge, between, approx with abs, equals. A metric with a value for each example
  # is aggregated: .mean (with an interval), .max, .min, .median.
  - axiom: conservation
    methods: [integrated_gradients, attnlrp]
    expect: {relative_error.max: {le: 1e-6}}
    # `violated_by` claims that a method breaks it: the check passes while that is so, and fails when it no longer is.
    violated_by: {attnlrp: {}}

  # `record` measures without judging: the number is reported, and no threshold is invented for it.
  - axiom: loo_correlation
    methods: [attnlrp, cp_lrp, integrated_gradients, random]
    record: [pearson.mean]

# One method against another, example by example, with a paired test; `record: true` again does not judge.
compare:
  - {metric: loo_correlation.pearson, better: cp_lrp, than: attnlrp, record: true}
"""

METHOD = '''\
"""NAME: an attribution method of my own.

    pytest specs/NAME.yaml --axioms-import NAME    check it
    axioms audit mypackage.model:build --import NAME --methods NAME,attnlrp    on every rewrite of a model of yours
    axioms explain minilm-sentiment "a dull film" --import NAME --methods loo,NAME    on one text
"""

import axioms


# CHANGE `passes`: how many forward-and-backward passes it costs; None where that depends on the input.
@axioms.method("NAME", passes=1)
def NAME(model, inputs, target, *, share: float = 1.0):
    """Gradient times input, scaled by `share`.

    CHANGE: the first line above is what `axioms list` prints. Parameters after the `*` are the options that a spec may
    set, `methods: [{NAME: {share: 0.5}}]`; their types are checked.
    """
    import torch  # here and not above, so that specs are validated without waiting for it

    # `inputs.features` is what gets relevance: batch x features, or batch x tokens x width for a language model.
    features = inputs.features.detach().requires_grad_()
    # `model(...)` gives batch x outputs; `target(...)` picks the one number of each example that is explained.
    output = target(model(inputs.with_features(features)))
    (gradient,) = torch.autograd.grad(output.sum(), features)

    # CHANGE: the method itself. Scores have the shape of the features (they are summed over the width), or
    # batch x features.
    return share * features.detach() * gradient
'''

METHOD_SPEC = """\
# What NAME.py must keep, and what it is known to break. Run: pytest specs/NAME.yaml --axioms-import NAME

# CHANGE: what your method promises.
claim: NAME depends on the function alone, and not on how a product is grouped.
source: NAME.py
subject:
  # (x1 x2) x3 and x1 (x2 x3): one function, written in two ways. `axioms list` names other models, and rewrites that
  # make a pair of any model: pair: {model: {tiny: {architecture: bert}}, rewrites: all}.
  pair: {left: product-left, right: product-right}
  data: {points: [[2, 3, 4], [1, -2, 5]]}
run: {dtype: float64}
# The others stand beside it for comparison.
methods: [NAME, loo, attnlrp]
checks:
  # The same relevance for the same function. AttnLRP breaks this (You et al. 2025, Figure 1), and says so here.
  - axiom: implementation_invariance
    violated_by: {attnlrp: {relative_gap.max: {ge: 0.1}}}

  # CHANGE: numbers that you have worked out by hand, one list for each example. At (2, 3, 4) the gradient of x1 is
  # x2 x3 = 12, and 12 times x1 = 24.
  - axiom: relevance
    methods: [NAME]
    expect:
      left.scores: {equals: [[24, 24, 24], [-10, -10, -10]]}
      right.scores: {equals: [[24, 24, 24], [-10, -10, -10]]}

  # CHANGE: the sum of relevance is the output, or it is known not to be: here it is three times as much.
  - axiom: conservation
    methods: [NAME]
    violated_by: {NAME: {ratio.max: {approx: 3, abs: 1e-9}}}
"""
