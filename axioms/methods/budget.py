"""As much exact leave-one-out as a budget of passes buys, and an estimate for the rest.

*Cost* is counted and not timed, so that the same inputs always get the same scores. Its unit is the work of one forward
pass for one token. A forward pass over a text of n tokens is n of them, and a pass, forward and backward, is n /
`forward`. By default that is 3 n, as in training, where the backward pass of a matrix product is two such products.
Leaving a token out of a causal model that keeps keys and values (axioms/model/prefix.py) is one for every token from
the first that changes on; elsewhere it is n. Padding costs nothing. What a clock says differs by what this leaves out:
attention's own quadratic work, the last layer, which is computed for one token alone, how rows are put together in
passes, and that attribution needs no gradients of weights, so that a forward pass over long texts or of a large model
is nearer to half a pass: `forward: 0.5` keeps closer to the clock there (docs/results/remedies.md).

*What is bought.* Where f(x) and all removals fit, they are made, and the scores are leave-one-out itself. Otherwise one
pass gives both orders of `removal_taylor`, A_ij (v_j - o_i) and A_ij / (1 - A_ij) (v_j - o_i) in each attention. The
first is the estimate. Exact removals are bought with what is left, where |first| + |exact_block - first| is largest for
its price; one that no longer fits is passed over for others that do. Every text decides for itself, by its own tokens:
neither its batch nor padding changes its scores.

*Sinks.* The two orders differ where a token holds most of some attention, 1 / (1 - A) times: on [CLS] of a BERT, on the
first token of SmolLM2. There no derivative knows what its removal does, `exact_block` is misled most, and there the
exact removal goes. Chosen on 32 sentences of MiniLM and 16 prompts of SmolLM2 of 22 to 38 tokens, on which no result
is reported (specs/full/budget_choice.yaml, `python benchmarks/budget_study.py`; standard errors 0.01 to 0.05). At three
passes the mean LOO r is 0.95 and 0.89 this way; by the estimate's size alone, in order `first`, 0.88 and 0.82, in order
`exact_block`, as `loo_adaptive` has it, 0.92 and 0.84; with two passes of groups in place of one, 0.85 and 0.62. Caps
on 1 / (1 - A) and the square root of the price were looked at before that script was written: none gained more than
0.01 on either model, and they were left out.

*Invariance.* The estimate and leave-one-out are functions of f(g) (axioms/methods/gates.py), and prices of where the
tokens stand; so the choice and both kinds of scores are the same for every implementation that computes the same f(g)
and keeps keys and values alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.methods.gates import settling, taylor_both
from axioms.methods.removal import left_out, units_of

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.prefix import Prefix
    from axioms.model.targets import Target

FORWARD = 1 / 3
"""The share of a pass, forward and backward, that a forward pass costs by default."""
ROUNDING = 1e-9
"""Forward passes that a budget is larger than it says, so that 4 / 3 of a pass are four forward passes."""


@method("loo_budget", passes=None, settles=True)
def loo_budget(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    passes: float = 3.0,
    forward: float = FORWARD,
    rows: int = 1024,
) -> Tensor:
    """Exact leave-one-out where it costs no more than `passes`; else `removal_taylor`, made exact as far as they go.

    A pass is one forward and one backward pass over the text, and `forward` the share of it that a forward pass costs.
    Costs are counted in tokens; in causal models prefixes are not computed again. Where an estimate is needed it costs
    one pass, and remembering a prefix a forward pass, also when the budget is smaller.
    """
    import torch

    if passes <= 0 or not 0 < forward <= 1 or rows < 1:
        wrong = f"{passes:g}, {forward:g} and {rows}"
        raise InputError(f"loo_budget needs passes > 0, forward in (0, 1] and rows >= 1, not {wrong}.")
    units = units_of(inputs)
    outputs, prefix = _remembered(model, inputs, target)
    is_run = outputs is not None
    whole, price = prices(inputs, units, is_prefix_kept=prefix is not None)
    budget = (passes / forward + ROUNDING) * whole
    fits = whole + price.sum(dim=1) <= budget
    if outputs is None and bool(fits.any()):
        with torch.no_grad():
            outputs = model(inputs)
        target.settle(outputs)
    scores, worth, output = _estimated(model, inputs, target, outputs, units, ~fits)
    draws = 1 if inputs.drawn is None else inputs.drawn.shape[1]
    left = budget - (draws / forward + is_run) * whole
    chosen = torch.where(fits.unsqueeze(1), price > 0, affordable(worth, price, left))
    example, unit = chosen.nonzero().T
    if len(unit) == 0:
        return scores
    corrected = torch.zeros_like(scores)
    corrected[example, unit] = left_out(
        model, inputs, target, output, units, example, unit, rows=rows, prefix=prefix
    ).to(scores)
    place = units.clamp(min=0)
    return torch.where((units >= 0) & chosen.gather(1, place), corrected.gather(1, place), scores)


def prices(inputs: Inputs, units: Tensor, *, is_prefix_kept: bool) -> tuple[Tensor, Tensor]:
    """Return the tokens of each text, and how many of them are computed to leave out each unit: batch, batch x units.

    A removal that draws computes them once for every draw. The price is 0 where there is no such unit.
    """
    import torch

    from axioms.model.prefix import unchanged_tokens

    batch, length = units.shape
    there = inputs.attended
    there = torch.ones_like(units, dtype=torch.bool) if there is None else there
    example, unit = (torch.arange(length, device=units.device) <= units.amax(dim=1, keepdim=True)).nonzero().T
    computed = there[example]
    if is_prefix_kept:
        start = unchanged_tokens(inputs, example, units[example] == unit.unsqueeze(1))
        computed = computed & (torch.arange(length, device=units.device) >= start.unsqueeze(1))
    price = torch.zeros(batch, length, dtype=torch.float64, device=units.device)
    price[example, unit] = computed.sum(dim=1).double() * (1 if inputs.drawn is None else inputs.drawn.shape[1])
    return there.sum(dim=1).double(), price


def affordable(worth: Tensor, price: Tensor, left: Tensor) -> Tensor:
    """Return which units are bought with what is `left` of each example: batch x units, bool.

    Those that are worth most for their price come first, of equal ones the earlier; what costs more than there is left
    is passed over.
    """
    import torch

    bought = torch.zeros_like(price, dtype=torch.bool)
    value = worth.double() / price.clamp(min=1)
    order = value.masked_fill(price == 0, -1).argsort(dim=1, descending=True, stable=True)
    for example, ranked in enumerate(order.tolist()):
        purse, costs = float(left[example]), price[example].tolist()
        for unit in ranked:
            if 0 < costs[unit] <= purse:
                purse -= costs[unit]
                bought[example, unit] = True
    return bought


def _remembered(model: Model, inputs: Inputs, target: Target) -> tuple[Tensor | None, Prefix | None]:
    """Return the outputs and the keys and values of the inputs, of a model that may keep them; else nothing yet."""
    import torch

    from axioms.model.prefix import can_remember, run_remembering

    if not can_remember(model.module, inputs):
        return None, None
    with torch.no_grad():
        outputs, prefix = run_remembering(model, inputs)
    target.settle(outputs)
    return outputs, prefix


def _estimated(
    model: Model, inputs: Inputs, target: Target, outputs: Tensor | None, units: Tensor, wanted: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the estimates, what an exact removal of each unit is worth, and the target's output.

    Examples that are not `wanted` have estimates of 0. Without `outputs` all are, and the estimate's own forward pass
    gives the output.
    """
    import torch

    index = wanted.nonzero().flatten()
    if outputs is None:
        first, exact, output = taylor_both(model, inputs, settling(target))
    else:
        first = torch.zeros(inputs.features.shape[:2], dtype=inputs.features.dtype, device=inputs.features.device)
        exact, output = first.clone(), target(outputs)
        if len(index):
            first[index], exact[index], _ = taylor_both(model, inputs.select(index), target.select(index))

    def size(scores: Tensor) -> Tensor:
        return torch.zeros_like(scores).scatter_add_(1, units.clamp(min=0), scores.masked_fill(units < 0, 0)).abs()

    return first, size(first) + size(exact - first), output
