"""Forward passes after removals: no larger than the device likes, no more than needed, each answer in its place."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import Mock, call

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from axioms.model import probe as module
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.prefix import ReuseFailed, check_reuse, run_remembering
from axioms.model.probe import _cheapest, _parts_with_starts, _Questions, probe
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny


class Summed(nn.Module):
    """Notes how many rows each of its passes has."""

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[tuple[int, ...]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.passes.append(tuple(x.shape))
        return (x * torch.arange(1, x.shape[1] + 1)).sum(dim=1, keepdim=True)


def test_features_go_together_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 12 numbers in a pass, but for a few rows."""
    summed = Summed()
    x = torch.arange(8, dtype=torch.float64).reshape(2, 4)
    example = torch.tensor([1, 0, 1, 1, 0])
    removed = torch.eye(4, dtype=torch.bool)[[0, 1, 2, 3, 0]]
    wanted = (x[example] * ~removed * torch.arange(1, 5)).sum(dim=1)
    for numbers, few, rows, sizes in ((12, 1, 99, [3, 2]), (12, 4, 99, [4, 1]), (99, 1, 2, [2, 2, 1])):
        monkeypatch.setitem(module.NUMBERS, "cpu", numbers)
        monkeypatch.setattr(module, "FEW", few)
        summed.passes.clear()
        done: list[tuple[int, int]] = []
        target = Target(torch.zeros(2, dtype=torch.long))
        (found,) = probe(
            Model(summed),
            Inputs(x),
            [target],
            example,
            removed,
            rows=rows,
            progress=lambda *step: done.append(step),  # noqa: B023
        )
        torch.testing.assert_close(found, wanted)
        assert [shape[0] for shape in summed.passes] == sizes
        assert [step[0] for step in done] == torch.tensor(sizes).cumsum(0).tolist()
        assert {step[1] for step in done} == {5}


def test_texts_of_one_length_go_together_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 8 tokens in a pass, none of them padding; and one text however long it is."""
    bert = tiny(architecture="bert")
    passes: list[tuple[int, ...]] = []
    ids = torch.randint(3, 40, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(9) < torch.tensor([[4], [9], [2]])).long()
    inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": mask}, "zero_embedding")
    bert.register_forward_pre_hook(
        lambda _, args, kwargs: passes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    example = torch.tensor([0, 1, 2, 0, 2, 0])
    removed = torch.zeros(6, 9, dtype=torch.bool)
    removed[torch.arange(6), torch.tensor([0, 8, 1, 1, 0, 3])] = True
    target, model = Target(torch.tensor([0, 1, 0])), Model(bert)
    monkeypatch.setitem(module.TOKENS, "cpu", 8)
    monkeypatch.setitem(module.NUMBERS, "cpu", 1)  # of features that are no tokens, and no limit here
    monkeypatch.setattr(module, "FEW", 1)
    with model.at_rest(), torch.no_grad():
        (found,) = probe(model, inputs, [target], example, removed)
        assert passes == [(1, 9), (2, 4), (1, 4), (2, 2)]
        for row in range(6):
            text = inputs.select(example[row : row + 1]).without(removed[row : row + 1])
            torch.testing.assert_close(found[row : row + 1], target.select(example[row : row + 1])(model(text)))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=7), st.integers(1, 4), st.integers(0, 40))
def test_passes_with_different_starts_cost_as_little_as_any(tokens: list[int], most: int, overhead: int) -> None:
    tokens = sorted(tokens, reverse=True)

    def cost(counts: tuple[int, ...]) -> int:
        starts = [sum(counts[:place]) for place in range(len(counts))]
        return sum(overhead + count * tokens[start] for start, count in zip(starts, counts, strict=True))

    found = _cheapest(tokens, most, overhead)
    every = [
        counts
        for length in range(1, len(tokens) + 1)
        for counts in product(range(1, most + 1), repeat=length)
        if sum(counts) == len(tokens)
    ]
    assert tuple(found) in every
    assert cost(tuple(found)) == min(map(cost, every))


def test_one_row_that_differs_is_enough_to_reuse_nothing() -> None:
    whole = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    check_reuse(whole + 1e-14, whole, 3.0)
    for row in range(3):
        off = whole.clone()
        off[row] += 0.03
        with pytest.raises(ReuseFailed, match="differ by 1e-02 of the largest"):
            check_reuse(off, whole, 3.0)
    with pytest.raises(ReuseFailed):
        check_reuse(whole * float("nan"), whole, 3.0)
    check_reuse(whole + 1e-9, whole, 1e6)  # rounding is as large as the largest output
    with pytest.raises(ReuseFailed):
        check_reuse(whole + 1e-9, whole, 3.0)


def test_texts_that_become_shorter_go_together_by_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    bert = tiny(architecture="bert")
    passes: list[tuple[int, ...]] = []
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(6) < torch.tensor([[6], [4]])).long()
    inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": mask}, "delete")
    bert.register_forward_pre_hook(
        lambda _, args, kwargs: passes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    gone = [(0, [1]), (0, [1, 2]), (1, []), (0, [0, 3, 4, 5]), (1, [0, 1]), (1, [0, 1, 2, 3])]
    removed = torch.zeros(len(gone), 6, dtype=torch.bool)
    for row, (_, places) in enumerate(gone):
        removed[row, places] = True
    example, target, model = torch.tensor([one for one, _ in gone]), Target(torch.tensor([0, 1])), Model(bert)
    with model.at_rest(), torch.no_grad():
        (found,) = probe(model, inputs, [target], example, removed)
        assert passes == [(1, 5), (2, 4), (3, 2)]  # an empty text keeps its two ends
        for row in range(len(gone)):
            text = inputs.select(example[row : row + 1]).without(removed[row : row + 1])
            torch.testing.assert_close(found[row : row + 1], target.select(example[row : row + 1])(model(text)))


def test_the_largest_output_that_was_seen_is_kept() -> None:
    """Of single questions, against which reused keys are checked."""
    x = torch.tensor([[1.0, 2.0], [-5.0, 1.0]], dtype=torch.float64)
    model = Model(nn.Linear(2, 3).double())
    target = Target(torch.zeros(2, dtype=torch.long))
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    questions = _Questions(model, Inputs(x), [target], torch.arange(2), nothing)
    with torch.no_grad():
        sizes = model(Inputs(x)).abs().amax(dim=1).tolist()
        questions.values(torch.arange(2))
        assert questions.size == 0.0
        for row in (1, 0):
            questions.values(torch.tensor([row]))
        assert questions.size == pytest.approx(max(sizes))


def _asks(texts: int, removals: int) -> tuple[Inputs, Target, Tensor, Tensor, Model]:
    """Texts of six tokens for a tiny Llama, of which one token is removed each time."""
    llama = tiny(architecture="llama")
    ids = torch.randint(3, 40, (texts, 6), generator=torch.Generator().manual_seed(0))
    inputs = read_inputs(llama, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, "zero_embedding")
    example = torch.arange(removals) % texts
    removed = torch.eye(6, dtype=torch.bool)[torch.arange(removals) % 5]
    return inputs, Target(torch.zeros(texts, dtype=torch.long)), example, removed, Model(llama)


@pytest.mark.parametrize("removals", [module.MANY - 1, module.MANY])
def test_many_removals_make_it_worth_looking_for_the_tail(removals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, target, example, removed, model = _asks(2, removals)
    look = Mock(return_value=model)
    monkeypatch.setattr(module, "with_short_tail", look)
    with model.at_rest():
        probe(model, inputs, [target], example, removed)
    assert look.call_args_list == ([call(model, inputs)] if removals >= module.MANY else [])


@pytest.mark.parametrize("texts", [1, 3])
@pytest.mark.parametrize("fewer", [0, 1])
def test_so_many_removals_of_every_text_make_it_worth_remembering_its_keys(
    texts: int, fewer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the caller has remembered them: then no pass is spent on it, and they are used for fewer too."""
    inputs, target, example, removed, model = _asks(texts, module.WORTHWHILE * texts - fewer)
    monkeypatch.setitem(module.OVERHEAD, "cpu", 0)
    remember = Mock(wraps=run_remembering)
    monkeypatch.setattr(module, "run_remembering", remember)
    tokens: list[int] = []
    embedding = model.module.get_input_embeddings()  # type: ignore[operator]
    with model.at_rest():
        (found,) = probe(model, inputs, [target], example, removed)
        assert remember.call_count == 1 - fewer
        with torch.no_grad():
            _, prefix = run_remembering(model, inputs)
        embedding.register_forward_hook(lambda module, args, output: tokens.append(output.shape[1]))
        (given,) = probe(model, inputs, [target], example, removed, prefix=prefix)
    torch.testing.assert_close(given, found)
    assert remember.call_count == 1 - fewer
    assert min(tokens) < 6


