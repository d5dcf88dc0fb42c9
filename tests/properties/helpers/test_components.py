"""What replacing each component takes, one pass at a time, however many share a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.engine.handlers.patch import outputs_with, values_at
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.properties.helpers import components
from axioms.properties.helpers.components import Example, Question, alone, mean_values, put, without_words
from axioms.properties.patching_correlation import _compared, patching_correlation
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import make_side

BERT = tiny(architecture="bert")
IDS = torch.randint(3, 40, (4, 5), generator=torch.Generator().manual_seed(0))
LENGTHS = [5, 5, 3, 4]
MASK = (torch.arange(5) < torch.tensor(LENGTHS)[:, None]).long()
TARGET = [0, 1, 1, 0]


def side(remove: str = "zero_embedding") -> Any:
    inputs = read_inputs(BERT, {"input_ids": IDS, "attention_mask": MASK}, remove)
    return make_side(BERT, inputs, TARGET)[0]


def row(number: int) -> Inputs:
    return alone(side().inputs, number)


@pytest.mark.parametrize("tokens", [12, 2048])
@pytest.mark.parametrize("part", ["heads", "mlp", "residual", "queries", "keys"])
def test_effects_are_those_of_one_patch_at_a_time(part: Any, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "TOKENS", tokens)
    question = Question(part, "zero", "noising", (2, 1), None, 0)
    view = side()
    found = Example(view, question, 2).effects()
    model, inputs = Model(BERT), row(2)
    with torch.no_grad(), model.at_rest():
        plain = float(model(inputs)[0, TARGET[2]])
    wanted = []
    for place in question.places:
        (value,) = values_at(model, inputs, [place])
        arranged = question.arranged(value)
        for unit in range(arranged.shape[1]):

            def zeroed(value: Tensor, unit: int = unit) -> Tensor:
                changed = value.clone().contiguous()
                question.arranged(changed)[0, unit] = 0
                return changed

            wanted.append(plain - float(outputs_with(model, inputs, {place: zeroed})[0, TARGET[2]]))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    some = Question(part, "zero", "noising", (2, 1), 4, 3)
    chosen = some.chosen(len(wanted))
    assert len(chosen) == min(4, len(wanted))
    assert sorted(set(chosen.tolist())) == chosen.tolist()
    np.testing.assert_allclose(Example(view, some, 2).effects(), np.array(wanted)[chosen], atol=1e-12)


def test_no_pass_has_more_tokens_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of two heads in two layers, for a text of three tokens: four rows share a pass."""
    sizes: list[int] = []
    run = Model.run

    def noting(model: Model, inputs: Inputs) -> Any:
        sizes.append(inputs.features[..., 0].numel())
        return run(model, inputs)

    monkeypatch.setattr(components, "TOKENS", 12)
    example = Example(side(), Question("queries", "zero", "noising", (2, 1), None, 0), 2)
    monkeypatch.setattr(Model, "run", noting)
    example.effects()
    assert sizes[-3:] == [12, 12, 12]
    assert max(sizes) == 12


def test_places_and_what_is_chosen() -> None:
    assert Question("residual", "zero", "noising", (1, 3), None, 0).places == ["layer.1", "layer.3"]
    assert Question("heads", "zero", "noising", (2,), None, 0).places == ["layer.2.heads"]
    for most in (None, 5, 9):
        assert Question("mlp", "zero", "noising", (1,), most, 0).chosen(5).tolist() == [0, 1, 2, 3, 4]
    four = Question("mlp", "zero", "noising", (1,), 4, 0).chosen(50)
    assert four.tolist() == sorted(np.random.default_rng([0, 50]).choice(50, 4, replace=False).tolist())


