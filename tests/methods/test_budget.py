"""`loo_budget` against a plain loop over tokens, and what it must keep whatever the batch."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import axioms
from axioms.core.errors import InputError
from axioms.core.registry import REWRITES
from axioms.methods.budget import affordable, loo_budget, prices
from axioms.methods.gates import taylor_both
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.subjects.models.modules import AttentionBlock, Expression
from axioms.subjects.models.tiny import tiny

TOKENS = torch.randint(3, 40, (3, 14), generator=torch.Generator().manual_seed(7))
LENGTHS = [14, 11, 5]
MASK = (torch.arange(14) < torch.tensor(LENGTHS).unsqueeze(1)).long()
TEXT = {"input_ids": TOKENS, "attention_mask": MASK}
TARGET = 2


def value(model: Any, tokens: Tensor, mask: Tensor, is_causal: bool) -> float:
    """The target of one text without padding, by the model alone, with the mask of each query written out."""
    sees = mask.bool().expand(len(tokens), -1).clone()
    if is_causal:
        sees = sees.tril()
        sees[0, 0] = True  # without a key there is no softmax; nobody looks at that token where it is removed
    additive = torch.zeros(1, 1, *sees.shape, dtype=torch.float64).masked_fill(~sees, -1e30)
    with torch.no_grad():
        logits = model(input_ids=tokens[None], attention_mask=additive).logits[0]
    return float(logits[-1, TARGET] if is_causal else logits[TARGET])


def by_hand(
    model: Any, tokens: Tensor, estimates: tuple[Tensor, Tensor], passes: float, *, is_causal: bool
) -> list[float]:
    """The scores of one text, with every price and removal worked out for it alone."""
    first, blocks = (estimate[: len(tokens)].tolist() for estimate in estimates)
    count = len(tokens)
    mask = torch.ones_like(tokens)
    there = value(model, tokens, mask, is_causal)
    exact, price = [], []
    for token in range(count):
        less = mask.clone()
        less[token] = 0
        exact.append(there - value(model, tokens, less, is_causal))
        # A causal model computes what follows the token, and always the last one, which is read.
        price.append(max(1, count - 1 - token) if is_causal else count)
    if count + sum(price) <= 3 * passes * count:
        return exact
    purse = 3 * (passes - 1) * count - (count if is_causal else 0)
    scores = list(first)
    worth = [(abs(a) + abs(b - a)) / cost for a, b, cost in zip(first, blocks, price, strict=True)]
    for token in sorted(range(count), key=lambda token: -worth[token]):
        if price[token] <= purse:
            purse -= price[token]
            scores[token] = exact[token]
    return scores


def estimates(model: Any) -> tuple[Tensor, Tensor]:
    first, blocks = (
        axioms.attribute(model, TEXT, TARGET, "removal_taylor", order=order).scores
        for order in ("first", "exact_block")
    )
    return first, blocks


@pytest.mark.parametrize("architecture", ["bert", "llama"])
@pytest.mark.parametrize("passes", [1.5, 2.0, 3.0, 4.0])
def test_it_is_what_a_plain_loop_buys(architecture: str, passes: float) -> None:
    """Texts of 14, 11 and 5 tokens, some of which the budget covers altogether."""
    model = tiny(architecture=architecture)
    found = axioms.attribute(model, TEXT, TARGET, "loo_budget", passes=passes).scores
    first, blocks = estimates(model)
    is_causal = architecture == "llama"
    for example, length in enumerate(LENGTHS):
        both = first[example], blocks[example]
        wanted = by_hand(model, TOKENS[example, :length], both, passes, is_causal=is_causal)
        assert found[example, :length].tolist() == pytest.approx(wanted, abs=1e-5 if is_causal else 1e-12)
        assert not found[example, length:].any()


def test_the_prompts_that_three_passes_cover_get_leave_one_out_itself() -> None:
    """Of a causal model those of up to 16 tokens, of an encoder those of up to 8."""
    for architecture, longest in (("llama", 16), ("bert", 8)):
        model = tiny(architecture=architecture)
        for length, is_exact in ((longest, True), (longest + 1, False)):
            tokens = torch.randint(3, 40, (1, length), generator=torch.Generator().manual_seed(length))
            given = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
            exact = axioms.attribute(model, given, TARGET, "loo").scores
            found = axioms.attribute(model, given, TARGET, "loo_budget").scores
            assert torch.allclose(found, exact, rtol=0, atol=1e-9) == is_exact


@pytest.mark.parametrize("architecture", ["bert", "llama"])
def test_no_text_sees_its_batch_or_padding(architecture: str) -> None:
    model = tiny(architecture=architecture)
    together = axioms.attribute(model, TEXT, TARGET, "loo_budget", passes=2.0).scores
    for example, length in enumerate(LENGTHS):
        alone = {name: tensor[example : example + 1, :length] for name, tensor in TEXT.items()}
        found = axioms.attribute(model, alone, TARGET, "loo_budget", passes=2.0).scores
        torch.testing.assert_close(together[example, :length], found[0], rtol=0, atol=1e-9)
    before = {"input_ids": TOKENS[:, :1].expand(3, 2), "attention_mask": torch.zeros(3, 2, dtype=torch.long)}
    padded = {name: torch.cat([before[name], TEXT[name]], dim=1) for name in TEXT}
    padded["position_ids"] = torch.cat([torch.zeros(2, dtype=torch.long), torch.arange(14)]).expand(3, 16)
    if architecture == "llama":  # BERT looks its positions up, and takes them as they are given too
        shifted = axioms.attribute(model, padded, TARGET, "loo_budget", passes=2.0).scores
        torch.testing.assert_close(shifted[:, 2:], together, rtol=0, atol=1e-5)


def test_a_large_budget_is_leave_one_out_and_a_small_one_its_estimate() -> None:
    model = tiny(architecture="bert")
    exact = axioms.attribute(model, TEXT, method="loo").scores
    torch.testing.assert_close(axioms.attribute(model, TEXT, method="loo_budget", passes=99.0).scores, exact)
    first = axioms.attribute(model, TEXT, method="removal_taylor", order="first").scores
    torch.testing.assert_close(axioms.attribute(model, TEXT, method="loo_budget", passes=0.5).scores, first)


def test_both_orders_by_one_pass_are_those_of_one_pass_each() -> None:
    module = tiny(architecture="bert")
    model, inputs = Model(module), read_inputs(module, TEXT)
    calls: list[int] = []
    handle = module.register_forward_hook(lambda module, args, output: calls.append(1))
    with model.at_rest():
        first, blocks, output = taylor_both(model, inputs, choose(TARGET, torch.zeros(3, 3)))
    handle.remove()
    assert len(calls) == 1
    for found, wanted in zip((first, blocks), estimates(module), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(output, axioms.attribute(module, TEXT, TARGET, "loo").output)


def test_a_choice_turned_round_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seeded fault: what is worth least is bought first."""
    model = tiny(architecture="bert")
    monkeypatch.setattr("axioms.methods.budget.affordable", lambda worth, *rest: affordable(-worth, *rest))
    found = axioms.attribute(model, TEXT, TARGET, "loo_budget", passes=2.0).scores
    first, blocks = estimates(model)
    wanted = by_hand(model, TOKENS[0], (first[0], blocks[0]), 2.0, is_causal=False)
    assert found[0].tolist() != pytest.approx(wanted, abs=1e-6)


