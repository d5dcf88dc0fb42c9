"""The end of a model at the token that is read: the same outputs, fewer tokens, and no harm where it is not so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.model import tail
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.tail import TOKENS, DifferentiableTail, _index, _only_at, _short_text, differentiate_short, find_tail
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny

TEXTS = ("bert", "modernbert", "gpt2", "llama", "qwen3-moe", "gemma3", "mamba")


def prepared(architecture: str) -> tuple[Model, Inputs]:
    module = tiny(architecture=architecture)
    ids = torch.randint(3, 40, (3, 8), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(8) < torch.tensor([[8], [5], [7]])).long()
    return Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": mask})


@pytest.mark.parametrize("architecture", TEXTS)
def test_the_outputs_are_the_same(architecture: str) -> None:
    model, inputs = prepared(architecture)
    with model.at_rest(), torch.no_grad():
        short = tail.with_short_tail(model, inputs)
        assert isinstance(short, tail.TailModel)
        torch.testing.assert_close(short(inputs), model(inputs), rtol=0, atol=1e-12)
        assert tail._TAILS[model.module]  # nothing fell back


@pytest.mark.parametrize("length", [2, 8])
@pytest.mark.parametrize("texts", [1, 3])
def test_the_last_layer_is_computed_for_one_token(texts: int, length: int) -> None:
    model, inputs = prepared("bert")
    inputs = inputs.rows(0, texts)
    module: Any = model.module
    shapes: list[torch.Size] = []
    dense = module.bert.encoder.layer[-1].intermediate.dense
    forward = dense.forward

    def noting(x: torch.Tensor) -> torch.Tensor:
        shapes.append(x.shape[:2])
        return forward(x)

    with model.at_rest(), torch.no_grad():
        short = tail.with_short_tail(model, inputs)
        dense.forward = noting
        short(inputs.up_to(length))
        model(inputs.up_to(length))
    assert shapes == [(texts, 1), (texts, length)]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


class Mean(nn.Module):
    """Reads all tokens alike."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear, self.out = nn.Embedding(40, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(self.embedding(input_ids)) * attention_mask.unsqueeze(-1)
        return self.out(hidden.mean(dim=1))


def test_a_model_that_reads_all_tokens_has_no_tail() -> None:
    module, ids = Mean().double(), torch.arange(12).reshape(2, 6)
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest(), torch.no_grad():
        assert tail.with_short_tail(model, inputs) is model


def test_a_tail_that_is_none_after_all_is_noticed() -> None:
    """Were a map taken for part of the tail by mistake, what others see of it is no number, and nothing is cut."""
    module, ids = Mean().double(), torch.arange(12).reshape(2, 6)
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest(), torch.no_grad():
        tail._TAILS[module] = {"linear": "first"}
        torch.testing.assert_close(tail.TailModel(module)(inputs), model(inputs), rtol=0, atol=0)
        assert tail._TAILS[module] == {}


def test_one_text_of_which_more_is_read_is_enough_to_cut_nothing() -> None:
    """Of the first text the token is read that the tail leaves, of the second another."""
    torch.manual_seed(0)
    module, ids = Largest().double(), torch.tensor([[30, 1, 2, 3, 9, 4], [1, 2, 3, 4, 5, 6]])
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest(), torch.no_grad():
        for rows, stays in ((inputs.rows(0, 1), True), (inputs, False)):
            tail._TAILS[module] = {"linear": "first"}
            torch.testing.assert_close(tail.TailModel(module)(rows), model(rows), rtol=0, atol=1e-15)
            assert bool(tail._TAILS[module]) is stays


RULED = "gradient_x_input attnlrp cp_lrp lrp_epsilon lrp_gamma lrp_alpha1_beta0 degree_lrp".split()


