"""Leave-one-out against a loop of whole passes and against captum, and what falls back from reusing prefixes."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.model import prefix
from axioms.model import probe as probing
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.notes import taking_notes
from axioms.model.probe import OVERHEAD, probe
from axioms.model.removals import Removal
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny

ARCHITECTURES = ("bert", "gpt2", "llama", "gemma3", "mamba")
REMOVALS = ("attention_mask", "delete", "mask_token", "zero_embedding", "mean_embedding", "resample")
LENGTHS = torch.tensor([[9], [6], [8]])


def texts(side: str, batch: int = 3) -> dict[str, Any]:
    """Texts of three lengths, padded on one side."""
    ids = torch.randint(3, 40, (batch, 9), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(9) < LENGTHS[:batch]).long()
    return {"input_ids": ids, "attention_mask": mask.flip(1) if side == "left" else mask, "mask_token_id": 2}


def loop(module: nn.Module, given: dict[str, Any], remove: str, target: Tensor) -> Tensor:
    """Leave-one-out by a loop: a whole pass of one row for every token of every text."""
    inputs, model = read_inputs(module, given, remove), Model(module)
    scores = torch.zeros(inputs.features.shape[:2], dtype=inputs.features.dtype)
    with torch.no_grad(), model.at_rest():
        for example in range(len(inputs)):
            text = inputs.rows(example, example + 1)
            output = model(text)[0, target[example]]
            for token in (given["attention_mask"][example] != 0).nonzero().flatten().tolist():
                removed = torch.arange(scores.shape[1]).unsqueeze(0) == token
                scores[example, token] = output - model(text.without(removed))[0, target[example]]
    return scores


@pytest.mark.parametrize("remove", REMOVALS)
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_loo_is_a_loop_of_whole_passes(architecture: str, side: str, remove: str) -> None:
    model, given = tiny(architecture=architecture), texts(side)
    if remove == "resample":  # what is drawn belongs to the example's number in the data
        given = {**given, **{name: given[name][:1] for name in ("input_ids", "attention_mask")}}
    target = torch.zeros(len(given["input_ids"]), dtype=torch.long)
    scores = axioms.attribute(model, given, target=target, method="loo", remove=remove).scores
    torch.testing.assert_close(scores, loop(model, given, remove, target), rtol=0, atol=1e-12)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_loo_is_captums_feature_ablation(architecture: str, side: str) -> None:
    """In float32, by the attention mask; captum ablates padding too, which moves nothing."""
    attr = pytest.importorskip("captum.attr")
    model, given = tiny(architecture=architecture).float(), texts(side)
    with torch.no_grad():  # the tiny models' weights are larger than any model's are, and so is their rounding
        for weight in model.parameters():
            weight.mul_(0.3 if weight.dim() > 1 else 1.0)
    given.pop("mask_token_id")
    place = (torch.arange(9) * given["attention_mask"]).argmax(dim=1)

    def explain(mask: Tensor, ids: Tensor, place: Tensor) -> Tensor:
        logits = model(input_ids=ids, attention_mask=mask).logits
        return (logits[torch.arange(len(ids)), place] if logits.dim() == 3 else logits)[:, 0]

    with torch.no_grad():
        theirs = attr.FeatureAblation(explain).attribute(
            given["attention_mask"], baselines=0, additional_forward_args=(given["input_ids"], place)
        )
    ours = axioms.attribute(model, given, target=0, method="loo").scores
    torch.testing.assert_close(ours * given["attention_mask"], theirs * given["attention_mask"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma3"])
@pytest.mark.parametrize("length", [14, 20])
def test_tokens_before_a_removal_are_not_computed_again(
    architecture: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = tiny(architecture=architecture)
    tokens: list[int] = []
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    monkeypatch.setattr(probing, "MANY", length + 1)  # no look at the tail
    ids = torch.randint(3, 40, (1, length), generator=torch.Generator().manual_seed(0))
    model.get_input_embeddings().register_forward_hook(
        lambda module, args, output: tokens.append(output[..., 0].numel())
    )
    attribution = axioms.attribute(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, method="loo")
    assert attribution.notes == ()
    # Its embeddings, the text, the trial as a whole pass, and what follows each removed token; of the last, which is
    # read, the token itself.
    assert sum(tokens) == 3 * length + sum(range(1, length)) + 1


def test_a_walk_reuses_prefixes_too() -> None:
    """Removals of many tokens at once, as on the way of a perturbation curve."""
    module, given = tiny(architecture="llama"), texts("right")
    inputs, model = read_inputs(module, given, "attention_mask"), Model(module)
    generator = torch.Generator().manual_seed(1)
    removed = (torch.rand(40, 9, generator=generator) < 0.4) & (given["attention_mask"] != 0).repeat(14, 1)[:40]
    example, target = torch.arange(3).repeat(14)[:40], Target(torch.tensor([3, 1, 4]))
    with model.at_rest(), torch.no_grad():
        (values,) = probe(model, inputs, [target], example, removed)
        for row in range(40):
            text = inputs.select(example[row : row + 1]).without(removed[row : row + 1])
            expected = target.select(example[row : row + 1])(model(text))
            torch.testing.assert_close(values[row : row + 1], expected, rtol=0, atol=1e-12)


def test_a_recurrent_model_falls_back_and_says_so() -> None:
    attribution = axioms.attribute(tiny(architecture="mamba"), texts("right"), method="loo")
    assert any("recurrent state" in note for note in attribution.notes)


def test_an_encoder_has_nothing_to_say() -> None:
    assert axioms.attribute(tiny(architecture="bert"), texts("right"), method="loo").notes == ()


def test_a_model_that_looks_ahead_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a cache like any other; that its keys depend on what follows can be seen by trying alone."""
    model: Any = tiny(architecture="llama")
    given, layer = texts("right"), model.model.layers[0]

    def look_ahead(module: nn.Module, args: Any, output: Any) -> Any:
        hidden = output if isinstance(output, Tensor) else output[0]
        return hidden + 0.1 * hidden.flip(1).cumsum(dim=1).flip(1)

    layer.register_forward_hook(look_ahead)
    target = torch.zeros(3, dtype=torch.long)
    attribution = axioms.attribute(model, given, target=target, method="loo")
    assert any("not causal" in note for note in attribution.notes)
    monkeypatch.setattr(prefix, "can_remember", lambda *_: False)
    plain = axioms.attribute(model, given, target=target, method="loo")
    torch.testing.assert_close(attribution.scores, plain.scores, rtol=0, atol=1e-12)