def test_the_token_that_holds_all_attention_is_made_exact() -> None:
    """Its slope is A (v - o) and so next to nothing where A is next to 1, whatever its removal does."""
    model = AttentionBlock(level=9.0)
    points = torch.tensor([[[1.0, 0.1], [2.0, 5.0], [0.3, 1.0], [0.2, -9.0], [0.1, 1.0], [0.1, 2.0], [0.1, 0.5]]])
    given = {"features": points.double(), "attention_mask": torch.ones(1, 7, dtype=torch.long)}
    wanted: dict[str, Any] = {"loo": {}, "loo_budget": {"passes": 4 / 3}, "removal_taylor": {}}
    loo, budget, taylor = (
        axioms.attribute(model, given, 0, method, remove="attention_mask", **options).scores[0]
        for method, options in wanted.items()
    )
    assert taylor[1].abs() < 0.01 * loo[1].abs()
    torch.testing.assert_close(budget[1], loo[1])
    torch.testing.assert_close(budget[2:], taylor[2:])


@pytest.mark.parametrize("architecture", ["bert", "llama"])
@pytest.mark.parametrize("rewrite", ["permute_heads", "rescale_qk", "split_linear", "written_softmax", "sdpa"])
def test_it_is_the_same_for_models_that_compute_the_same(architecture: str, rewrite: str) -> None:
    """Estimates, choice and removals, at a budget that covers neither of the longer texts."""
    model = tiny(architecture=architecture)
    other = (
        tiny(architecture=architecture, backend="sdpa")
        if rewrite == "sdpa"
        else REWRITES.get(rewrite).function(copy.deepcopy(model))
    )
    left, right = (axioms.attribute(side, TEXT, TARGET, "loo_budget", passes=2.0).scores for side in (model, other))
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


