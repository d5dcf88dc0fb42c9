"""The remedies as methods: against plain loops, and the properties that make them what they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import axioms
from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.engine.handlers.gates import gated
from axioms.methods.lrp import composite_of
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.tiny import tiny

cubic = Expression(lambda a, b, c: a * a * b + 2 * b * c - c)
TOKENS = torch.randint(3, 40, (3, 9), generator=torch.Generator().manual_seed(4))
MASK = torch.tensor([[1] * 9, [1] * 6 + [0] * 3, [0] * 2 + [1] * 7])
TEXT = {"input_ids": TOKENS, "attention_mask": MASK}


def points(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def test_first_order_at_zero_removal_is_gradient_x_input() -> None:
    x = points([2, 3, 5], [1, -1, 0.5])
    wanted = axioms.attribute(cubic, x, 0, "gradient_x_input").scores
    torch.testing.assert_close(axioms.attribute(cubic, x, 0, "removal_taylor").scores, wanted)


def test_grouped_reads_each_slope_where_its_group_is_lowered() -> None:
    """By hand at (2, 3, 5) with two groups, {a, c} and {b}, at a quarter: a -> 1/2 and c -> 5/4, or b -> 3/4."""
    found = axioms.attribute(cubic, points([2, 3, 5]), 0, "removal_grouped", groups=2).scores
    a, b, c = 0.5, 0.75, 1.25
    torch.testing.assert_close(found, points([2 * (2 * a * 3), 3 * (4 + 10), 5 * (2 * 3 - 1)]))
    assert (b, c) == (0.75, 1.25)  # f is linear in b and c: neither matters to its own slope


def test_grouped_with_open_gates_or_one_group_is_first_order() -> None:
    model = tiny(architecture="bert")
    first = axioms.attribute(model, TEXT, method="removal_taylor").scores
    wide_open = axioms.attribute(model, TEXT, method="removal_grouped", level=1.0, order="first").scores
    torch.testing.assert_close(wide_open, first)
    # Lowering all keys together changes no softmax: f(c g) = f(g), so slopes scale by 1 / level.
    together = axioms.attribute(model, TEXT, method="removal_grouped", groups=1, order="first").scores
    torch.testing.assert_close(together, 4 * first)


def test_key_gates_share_out_nothing() -> None:
    """f(c g) = f(g), so by Euler's theorem the slopes sum to zero: they rank removals and decompose nothing."""
    found = axioms.attribute(tiny(architecture="bert"), TEXT, method="removal_taylor").scores
    assert found.abs().max() > 1e-3
    torch.testing.assert_close(found.sum(1), torch.zeros(3, dtype=torch.float64), atol=1e-12, rtol=0)


def test_padding_on_either_side_changes_no_group() -> None:
    model = tiny(architecture="llama")
    alone = {"input_ids": TOKENS[2:, 2:], "attention_mask": MASK[2:, 2:]}
    alone["position_ids"] = torch.arange(7)[None]
    padded = {**{name: value[2:] for name, value in TEXT.items()}, "position_ids": torch.tensor([[0, 0, *range(7)]])}
    found = axioms.attribute(model, padded, 5, "removal_grouped").scores
    torch.testing.assert_close(found[:, 2:], axioms.attribute(model, alone, 5, "removal_grouped").scores)
    assert torch.equal(found[:, :2], torch.zeros(1, 2, dtype=torch.float64))


@pytest.mark.parametrize("estimate", ["removal_taylor", "removal_grouped"])
def test_adaptive_is_exact_for_the_largest_and_the_estimate_elsewhere(estimate: str) -> None:
    model = tiny(architecture="bert")
    first = axioms.attribute(model, TEXT, method=estimate, order="exact_block").scores
    exact = axioms.attribute(model, TEXT, method="loo").scores
    found = axioms.attribute(model, TEXT, method="loo_adaptive", exact=2, estimate=estimate, rows=4).scores
    for example in range(3):
        largest = sorted(range(9), key=lambda token: -abs(first[example, token].item()))[:2]
        for token in range(9):
            wanted = exact if token in largest else first
            assert found[example, token].item() == pytest.approx(wanted[example, token].item(), abs=1e-12)


def test_adaptive_with_all_exact_is_leave_one_out_and_with_none_its_estimate() -> None:
    model = tiny(architecture="bert")
    exact = axioms.attribute(model, TEXT, method="loo").scores
    torch.testing.assert_close(axioms.attribute(model, TEXT, method="loo_adaptive", exact=99).scores, exact)
    for order in ("first", "exact_block"):
        first = axioms.attribute(model, TEXT, method="removal_taylor", order=order).scores
        found = axioms.attribute(model, TEXT, method="loo_adaptive", exact=0, order=order).scores
        assert torch.equal(found, first)