def test_notes_are_taken_once() -> None:
    with taking_notes() as notes:
        for _ in range(2):
            axioms.model.notes.note("twice")
    assert list(notes) == ["twice"]


@pytest.mark.parametrize("kind", ["attention_mask", "zero_embedding"])
def test_tokens_before_the_first_change_are_not_computed(kind: Any) -> None:
    """Where a token is masked nobody looks at it, so that it need not be computed either."""
    lengths = [5, 3, 5]
    mask = (torch.arange(5) < torch.tensor(lengths)[:, None]).long()
    inputs = Inputs(
        torch.zeros(3, 5, 2), {"attention_mask": mask}, removal=Removal(kind=kind), position=torch.tensor([4, 2, 4])
    )
    rows = [(0, []), (0, [2]), (0, [2, 3]), (0, [1, 3]), (0, [4]), (1, [0]), (1, [0, 1, 2]), (2, [0, 1, 2, 3, 4])]
    removed = torch.zeros(len(rows), 5, dtype=torch.bool)
    for row, (_, gone) in enumerate(rows):
        removed[row, gone] = True
    found = prefix.unchanged_tokens(inputs, torch.tensor([example for example, _ in rows]), removed).tolist()
    for (example, gone), count in zip(rows, found, strict=True):
        read = lengths[example] - 1
        there = set(range(lengths[example]))
        stays = there - set(gone) or {0, read}  # an empty text keeps its ends
        first = min(gone, default=5)
        wanted = min((place for place in range(first, 5) if place in stays or place not in gone), default=5)
        assert count == min(wanted if kind == "attention_mask" else first, read), (example, gone)
    last = replace(inputs, position=None)
    everything = prefix.unchanged_tokens(last, torch.zeros(1, dtype=torch.long), torch.zeros(1, 5, dtype=torch.bool))
    assert everything.tolist() == [4]