def test_patches_of_each_kind() -> None:
    view = side()
    model, places = Model(BERT), ["layer.1.mlp"]

    def patches(patch: Any, direction: Any = "noising", number: int = 0, **more: Any) -> tuple[Tensor, Inputs]:
        example = Example(view, Question("mlp", patch, direction, (1,), None, 0), number, **more)
        return example.patches[0], example.base

    def at(inputs: Inputs) -> Tensor:
        return values_at(model, inputs, places)[0]

    zero, base = patches("zero")
    assert torch.equal(zero, torch.zeros_like(at(row(0))))
    assert torch.equal(base.features, row(0).features)
    mean = mean_values(view, Question("mlp", "mean", "noising", (1,), None, 0))
    every = torch.cat([at(row(number))[0] for number in range(4)])
    torch.testing.assert_close(mean[0].flatten(), every.mean(0))
    filled, _ = patches("mean", mean=mean)
    assert torch.equal(filled, mean[0].expand_as(at(row(0))))
    pair, base = patches("pair")
    torch.testing.assert_close(pair, at(row(1)))
    assert torch.equal(base.features, row(0).features)
    back, base = patches("pair", "denoising", 1)
    torch.testing.assert_close(back, at(row(1)))
    assert torch.equal(base.features, row(0).features)
    removed, base = patches("removal")
    torch.testing.assert_close(removed, at(without_words(row(0))))
    with pytest.raises(InputError, match="examples 2 and 3 are a pair and must have as many tokens"):
        patches("pair", number=2)
    odd = make_side(BERT, view.inputs.rows(0, 3), TARGET[:3])[0]
    with pytest.raises(InputError, match="an even number of examples"):
        _ = Example(odd, Question("mlp", "pair", "noising", (1,), None, 0), 2).patches
    assert Example(odd, Question("mlp", "pair", "noising", (1,), None, 0), 1).patches


def test_words_are_replaced_and_padding_left() -> None:
    assert row(2).features.shape[1] == 3
    assert not bool(without_words(row(2)).features.any())
    for remove in ("attention_mask", "delete"):
        with pytest.raises(InputError, match=f"removal by {remove} does not"):
            without_words(side(remove).inputs)
    for shape in ((1, 3), (1, 3, 2)):
        assert not bool(without_words(Inputs(torch.ones(shape))).features.any())
    assert alone(Inputs(torch.arange(6.0).reshape(2, 3)), 1).features.tolist() == [[3.0, 4.0, 5.0]]


def test_a_patch_is_put_at_one_component_of_each_row() -> None:
    value = torch.arange(24.0).reshape(2, 3, 4).transpose(1, 2)
    found = put([1, 0], [2, 0], torch.tensor([[-1.0] * 3, [-2.0] * 3]), 2, value)
    wanted = value.clone()
    wanted[1, 2], wanted[0, 0] = -1.0, -2.0
    assert torch.equal(found, wanted)
    assert float(value.min()) == 0


def test_examples_of_different_sizes_are_compared() -> None:
    said = [np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])]
    true = [np.array([2.0, 2.5, 3.0, 9.0]), np.array([2.0, 1.0, 5.0]), np.array([1.0, 5.0]), np.array([4.0, 4.0, 4.0])]
    found = _compared(said, true)
    assert found["undefined"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.ma.getmaskarray(found["pearson"]).tolist() == [False, False, True, True]
    for number in (0, 1):
        assert found["pearson"][number] == pytest.approx(np.corrcoef(said[number], true[number])[0, 1])
    gaps = [np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max()) for a, b in zip(said, true, strict=True)]
    np.testing.assert_allclose(found["relative_gap"], gaps)
    assert np.isnan(found["pearson_of_means"])
    same = _compared(said[1::2], true[1::2])
    wanted = np.corrcoef(np.mean(said[1::2], axis=0), np.mean(true[1::2], axis=0))[0, 1]
    assert float(same["pearson_of_means"]) == pytest.approx(wanted)


def test_estimates_are_compared_with_effects_example_by_example() -> None:
    from axioms.core.registry import METHODS

    view, bench = make_side(BERT, side().inputs, TARGET, method=METHODS.get("atp").function)
    found = patching_correlation(view, of="mlp", layers=[2])
    assert bench.told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    question = Question("mlp", "zero", "noising", (2,), None, 0)
    for number in range(4):
        example = Example(view, question, number)
        said, true = example.estimates(), example.effects()
        assert found["pearson"][number] == pytest.approx(np.corrcoef(said, true)[0, 1])
    for wrong in ({"layers": [3]}, {"layers": [0]}, {"direction": "denoising"}):
        with pytest.raises(InputError):
            patching_correlation(view, **wrong)