@pytest.mark.parametrize("method", RULED)
@pytest.mark.parametrize("architecture", TEXTS)
def test_relevance_is_the_same(architecture: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tiny(architecture=architecture)
    ids = torch.randint(3, 40, (3, 8), generator=torch.Generator().manual_seed(0))
    inputs = {"input_ids": ids, "attention_mask": (torch.arange(8) < torch.tensor([[8], [5], [7]])).long()}
    plain = axioms.attribute(module, inputs, method=method)
    assert module not in tail._TAILS
    monkeypatch.setattr(tail, "MANY", 1)
    short = axioms.attribute(module, inputs, method=method)
    assert tail._TAILS[module], "nothing fell back"
    size = max(float(plain.scores.abs().max()), float(plain.output.abs().max()))
    torch.testing.assert_close(short.scores, plain.scores, rtol=0, atol=1e-12 * size)
    torch.testing.assert_close(short.output, plain.output, rtol=1e-12, atol=0)


class Largest(nn.Module):
    """Reads the token with the largest number, wherever it is."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear, self.out = nn.Embedding(40, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(self.embedding(input_ids))
        return self.out(hidden[torch.arange(len(hidden)), input_ids.argmax(dim=1)])


@pytest.mark.parametrize("method", ["gradient_x_input", "attnlrp", "cp_lrp"])
def test_a_token_that_is_read_elsewhere_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first four tokens say that the first one is read, the whole text that another is."""
    torch.manual_seed(0)
    module = Largest().double()
    ids = torch.tensor([[9, 1, 2, 3, 30, 4], [1, 2, 3, 4, 5, 6]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    plain = axioms.attribute(module, inputs, method=method)
    monkeypatch.setattr(tail, "MANY", 1)
    found = axioms.attribute(module, inputs, method=method)
    assert tail._TAILS[module] == {}
    torch.testing.assert_close(found.scores, plain.scores, rtol=0, atol=0)
    torch.testing.assert_close(found.output, plain.output, rtol=0, atol=0)
    assert float(found.scores[0, 4].abs()) > 0, "the token that is read"


class FirstAndLargest(Largest):
    """Reads one map at the first token, and another at the token with the largest number."""

    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(4, 4)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(input_ids)
        largest = self.linear(hidden)[torch.arange(len(hidden)), input_ids.argmax(dim=1)]
        return self.out(self.other(hidden)[:, 0] + largest)


def test_one_map_that_is_read_elsewhere_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    module = FirstAndLargest().double()
    ids = torch.tensor([[9, 1, 2, 3, 30, 4], [1, 2, 3, 4, 5, 6]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    plain = axioms.attribute(module, inputs, method="gradient_x_input")
    with Model(module).at_rest():
        assert find_tail(Model(module), read_inputs(module, inputs)) == {"linear": "first", "other": "first"}
    monkeypatch.setattr(tail, "MANY", 1)
    found = axioms.attribute(module, inputs, method="gradient_x_input")
    assert tail._TAILS[module] == {}
    torch.testing.assert_close(found.scores, plain.scores, rtol=0, atol=0)
    assert float(found.scores[0, 4].abs()) > 0, "the token that is read"


def test_which_maps_are_read_at_one_token() -> None:
    """In the last layer: all but keys and values, at the first token of a classifier and the last of a text."""
    found = {}
    for architecture in ("bert", "llama", "gpt2"):
        model, inputs = prepared(architecture)
        with model.at_rest():
            found[architecture] = find_tail(model, inputs)
    bert = {path.removeprefix("bert.encoder.layer.1."): place for path, place in found["bert"].items()}
    inside = {"attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense"}
    assert {path for path in bert if "." in path and not path.startswith("bert")} >= inside
    assert "attention.self.key" not in bert
    assert "attention.self.value" not in bert
    assert not any(".layer.0." in path for path in found["bert"])
    assert set(found["bert"].values()) == {"first"}
    llama = {path.removeprefix("model.layers.1.") for path in found["llama"]}
    assert llama >= {"self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}
    assert not llama & {"self_attn.k_proj", "self_attn.v_proj"}
    assert set(found["llama"].values()) == {"read"}
    assert any(path.endswith("mlp.c_proj") for path in found["gpt2"])


def test_a_text_is_looked_at_where_it_is_long_enough() -> None:
    model, inputs = prepared("llama")
    short = inputs.up_to(TOKENS - 1)
    with model.at_rest():
        assert find_tail(model, short) == {}
        assert find_tail(model, inputs.up_to(TOKENS)) != {}
    text = _short_text(inputs)
    assert text is not None
    assert text.features.shape[:2] == (1, TOKENS)
    assert text.position is not None
    assert text.position.tolist() == [TOKENS - 1]
    assert bool((text.fixed["attention_mask"] == 1).all())


def test_the_place_that_is_read() -> None:
    inputs = Inputs(torch.zeros(3, 5, 2), position=torch.tensor([4, 1, 2]))
    assert _index(inputs, "first").tolist() == [0, 0, 0]
    assert _index(inputs, "read").tolist() == [4, 1, 2]
    assert _index(Inputs(torch.zeros(3, 5, 2)), "read").tolist() == [4, 4, 4]


def test_a_linear_map_at_one_token_alone() -> None:
    layer = nn.Linear(2, 3).double()
    inputs = Inputs(torch.randn(2, 4, 2, dtype=torch.float64))
    index, seen = torch.tensor([3, 1]), []
    layer.register_forward_pre_hook(lambda module, args: seen.append(tuple(args[0].shape)))
    whole = layer(inputs.features)
    told: list[tuple[int, ...]] = []
    with _only_at(layer, index, inputs, 7.0, lambda value, part: told.append((*value.shape, *part.shape))):
        found = layer(inputs.features)
        other = layer(inputs.features[:, :2])  # of another shape it is left alone
    assert seen == [(2, 4, 2), (2, 4, 2), (2, 2, 2)] or seen == [(2, 4, 2), (2, 1, 2), (2, 2, 2)]
    for row, place in enumerate(index.tolist()):
        torch.testing.assert_close(found[row, place], whole[row, place])
        assert bool((found[row, torch.arange(4) != place] == 7).all())
    torch.testing.assert_close(other, whole[:, :2])
    assert told == [(2, 4, 2, 2, 1, 2), (2, 1, 3, 2, 4, 3)]
    torch.testing.assert_close(layer(inputs.features), whole)


def test_small_batches_and_models_of_ones_own_are_differentiated_as_they_are() -> None:
    class Mine(Model):
        def run(self, inputs: Inputs) -> Any:
            return super().run(inputs)

    model, inputs = prepared("bert")
    many = Inputs(**{**vars(inputs.select(torch.zeros(64, dtype=torch.long)))})
    target = Target(torch.zeros(64, dtype=torch.long))
    used: list[Model] = []

    def compute(model: Model) -> Tensor:
        used.append(model)
        features = used_inputs.features.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(model(used_inputs.with_features(features))[:, 0].sum(), features)
        return gradient

    with model.at_rest():
        used_inputs = many
        short = differentiate_short(model, many, target, compute)
        assert type(used[-1]) is DifferentiableTail
        plain = compute(model)
        torch.testing.assert_close(short, plain)
        for own, given in ((Mine(model.module), many), (model, inputs.rows(0, 1))):
            used_inputs = given
            differentiate_short(own, given, target, compute)
            assert used[-1] is own


def test_looking_for_a_tail_draws_no_number_of_anybody() -> None:
    model, inputs = prepared("bert")
    state = torch.get_rng_state()
    with model.at_rest():
        find_tail(model, inputs)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_map_of_nothing_that_varies_is_no_part_of_the_tail() -> None:
    class Positions(nn.Module):
        """Adds a map of constants, of which nothing has a gradient, and reads the last token."""

        def __init__(self) -> None:
            super().__init__()
            self.place, self.last = nn.Linear(2, 2), nn.Linear(2, 3)
            self.requires_grad_(False)

        def forward(self, features: Tensor) -> Tensor:
            hidden = features + self.place(torch.ones_like(features))
            return self.last(hidden)[:, -1]

    model, inputs = Model(Positions()), Inputs(torch.randn(1, TOKENS, 2, generator=torch.Generator().manual_seed(0)))
    with model.at_rest():
        assert find_tail(model, inputs) == {"last": "read"}