def test_what_is_left_of_inputs_has_nothing_for_the_tokens_that_are_not_computed() -> None:
    """All but the mask, which says which of the earlier keys are seen."""
    ids, there = torch.arange(10).reshape(2, 5), torch.ones(2, 5, dtype=torch.long)
    whole = Inputs(
        torch.arange(20.0).reshape(2, 5, 2),
        {"attention_mask": there, "token_type_ids": ids, "use_cache": False},
        candidates=there.bool(),
        drawn=there.unsqueeze(1).expand(2, 3, 5),
        position=torch.tensor([4, 3]),
    )
    rest = prefix._after(whole, 2, {"use_cache": True})
    assert torch.equal(rest.features, whole.features[:, 2:])
    assert torch.equal(rest.fixed["attention_mask"], there)
    assert torch.equal(rest.fixed["token_type_ids"], ids[:, 2:])
    assert rest.fixed["use_cache"] is True
    assert rest.position is not None
    assert rest.position.tolist() == [2, 1]
    for value in (rest.candidates, rest.drawn):
        assert value is None or value.shape[-1] == 3


class Cached(nn.Module):
    """Takes a cache, and puts keys of some shape into it."""

    def __init__(self, shape: tuple[int, ...] | None, refuses: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 2).double()
        self.shape, self.refuses = shape, refuses

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, past_key_values: Any = None, **_: Any) -> Tensor:
        if self.refuses and past_key_values is not None:
            raise TypeError("no such cache")
        if self.shape is not None:
            whole = (*input_ids.shape[:1], 1, input_ids.shape[1], 3)
            past_key_values.update(torch.zeros(whole), torch.zeros(whole), 0)
            past_key_values.update(torch.zeros(self.shape), torch.zeros(self.shape), 1)
        return self.embedding(input_ids).sum(1)


@pytest.mark.parametrize(
    ("shape", "is_kept"),
    [((2, 1, 4, 3), True), ((2, 1, 3, 3), False), ((1, 1, 4, 3), False), ((2, 1, 4), False), (None, False)],
)
def test_keys_of_every_token_are_remembered_or_none(shape: tuple[int, ...] | None, is_kept: bool) -> None:
    ids = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    module = Cached(shape)
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    outputs, kept = prefix.run_remembering(Model(module), inputs)
    torch.testing.assert_close(outputs, inputs.features.sum(1))
    assert (kept is not None) == is_kept


def test_a_cache_that_a_model_cannot_use_is_noted() -> None:
    ids = torch.tensor([[1, 2, 3, 4]])
    module = Cached(None, refuses=True)
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with taking_notes() as notes:
        outputs, kept = prefix.run_remembering(Model(module), inputs)
    assert kept is None
    torch.testing.assert_close(outputs, inputs.features.sum(1))
    assert any("every removal is a whole pass" in note for note in notes)


def test_what_can_be_remembered() -> None:
    llama, given = tiny(architecture="llama"), texts("right")
    inputs = read_inputs(llama, given, "attention_mask")
    assert prefix.can_remember(llama, inputs)
    assert (
        not prefix.can_remember(tiny(architecture="bert"), inputs)
        or "past_key_values" in inspect.signature(tiny(architecture="bert").forward).parameters
    )
    assert not prefix.can_remember(llama, replace(inputs, removal=Removal(kind="delete")))
    assert not prefix.can_remember(llama, replace(inputs, slot=None))
    assert not prefix.can_remember(llama, replace(inputs, fixed={**inputs.fixed, "past_key_values": 1}))
    assert not prefix.can_remember(llama, inputs.with_features(inputs.features.bfloat16()))
    assert prefix.can_remember(llama, inputs.with_features(inputs.features.float()))
    assert not prefix.can_remember(llama, inputs.with_features(inputs.features.to("meta")))
    llama.config.is_encoder_decoder = True  # type: ignore[union-attr]
    assert not prefix.can_remember(llama, inputs)