def test_dearer_forward_passes_buy_fewer_removals() -> None:
    """Two passes buy three removals of an encoder where a forward pass is a third of a pass, and two at a half."""
    model = tiny(architecture="bert")
    first, _ = estimates(model)
    for forward, bought in ((1 / 3, 3), (0.5, 2)):
        found = axioms.attribute(model, TEXT, TARGET, "loo_budget", passes=2.0, forward=forward).scores
        assert int((~torch.isclose(found[0], first[0], rtol=0, atol=1e-12)).sum()) == bought


def test_a_chunk_is_bought_as_a_whole() -> None:
    model, removal = tiny(architecture="bert"), {"kind": "zero_embedding", "chunk": 4}
    exact = axioms.attribute(model, TEXT, 0, "loo", remove=removal).scores
    first = axioms.attribute(model, TEXT, 0, "removal_taylor", remove=removal).scores
    found = axioms.attribute(model, TEXT, 0, "loo_budget", remove=removal, passes=4 / 3).scores
    for example, length in enumerate(LENGTHS):
        chunks = [range(start, min(start + 4, length)) for start in range(0, length, 4)]
        largest = max(chunks, key=lambda chunk: abs(sum(first[example, token].item() for token in chunk)))
        everything = 1 + len(chunks) <= 4
        for token in range(length):
            wanted = exact if everything or token in largest else first
            assert found[example, token].item() == pytest.approx(wanted[example, token].item(), abs=1e-12)


def test_draws_are_paid_for() -> None:
    """Three draws make every removal and the estimate three times as dear: four passes leave one removal."""
    model, removal = tiny(architecture="bert"), {"kind": "resample", "draws": 3}
    exact = axioms.attribute(model, TEXT, 0, "loo", remove=removal).scores
    first = axioms.attribute(model, TEXT, 0, "removal_taylor", remove=removal).scores
    found = axioms.attribute(model, TEXT, 0, "loo_budget", remove=removal, passes=4.0).scores
    for example, length in enumerate(LENGTHS):
        largest = max(range(length), key=lambda token: abs(first[example, token].item()))
        changed = [token for token in range(length) if found[example, token] != first[example, token]]
        assert changed == [largest]
        torch.testing.assert_close(found[example, largest], exact[example, largest])


@given(st.lists(st.tuples(st.floats(0, 9), st.integers(0, 9)), min_size=1, max_size=12), st.floats(-3, 40))
def test_what_is_bought_fits_and_nothing_that_would_fit_is_left(units: list[tuple[float, int]], left: float) -> None:
    worth, price = (torch.tensor([column], dtype=torch.float64) for column in zip(*units, strict=True))
    bought = affordable(worth, price, torch.tensor([left], dtype=torch.float64))[0]
    value = worth / price
    spent = float(price[0][bought].sum())
    assert spent <= max(left, 0)
    assert not bought[price[0] == 0].any()
    for unit in range(len(units)):
        if price[0, unit] > 0 and not bought[unit]:
            before = [other for other in range(len(units)) if bought[other] and _is_before(value[0], other, unit)]
            assert sum(float(price[0, other]) for other in before) + float(price[0, unit]) > left


