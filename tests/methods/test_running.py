"""A method is run batch by batch, and leaves nothing behind: no graph, no flag on what it was given."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.entries import Method
from axioms.core.errors import AxiomsError, InputError, MethodFailed, ModelChanged, NotDefined
from axioms.core.registry import METHODS
from axioms.engine.attribution import Decomposition
from axioms.methods.running import check_finite, run_method, run_sweep, within_batch
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.tiny import tiny

OURS = sorted(name for name in METHODS if METHODS.get(name).is_ours)
product = Expression(lambda a, b, c: a * b + torch.tanh(c))


def text(architecture: str) -> tuple[nn.Module, Inputs]:
    module = tiny(architecture=architecture)
    ids = torch.randint(3, 40, (2, 5), generator=torch.Generator().manual_seed(0))
    return module, read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


@pytest.mark.parametrize("architecture", ["bert", "llama"])
@pytest.mark.parametrize("name", OURS)
def test_a_method_leaves_its_inputs_alone_and_no_graph_behind(name: str, architecture: str) -> None:
    module, inputs = text(architecture)
    model, target = Model(module), Target(torch.tensor([0, 1]))
    options: dict[str, Any] = {"rules": []} if name == "lrp" else {}
    try:
        found = run_method(METHODS.get(name), model, inputs, target, None, batch_size=2, options=options)
    except (NotDefined, InputError):
        pytest.skip("not for this model")
    for tensor in (found.scores, found.output, found.total):
        assert not tensor.requires_grad
    with torch.enable_grad(), model.at_rest():
        METHODS.get(name).function(model, inputs, target, **options)  # on the very tensor that it is given
        if METHODS.get(name).takes("engine"):
            METHODS.get(name).function(model, inputs, target, **options, engine="explicit")
    assert not inputs.features.requires_grad
    assert inputs.features.grad is None
    with torch.no_grad(), model.at_rest():
        torch.testing.assert_close(found.output, target(model(inputs)))


@pytest.mark.parametrize("name", ["attnlrp", "gradient", "integrated_gradients", "loo", "captum:Saliency"])
def test_features_that_require_a_gradient_are_features_like_others(name: str) -> None:
    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    wanted = axioms.attribute(product, x, method=name).scores
    mine = x.clone().requires_grad_()
    found = axioms.attribute(product, mine, method=name)
    torch.testing.assert_close(found.scores, wanted)
    assert not found.scores.requires_grad
    assert mine.grad is None
    assert mine.is_leaf


def double(model: Model, inputs: Inputs, target: Target) -> Tensor:
    return inputs.features * 2


def reported(batch_size: int, count: int, method: Any = double) -> list[tuple[int, int]]:
    calls: list[tuple[int, int]] = []
    inputs = Inputs(torch.ones(count, 3, dtype=torch.float64))
    target = Target(torch.zeros(count, dtype=torch.long))
    run_method(
        Method("mine", method),
        Model(product),
        inputs,
        target,
        torch.zeros(count),
        batch_size=batch_size,
        options={},
        progress=lambda done, of: calls.append((done, of)),
    )
    return calls


def test_progress_is_in_examples_and_ends_with_all_of_them() -> None:
    assert reported(2, 5) == [(2, 5), (4, 5), (5, 5)]


def test_progress_within_a_batch_is_a_part_of_its_examples() -> None:
    def slow(model: Model, inputs: Inputs, target: Target) -> Tensor:
        report = within_batch()
        assert report is not None
        for step in (1, 2, 4):
            report(step, 4)  # the last says what the batch says anyway
        return inputs.features

    assert reported(4, 8, slow) == [(1, 8), (2, 8), (4, 8), (5, 8), (6, 8), (8, 8)]
    assert reported(4, 1, slow) == [(1, 4), (2, 4), (1, 1)]
    assert within_batch() is None


def test_batches_are_put_together_in_their_order() -> None:
    x = torch.arange(15, dtype=torch.float64).reshape(5, 3)
    index = torch.zeros(5, dtype=torch.long)
    for output in (None, torch.arange(5.0, dtype=torch.float64)):
        found = run_method(
            METHODS.get("gradient_x_input"), Model(product), Inputs(x), Target(index), output, batch_size=2, options={}
        )
        wanted = torch.stack([x[:, 0] * x[:, 1], x[:, 0] * x[:, 1], x[:, 2] * (1 - x[:, 2].tanh() ** 2)], dim=1)
        torch.testing.assert_close(found.scores, wanted)
        torch.testing.assert_close(found.output, product(x) if output is None else output)
        assert found.seconds > 0


def test_one_score_that_is_no_number_is_named() -> None:
    scores = torch.zeros(3, 4)
    mine, ours = Method("mine", double), METHODS.get("loo")
    check_finite(mine, scores)
    scores[1, 2] = float("inf")
    check_finite(ours, scores)
    for first in (0, 7):
        with pytest.raises(
            MethodFailed, match=f"returned inf for feature 2 of example {first + 1}, and 1 of 12 scores"
        ):
            check_finite(mine, scores, first=first)
    with pytest.raises(MethodFailed, match="of example 1,"):
        check_finite(mine, scores)


def test_scores_and_totals_are_numbers_whatever_a_method_returns() -> None:
    weight = torch.ones(1, dtype=torch.float64, requires_grad=True)

    def method(model: Model, inputs: Inputs, target: Target) -> Decomposition:
        return Decomposition(inputs.features * weight, inputs.features.sum(1) * weight)

    x = torch.ones(2, 3, dtype=torch.float64)
    target = Target(torch.zeros(2, dtype=torch.long))
    found = run_method(Method("mine", method), Model(product), Inputs(x), target, None, batch_size=1, options={})
    assert found.total.tolist() == [3.0, 3.0]
    assert not found.scores.requires_grad
    assert not found.total.requires_grad


def test_a_model_that_a_users_method_changes_is_put_back_unless_it_is_watched() -> None:
    def careless(model: Model, inputs: Inputs, target: Target) -> Tensor:
        next(model.module.parameters()).data += 1
        return inputs.features

    class Watched(Model):
        is_guarded = False

    target = Target(torch.zeros(1, dtype=torch.long))
    for kind, moved in ((Model, 0.0), (Watched, 1.0)):
        module = nn.Linear(2, 1).double()
        before = module.weight.detach().clone()
        given = kind(module), Inputs(torch.ones(1, 2, dtype=torch.float64)), target, torch.zeros(1)
        if kind is Model:
            with pytest.raises(ModelChanged, match=r"method 'mine' changed the model's weights \(weight\)"):
                run_method(Method("mine", careless), *given, batch_size=1, options={})
        else:
            run_method(Method("mine", careless), *given, batch_size=1, options={})
        torch.testing.assert_close(module.weight.detach(), before + moved)


def test_scores_have_one_of_two_shapes() -> None:
    def of_shape(*shape: int) -> Tensor:
        method = Method("mine", lambda model, inputs, target: torch.ones(shape, dtype=torch.float64))
        inputs = Inputs(torch.ones(2, 3, 4, dtype=torch.float64))
        summed = nn.Sequential(nn.Flatten(), nn.Linear(12, 1).double())
        target = Target(torch.zeros(2, dtype=torch.long))
        return run_method(method, Model(summed), inputs, target, torch.zeros(2), batch_size=2, options={}).scores

    assert torch.equal(of_shape(2, 3), torch.ones(2, 3, dtype=torch.float64))
    assert torch.equal(of_shape(2, 3, 4), torch.full((2, 3), 4.0, dtype=torch.float64))
    for wrong in ((2, 4), (3, 2), (2, 3, 1), (2,)):
        with pytest.raises(InputError, match="returned scores of shape"):
            of_shape(*wrong)


def test_what_a_users_method_raises_is_said_and_ours_is_not_hidden() -> None:
    def failing(error: Exception) -> Any:
        def method(model: Model, inputs: Inputs, target: Target) -> Tensor:
            raise error

        return method

    with pytest.raises(MethodFailed, match="method 'mine' raised ValueError"):
        reported(2, 2, failing(ValueError("x")))
    with pytest.raises(AxiomsError, match="said so"):
        reported(2, 2, failing(NotDefined("said so")))


def test_a_sweep_is_attnlrps() -> None:
    module, inputs = text("llama")
    model, target = Model(module), Target(torch.tensor([0, 1]))
    output = torch.zeros(2, dtype=torch.float64)
    for name, options in (("cp_lrp", {}), ("attnlrp", {"engine": "explicit"})):
        with pytest.raises(InputError, match="no option but `epsilon`"):
            run_sweep(METHODS.get(name), model, inputs, target, output, ["single"], batch_size=2, options=options)
    told: list[tuple[int, int]] = []
    swept = run_sweep(
        METHODS.get("attnlrp"),
        model,
        inputs,
        target,
        output,
        ["single"],
        batch_size=1,
        options={"epsilon": 0.5},
        progress=lambda *step: told.append(step),
    )
    assert told == [(1, 2), (2, 2)]
    plain = run_method(
        METHODS.get("attnlrp"), model, inputs, target, output, batch_size=2, options={"epsilon": 0.5}
    ).scores
    torch.testing.assert_close(swept.attributions[frozenset()].scores, plain)
    assert all(not attribution.scores.requires_grad for attribution in swept.attributions.values())


def test_leave_one_out_reports_each_of_its_passes() -> None:
    def loo(model: Model, inputs: Inputs, target: Target) -> Tensor:
        scores: Tensor = METHODS.get("loo").function(model, inputs, target, rows=1)
        return scores

    assert reported(1, 1, loo) == [(1, 3), (2, 3), (1, 1)]
    assert reported(2, 2, loo) == [(0, 2), (0, 2), (1, 2), (1, 2), (1, 2), (2, 2)]