@pytest.mark.parametrize("first", [0, 5])
def test_what_is_tried_has_as_many_tokens_before_it_as_behind(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first token nothing can be reused, and before the last there is hardly anything to compute."""
    inputs, target, example, _, model = _asks(1, 14)
    removed = torch.eye(6, dtype=torch.bool)[[first, 0, 1, 2, 3, 4, 5]].repeat(2, 1)
    parts: list[Tensor] = []
    values = _Questions.values

    def noting(questions: _Questions, part: Tensor, *prefix: Any) -> list[Tensor]:
        parts.append(part)
        return values(questions, part, *prefix)

    monkeypatch.setattr(_Questions, "values", noting)
    with model.at_rest():
        probe(model, inputs, [target], example, removed)
    assert removed[parts[0]].nonzero().tolist() == [[0, 3]]


def test_what_is_tried_comes_first() -> None:
    """A model whose keys depend on what follows shows it in the first pass that reuses them; no second one is made."""
    inputs, target, example, removed, model = _asks(3, 15)
    llama: Any = model.module
    caches: list[int] = []

    def look_ahead(module: nn.Module, args: Any, output: Any) -> Any:
        hidden = output if isinstance(output, Tensor) else output[0]
        return hidden + 0.1 * hidden.flip(1).cumsum(dim=1).flip(1)

    llama.model.layers[0].register_forward_hook(look_ahead)
    llama.register_forward_pre_hook(
        lambda module, args, given: caches.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    with model.at_rest(), torch.no_grad():
        (found,) = probe(model, inputs, [target], example, removed, rows=2)
        assert sum(length < 6 for length in caches) == 1
        for row in range(15):
            text = inputs.select(example[row : row + 1]).without(removed[row : row + 1])
            torch.testing.assert_close(found[row : row + 1], target.select(example[row : row + 1])(model(text)))


def test_texts_of_one_length_go_together_where_keys_are_remembered_too() -> None:
    """No pass has padding, however near the starts are; inputs that have no lengths are all of one."""
    order, starts = torch.tensor([3, 1, 0, 2]), torch.tensor([1, 0, 1, 0])
    lengths = torch.tensor([4, 6, 4, 6])
    order = order[lengths[order].argsort(descending=True, stable=True)]
    parts = [part.tolist() for part in _parts_with_starts(order, lengths, starts, 6, 9)]
    assert parts == [[3, 1], [0, 2]]
    assert [part.tolist() for part in _parts_with_starts(order, None, starts, 6, 9)] == [[3, 1, 0, 2]]