def _is_before(value: Tensor, other: int, unit: int) -> bool:
    return bool(value[other] > value[unit]) or (bool(value[other] == value[unit]) and other < unit)


@pytest.mark.parametrize(
    "options", [{"passes": 0.0}, {"passes": -1.0}, {"forward": 0.0}, {"forward": 1.5}, {"rows": 0}]
)
def test_wrong_options_are_a_sentence(options: dict[str, Any]) -> None:
    model = Expression(lambda a, b: a * b)
    with pytest.raises(InputError, match=r"passes > 0, forward in \(0, 1\] and rows >= 1"):
        axioms.attribute(model, torch.ones(1, 2, dtype=torch.float64), 0, "loo_budget", **options)


def test_the_output_that_is_largest_for_the_whole_input_is_explained_throughout() -> None:
    """Of (3 a, 2 b) at (1, 1) the first is explained, also where a is left out and the second is larger."""
    layer = torch.nn.Linear(2, 2, bias=False).double()
    layer.weight.data = torch.tensor([[3.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    x = torch.ones(1, 2, dtype=torch.float64)
    for passes in (1.0, 100.0):
        assert axioms.attribute(layer, x, method="loo_budget", passes=passes).scores.tolist() == [[3.0, 0.0]]


def test_no_text_that_the_budget_covers_pays_for_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six forward passes cover a text of five tokens, and neither one of eleven nor one of fourteen."""
    estimated: list[int] = []

    def noting(model: Any, inputs: Any, target: Any) -> Any:
        estimated.append(len(inputs))
        return taylor_both(model, inputs, target)

    monkeypatch.setattr("axioms.methods.budget.taylor_both", noting)
    axioms.attribute(tiny(architecture="bert"), TEXT, TARGET, "loo_budget", passes=2.0)
    assert estimated == [2]
    estimated.clear()
    axioms.attribute(tiny(architecture="bert"), TEXT, TARGET, "loo_budget", passes=99.0)
    assert estimated == []


def test_the_target_is_settled_from_the_first_pass_over_the_texts() -> None:
    """A target that is still to be chosen is chosen from them, whatever of it the budget covers."""
    module = tiny(architecture="bert")
    model, inputs, heard = Model(module), read_inputs(module, TEXT), list[Tensor]()

    class Listens(Target):
        def settle(self, outputs: Tensor) -> None:
            heard.append(outputs.detach().clone())

    for passes in (0.5, 2.0, 99.0):
        heard.clear()
        with model.at_rest():
            loo_budget(model, inputs, Listens(torch.full((3,), TARGET)), passes=passes)
        with torch.no_grad():
            torch.testing.assert_close(heard[0], module(**TEXT).logits)


def test_a_price_counts_the_tokens_of_every_draw() -> None:
    units = torch.tensor([[0, 1, 1, 2], [0, 1, 2, -1]])
    there = torch.tensor([[True] * 4, [True, True, True, False]])
    for draws, times in ((None, 1), (5, 5)):
        drawn = None if draws is None else torch.zeros(2, draws, 4)
        inputs: Any = SimpleNamespace(attended=there, drawn=drawn)
        whole, price = prices(inputs, units, is_prefix_kept=False)
        assert whole.tolist() == [4, 3]
        assert price.tolist() == [[4 * times] * 3 + [0], [3 * times] * 3 + [0]]


def test_estimates_and_the_output_are_numbers() -> None:
    module = tiny(architecture="bert")
    model, inputs = Model(module), read_inputs(module, TEXT)
    with torch.enable_grad(), model.at_rest():
        parts = taylor_both(model, inputs, Target(torch.tensor([0, 1, 2])))
    assert not any(part.requires_grad for part in parts)