@pytest.mark.parametrize(("estimate", "passes", "forward"), [("removal_taylor", 1, 2), ("removal_grouped", 3, 3)])
def test_adaptive_makes_the_passes_that_it_says(estimate: str, passes: int, forward: int) -> None:
    """Texts of one length, so that one call holds all rows: the pass or passes, two exact removals of each, f(x)."""
    module = tiny(architecture="bert")
    given = {"input_ids": TOKENS, "attention_mask": torch.ones_like(TOKENS)}
    model, inputs = Model(module), read_inputs(module, given)
    target = choose(0, torch.zeros(3, 2))
    rows: list[tuple[bool, int]] = []
    handle = module.register_forward_pre_hook(
        lambda module, args, kwargs: rows.append((torch.is_grad_enabled(), len(kwargs["input_ids"]))), with_kwargs=True
    )
    with model.at_rest():
        METHODS.get("loo_adaptive").function(model, inputs, target, exact=2, estimate=estimate)
    handle.remove()
    assert sum(count for graded, count in rows if graded) == passes * 3
    assert sum(count for graded, count in rows if not graded) == forward * 3


@pytest.mark.parametrize("kind", ["attention_mask", "zero_embedding", "mean_embedding", "mask_token", "resample"])
def test_gates_are_on_what_the_removal_removes(kind: str) -> None:
    """Every removal but `delete`: a slope from differences of f(g), in units of two tokens, special ones kept."""
    module = tiny(architecture="bert")
    special = torch.zeros_like(MASK)
    special[:, 3] = 1
    given = {**TEXT, "special_tokens_mask": special | (1 - MASK), "mask_token_id": 5}
    removal: dict[str, Any] = {"kind": kind, "chunk": 2, "special_tokens": "keep"}
    if kind == "resample":
        removal["draws"] = 3
    found = axioms.attribute(module, given, 0, "removal_taylor", remove=removal).scores
    inputs, model, step = read_inputs(module, given, removal), Model(module), 1e-5
    units = inputs.units()
    assert units is not None
    draws = removal.get("draws", 1)
    for number in range(3):
        gates = torch.ones(3, 9, dtype=torch.float64)
        less = torch.where(units == number, 1 - step, gates)
        more = torch.where(units == number, 1 + step, gates)
        with torch.no_grad():
            change = sum(
                (gated(model, inputs, more, draw=draw) - gated(model, inputs, less, draw=draw))[:, 0]
                for draw in range(draws)
            ) / (2 * step * draws)
        for example in range(3):
            mine = found[example][units[example] == number]
            assert torch.allclose(mine, change[example] / len(mine), rtol=1e-5, atol=1e-8)
    assert torch.equal(found[units < 0], torch.zeros_like(found[units < 0]))


def test_a_deleted_token_has_no_gate() -> None:
    with pytest.raises(InputError, match="delete has no gates"):
        axioms.attribute(tiny(architecture="bert"), TEXT, 0, "removal_taylor", remove="delete")


def test_adaptive_in_chunks_is_exact_for_whole_chunks() -> None:
    model, removal = tiny(architecture="bert"), {"kind": "zero_embedding", "chunk": 4}
    exact = axioms.attribute(model, TEXT, 0, "loo", remove=removal).scores
    first = axioms.attribute(model, TEXT, 0, "removal_taylor", remove=removal).scores
    found = axioms.attribute(model, TEXT, 0, "loo_adaptive", remove=removal, exact=1).scores
    for example, (start, stop) in enumerate([(0, 9), (0, 6), (2, 9)]):
        chunks = [range(place, min(place + 4, stop)) for place in range(start, stop, 4)]
        largest = max(chunks, key=lambda chunk: abs(sum(first[example, token].item() for token in chunk)))
        for token in range(9):
            wanted = exact if token in largest else first
            assert found[example, token].item() == pytest.approx(wanted[example, token].item(), abs=1e-12)
    everything = axioms.attribute(model, TEXT, 0, "loo_adaptive", remove=removal, exact=3).scores
    torch.testing.assert_close(everything, exact)


def test_exact_block_needs_a_removal_by_mask() -> None:
    with pytest.raises(InputError, match="attention mask"):
        axioms.attribute(cubic, points([1, 1, 1]), 0, "removal_taylor", order="exact_block")


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("removal_grouped", {"groups": 0}, "at least one group"),
        ("removal_grouped", {"level": 0.0}, "level in"),
        ("removal_grouped", {"level": 1.5}, "level in"),
        ("loo_adaptive", {"exact": -1}, "exact >= 0"),
    ],
)
def test_wrong_options_are_sentences(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        axioms.attribute(cubic, points([1, 1, 1]), 0, method, **options)


def test_the_composite_of_block_lrp_has_as_many_nodes_as_the_method() -> None:
    assert composite_of("block_lrp").entries == composite_of("block_lrp", nodes=16).entries
    assert METHODS.get("block_lrp").options_model().model_fields["nodes"].default == 16
