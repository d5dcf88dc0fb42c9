"""Leave-one-out against a loop of single forward passes of the transformers model itself, one text at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import axioms
from axioms.core.dtypes import keep_float64
from axioms.core.errors import InputError
from axioms.model.inputs import EMBEDDINGS, Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.probe import probe
from axioms.model.removals import (
    KINDS,
    Removal,
    ends,
    fixed_positions,
    last_resort,
    moved_by_a_mask,
    shortened,
    without,
)
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny

TEXTS = [[1, 9, 17, 5, 33, 2], [1, 8, 2], [1, 21, 30, 4, 11, 2, 25, 14], [6]]
"""1 and 2 are the special tokens."""
MASK_TOKEN = 7
TEXT_KINDS = [kind for kind in KINDS if kind != "zero"]


@cache
def model_of(architecture: str) -> nn.Module:
    return tiny(architecture=architecture)


def batch(texts: Sequence[Sequence[int]] = TEXTS) -> dict[str, Any]:
    """Padded on the right, with what a tokenizer says about it."""
    length = max(map(len, texts))
    padded = [[*text, *[0] * (length - len(text))] for text in texts]
    ids = torch.tensor(padded)
    mask = torch.tensor([[1] * len(text) + [0] * (length - len(text)) for text in texts])
    special = (ids <= 2).long()
    return {"input_ids": ids, "attention_mask": mask, "special_tokens_mask": special, "mask_token_id": MASK_TOKEN}


def ask(
    model: nn.Module, *, ids: Tensor | None = None, embeds: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """One text through the transformers model: its logits, of a language model those of the last token."""
    given: dict[str, Any] = {"input_ids": ids} if embeds is None else {"inputs_embeds": embeds}
    length = len((ids if embeds is None else embeds)[0])  # type: ignore[index]
    if getattr(model.config, "model_type", "") in ("opt", "gpt2"):
        given["position_ids"] = torch.arange(length)[None]
    mask = torch.ones(1, length, dtype=torch.long) if mask is None else mask
    with torch.no_grad(), keep_float64(torch.zeros(1, dtype=torch.float64)):
        logits: Tensor = model(attention_mask=mask, **given).logits
    return logits[0, -1] if logits.dim() == 3 else logits[0]


def resampled(texts: Sequence[Sequence[int]], seed: int, draws: int) -> list[list[list[int]]]:
    """Of each text and draw, the token drawn for each place."""
    pool = [token for text in texts for token in text if token > 2]
    drawn = []
    for number in range(len(texts)):
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        table = torch.randint(len(pool), (max(map(len, texts)), draws), generator=generator)
        drawn.append([[pool[i] for i in table[:, draw]] for draw in range(draws)])
    return drawn


def cut(
    model: nn.Module,
    kind: str,
    text: Sequence[int],
    gone: set[int],
    drawn: list[list[int]],
    output: int,
) -> float:
    """One output for one text without some of its tokens."""
    ids = torch.tensor([list(text)])
    if gone == set(range(len(text))) and kind in ("attention_mask", "delete"):
        gone = gone - {0, len(text) - 1}
    kept = [place for place in range(len(text)) if place not in gone]
    embeds = model.get_input_embeddings()(ids).detach().clone()  # type: ignore[operator]
    if kind == "attention_mask":
        mask = torch.tensor([[int(place in kept) for place in range(len(text))]])
        return ask(model, ids=ids, mask=mask)[output].item()
    if kind == "delete":
        return ask(model, ids=ids[:, kept])[output].item()
    if kind == "resample":
        values = []
        for row in drawn:
            replaced = [row[place] if place in gone else token for place, token in enumerate(text)]
            values.append(ask(model, ids=torch.tensor([replaced]))[output].item())
        return sum(values) / len(values)
    for place in gone:
        table = model.get_input_embeddings().weight  # type: ignore[operator]
        by_kind = {"mask_token": table[MASK_TOKEN], "mean_embedding": table.mean(0), "zero_embedding": 0.0 * table[0]}
        embeds[0, place] = by_kind[kind].detach()
    return ask(model, embeds=embeds)[output].item()


def oracle(model: nn.Module, kind: str, *, chunk: int = 1, keep: bool = False, draws: int = 1) -> list[list[float]]:
    """Leave-one-out of every text, the equal share of each token."""
    scores = []
    for text, drawn in zip(TEXTS, resampled(TEXTS, 5, draws), strict=True):
        logits = ask(model, ids=torch.tensor([text]))
        best = int(logits.argmax())
        candidates = [place for place, token in enumerate(text) if not keep or token > 2]
        row = [0.0] * max(map(len, TEXTS))
        for start in range(0, len(candidates), chunk):
            gone = candidates[start : start + chunk]
            left = cut(model, kind, text, set(gone), drawn, best)
            for place in gone:
                row[place] = (logits[best].item() - left) / len(gone)
        scores.append(row)
    return scores


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("architecture", ["bert", "llama", "gpt2", "opt"])
def test_loo_is_a_loop_of_single_forward_passes(architecture: str, kind: str) -> None:
    model = model_of(architecture)
    remove = {"kind": kind, **({"seed": 5} if kind == "resample" else {})}
    found = axioms.attribute(model, batch(), method="loo", remove=remove, rows=7).scores
    torch.testing.assert_close(found, torch.tensor(oracle(model, kind), dtype=torch.float64), rtol=0, atol=1e-9)
    assert found[1, 3:].abs().max() == 0
    assert (found[2].abs() > 1e-6).sum() >= 7  # `resample` may draw the very token


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("architecture", ["bert", "llama"])
def test_loo_of_chunks_with_special_tokens_kept(architecture: str, kind: str) -> None:
    model = model_of(architecture)
    remove: dict[str, Any] = {"kind": kind, "chunk": 2, "special_tokens": "keep"}
    if kind == "resample":
        remove |= {"seed": 5, "draws": 3}
    found = axioms.attribute(model, batch(), method="loo", remove=remove).scores
    wanted = oracle(model, kind, chunk=2, keep=True, draws=3)
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=1e-9)
    assert found[0, [0, 5]].abs().max() == 0


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("architecture", ["bert", "mistral", "deberta-v2"])
@given(data=st.data())
@settings(max_examples=2)
def test_any_removal_is_the_same_in_any_batch(architecture: str, kind: str, data: st.DataObject) -> None:
    """Whatever is removed, all of it included: finite, and the same alone as among longer texts.

    Also where a query is left without a key: in Mistral's sliding window, or in DeBERTa, whose mask is for queries too.
    """
    model = Model(model_of(architecture))
    inputs = read_inputs(model.module, batch(), kind, seed=5)
    length = inputs.features.shape[1]
    rows = [data.draw(st.lists(st.booleans(), min_size=length, max_size=length)) for _ in range(2)]
    removed = torch.tensor([*rows, [True] * length, [True] * length])
    target = Target(torch.tensor([0, 1, 2, 1]))
    with model.at_rest():
        (together,) = probe(model, inputs, [target], torch.arange(4), removed)
        for row in range(4):
            (alone,) = probe(model, inputs, [target], torch.tensor([row]), removed[row : row + 1])
            torch.testing.assert_close(alone, together[row : row + 1], rtol=0, atol=1e-9)
    assert torch.isfinite(together).all()


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_a_masked_language_model_is_read_at_its_mask_token(kind: str) -> None:
    """The place that is read is in the middle: what follows it is text, not padding, and it moves with its token."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    options: dict[str, Any] = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = BertForMaskedLM(BertConfig(**options, intermediate_size=24, initializer_range=0.5)).double().eval()
    texts, read = [[1, 9, MASK_TOKEN, 5, 33, 2], [1, MASK_TOKEN, 2], [1, 21, 30, 4, MASK_TOKEN, 11, 25, 2]], [2, 1, 4]
    inputs = replace(read_inputs(model, batch(texts), kind, seed=5), position=torch.tensor(read))
    jobs = [(number, {place}) for number, text in enumerate(texts) for place in range(len(text))]
    jobs += [(number, set(range(len(text)))) for number, text in enumerate(texts)]
    removed = torch.tensor([[place in gone for place in range(8)] for _, gone in jobs])
    target = Target(torch.tensor([3, 4, 5]))
    (found,) = probe(Model(model), inputs, [target], torch.tensor([number for number, _ in jobs]), removed)
    table = model.get_input_embeddings().weight.detach()
    drawn = resampled(texts, 5, 1)
    for (number, gone), value in zip(jobs, found, strict=True):
        text, at = texts[number], read[number]
        if kind in ("attention_mask", "delete") and len(gone) == len(text):
            gone = gone - {0, at, len(text) - 1}
        kept = [place for place in range(len(text)) if place not in gone]
        embeds, mask = table[torch.tensor(text)].clone(), torch.ones(1, len(text), dtype=torch.long)
        for place in gone:
            new = {"resample": table[drawn[number][0][place]], "mask_token": table[MASK_TOKEN], "zero_embedding": 0.0}
            new |= {"mean_embedding": table.mean(0), "attention_mask": embeds[place], "delete": embeds[place]}
            embeds[place] = new[kind]
            mask[0, place] = 0 if kind == "attention_mask" else 1
        if kind == "delete":
            at = min(sum(place < at for place in kept), len(kept) - 1)
            embeds, mask = embeds[kept], mask[:, kept]
        logits = model(inputs_embeds=embeds[None], attention_mask=mask).logits
        assert value.item() == pytest.approx(logits[0, at, 3 + number].item(), abs=1e-9)


@pytest.mark.parametrize("kind", ["attention_mask", "delete"])
def test_a_text_removed_altogether_keeps_its_two_ends(kind: str) -> None:
    model = model_of("bert")
    inputs = read_inputs(model, batch(), kind)
    target = Target(torch.zeros(4, dtype=torch.long))
    (found,) = probe(Model(model), inputs, [target], torch.arange(4), torch.ones(4, 8, dtype=torch.bool))
    for text, value in zip(TEXTS, found, strict=True):
        ends = {0, len(text) - 1}
        wanted = cut(model, kind, text, set(range(len(text))) - ends, [], 0)
        assert value.item() == pytest.approx(wanted, abs=1e-9)


def test_positions_stay_where_they_were_though_opt_counts_them_over_the_mask() -> None:
    model = model_of("opt")
    ids, mask = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 0, 1, 1]])
    with torch.no_grad():
        moved = model(input_ids=ids, attention_mask=mask).logits[0, -1]
    assert (moved - ask(model, ids=ids, mask=mask)).abs().max() > 1e-3
    inputs = read_inputs(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, "attention_mask")
    found = Model(model)(inputs.without(mask == 0))
    torch.testing.assert_close(found[0], ask(model, ids=ids, mask=mask))


def test_resample_depends_on_seed_and_example_alone() -> None:
    model = model_of("bert")

    def scores(seed: int, size: int | None) -> Tensor:
        remove = {"kind": "resample", "draws": 2, "seed": seed}
        return axioms.attribute(model, batch(), method="loo", remove=remove, batch_size=size).scores

    torch.testing.assert_close(scores(0, None), scores(0, 1), rtol=0, atol=1e-9)
    assert (scores(0, None) - scores(1, None)).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("remove", "given", "what"),
    [
        ("attention_mask", torch.rand(2, 3), "needs an `attention_mask`"),
        ("delete", torch.rand(2, 3), "`attention_mask` of batch x tokens"),
        ("mean_embedding", torch.rand(2, 3), "is for texts given as `input_ids`"),
        ("mask_token", {key: batch()[key] for key in ("input_ids", "attention_mask")}, "has none; give its number"),
        ({"special_tokens": "keep"}, {"input_ids": batch()["input_ids"]}, "`special_tokens_mask`"),
        ("deleet", torch.rand(2, 3), "not a removal: kind: Input should be 'zero'"),
        ({"kind": "delete", "draws": 2}, batch(), "`draws` is an option of kind `resample`"),
        ({"kind": "delete", "chunk": 0}, batch(), "chunk: Input should be greater than 0"),
    ],
)
def test_what_cannot_be_removed_is_an_error_that_says_what_to_do(remove: Any, given: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_inputs(model_of("bert"), given, remove)


def test_the_number_of_the_mask_token_may_come_from_the_spec() -> None:
    model, given = model_of("bert"), batch()
    wanted = axioms.attribute(model, given, method="loo", remove="mask_token").scores
    del given["mask_token_id"]
    remove = {"kind": "mask_token", "mask_token_id": MASK_TOKEN}
    torch.testing.assert_close(axioms.attribute(model, given, method="loo", remove=remove).scores, wanted)


def test_bloom_would_move_its_tokens() -> None:
    from transformers import BloomConfig, BloomForCausalLM

    model = BloomForCausalLM(BloomConfig(vocab_size=40, hidden_size=16, n_layer=1, n_head=2))
    inputs = read_inputs(model, batch())
    with pytest.raises(InputError, match="would move all that follow"):
        inputs.without(torch.zeros(inputs.features.shape[:2], dtype=torch.bool))


class TestUnits:
    def test_padding_is_never_a_candidate_and_special_tokens_are_by_default(self) -> None:
        given = batch([[1, 9, 17, 5, 33, 2], [1, 8, 2]])
        candidates = read_inputs(model_of("bert"), given).candidates
        assert candidates is not None
        assert candidates.tolist() == [[True] * 6, [True] * 3 + [False] * 3]

    def test_kept_special_tokens_are_none(self) -> None:
        given = batch([[1, 9, 17, 5, 33, 2], [1, 8, 2]])
        inputs = read_inputs(model_of("bert"), given, {"special_tokens": "keep", "chunk": 3})
        units = inputs.units()
        assert units is not None
        assert units.tolist() == [[-1, 0, 0, 0, 1, -1], [-1, 0, -1, -1, -1, -1]]
        finer = inputs.units(1)
        assert finer is not None
        assert finer.tolist() == [[-1, 0, 1, 2, 3, -1], [-1, 0, -1, -1, -1, -1]]

    def test_of_features_without_a_mask_all_are(self) -> None:
        inputs = read_inputs(nn.Linear(5, 2), torch.rand(2, 5))
        assert inputs.units() is None
        chunks = inputs.units(2)
        assert chunks is not None
        assert chunks.tolist() == [[0, 0, 1, 1, 2]] * 2


def wordy(mask: list[list[int]], position: list[int], removed: list[list[int]]) -> tuple[Inputs, Tensor]:
    """Texts whose every number says where it stands, and which of their tokens are removed."""
    there = torch.tensor(mask)
    number = torch.arange(there.numel()).reshape(there.shape) + 1
    fixed = {
        "input_ids": number,
        "attention_mask": there,
        "token_type_ids": number + 100,
        "position_ids": torch.arange(there.shape[1]).expand(there.shape),
        "scale": 3,
        "bias": torch.ones(4),
    }
    inputs = Inputs(
        torch.stack([number, -number], dim=-1).double(),
        fixed,
        EMBEDDINGS,
        removal=Removal(kind="delete"),
        position=torch.tensor(position),
        candidates=there == 1,
        pad=99,
    )
    return inputs, torch.tensor(removed).bool()


def test_a_text_closes_up_where_tokens_are_taken_out() -> None:
    """The place that is read moves with its token; without that it is the next one's, or the last there is."""
    mask = [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    inputs, removed = wordy(mask, [4, 1, 2, 2], [[0, 1, 0, 1, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 0, 0, 0]])
    found = shortened(inputs, removed)
    kept = [[0, 2, 4], [0, 2, 3], [0, 1], [2, 3, 4]]
    assert found.position is not None
    assert found.position.tolist() == [2, 1, 1, 0]
    assert found.features.shape == (4, 3, 2)
    assert found.fixed["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1]]
    assert found.candidates is not None
    assert found.candidates.tolist() == (found.fixed["attention_mask"] == 1).tolist()
    assert found.fixed["position_ids"].tolist() == [[0, 1, 2]] * 4
    assert found.fixed["input_ids"][2, 2] == 99
    for row, places in enumerate(kept):
        for name in ("input_ids", "token_type_ids"):
            assert found.fixed[name][row, : len(places)].tolist() == inputs.fixed[name][row, places].tolist()
        assert torch.equal(found.features[row, : len(places)], inputs.features[row, places])
    assert found.fixed["scale"] == 3
    assert torch.equal(found.fixed["bias"], torch.ones(4))


def test_a_text_that_is_removed_altogether_keeps_its_ends_and_what_is_read() -> None:
    mask = [[0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0]]
    inputs, removed = wordy(mask, [3, 5, 1], [[1] * 6, [1, 1, 1, 1, 1, 0], [1] * 6])
    wanted = [[0, 1, 0, 1, 1, 0], [1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]
    assert ends(inputs).int().tolist() == wanted
    assert last_resort(inputs, removed).int().tolist() == [wanted[0], [0] * 6, wanted[2]]
    masked = without(replace(inputs, removal=Removal(kind="attention_mask")), removed)
    assert masked.fixed["attention_mask"].tolist() == [wanted[0], [0, 0, 0, 0, 0, 1], wanted[2]]
    assert torch.equal(masked.features, inputs.features)
    last = replace(inputs, position=None)
    assert ends(last).int().tolist() == [[0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]


def test_something_takes_the_place_of_what_is_removed() -> None:
    features = torch.arange(12.0).reshape(2, 3, 2)
    removed = torch.tensor([[True, False, False], [False, True, True]])
    zero = without(Inputs(features), removed).features
    assert torch.equal(zero, features * ~removed[:, :, None])
    flat = without(Inputs(features[:, :, 0]), removed).features
    assert torch.equal(flat, features[:, :, 0] * ~removed)
    put = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]], dtype=torch.float64)
    one = without(Inputs(features, substitutes=put), removed).features
    assert torch.equal(one, torch.where(removed[:, :, None], put[0].float(), features))
    drawn = torch.tensor([[[0, 1, 0], [1, 1, 1]], [[1, 1, 0], [0, 1, 0]]])
    for draw in (0, 1):
        several = without(Inputs(features, substitutes=put, drawn=drawn), removed, draw).features
        for example, place in removed.nonzero().tolist():
            assert torch.equal(several[example, place], put[drawn[example, draw, place]].float())
        assert torch.equal(several[~removed], features[~removed])


def test_the_mean_over_draws_is_taken() -> None:
    model, given = model_of("bert"), batch(TEXTS[:1])
    remove = {"kind": "resample", "draws": 3, "seed": 5}
    inputs = read_inputs(model, given, remove)
    target, whole = Target(torch.tensor([1])), Model(model)
    removed = torch.zeros(1, 6, dtype=torch.bool)
    removed[0, 2] = True
    with whole.at_rest(), torch.no_grad():
        (found,) = probe(whole, inputs, [target], torch.tensor([0]), removed)
        each = [target(whole(inputs.without(removed, draw))) for draw in range(3)]
    torch.testing.assert_close(found, torch.stack(each).mean(0))
    assert len({float(one) for one in each}) > 1


def named(kind: str | None, **settings: Any) -> nn.Module:
    module = nn.Identity()
    if kind is not None:
        module.config = SimpleNamespace(model_type=kind, **settings)  # type: ignore[assignment]
    return module


def test_models_that_count_positions_over_the_mask() -> None:
    mask = torch.tensor([[0, 1, 1, 0, 1]])
    inputs = Inputs(torch.zeros(1, 5, 2), {"attention_mask": mask})
    assert fixed_positions(named("opt"), inputs)["position_ids"].tolist() == [[-1, 0, 1, -1, 2]]
    assert fixed_positions(named("bert"), inputs) == {}
    assert fixed_positions(named(None), inputs) == {}
    given = replace(inputs, fixed={"attention_mask": mask, "position_ids": mask})
    assert fixed_positions(named("opt"), given) == {}
    assert "bloom counts its positions" in moved_by_a_mask(named("bloom"))
    assert "falcon" in moved_by_a_mask(named("falcon", alibi=True))
    for other in (named("falcon", alibi=False), named("falcon"), named("gpt2"), named(None)):
        assert moved_by_a_mask(other) == ""
    with pytest.raises(InputError, match="why not"):
        without(replace(inputs, unremovable="why not"), torch.zeros(1, 5, dtype=torch.bool))


def test_what_a_removal_needs() -> None:
    bert = model_of("bert")
    points = torch.ones(2, 3, dtype=torch.float64)
    for kind in TEXT_KINDS:
        with pytest.raises(InputError, match=r"needs an `attention_mask`|is for texts given as `input_ids`"):
            read_inputs(bert, points, kind)
    assert read_inputs(bert, points).removal.kind == "zero"
    assert read_inputs(bert, batch()).removal.kind == "attention_mask"
    assert read_inputs(bert, batch(), "delete").pad == bert.config.pad_token_id  # type: ignore[union-attr]
    ids = batch()["input_ids"]
    for kind in ("attention_mask", "delete"):
        with pytest.raises(InputError, match="of batch x tokens"):
            read_inputs(bert, {"input_ids": ids, "attention_mask": torch.ones(4, 1, 8, 8)}, kind)
    with pytest.raises(InputError, match="`draws` is an option of kind `resample`"):
        read_inputs(bert, batch(), {"kind": "delete", "draws": 2})
    with pytest.raises(InputError, match="`mask_token_id` is an option of kind `mask_token`"):
        read_inputs(bert, batch(), {"kind": "resample", "mask_token_id": 2})
    for wrong in ({"kind": "mask_token", "mask_token_id": -1}, {"chunk": 0}, {"kind": "resample", "draws": 0}):
        with pytest.raises(InputError, match="greater than"):
            read_inputs(bert, batch(), wrong)
    with pytest.raises(InputError, match="needs a tokenizer with a mask token"):
        read_inputs(bert, {**batch(), "mask_token_id": None}, "mask_token")
    with pytest.raises(InputError, match="at least one token that is not a special one"):
        read_inputs(bert, {**batch(), "special_tokens_mask": torch.ones_like(ids)}, "resample")


def test_what_takes_a_tokens_place() -> None:
    bert = model_of("bert")
    weight: Tensor = bert.get_input_embeddings().weight.detach()  # type: ignore[operator]
    mine = read_inputs(bert, batch(), {"kind": "mask_token", "mask_token_id": 4}).substitutes
    theirs = read_inputs(bert, batch(), "mask_token").substitutes
    zero, mean = (read_inputs(bert, batch(), f"{kind}_embedding").substitutes for kind in ("zero", "mean"))
    assert mine is not None
    assert torch.equal(mine, weight[[4]])
    assert theirs is not None
    assert torch.equal(theirs, weight[[MASK_TOKEN]])
    assert zero is not None
    assert torch.equal(zero, torch.zeros(1, weight.shape[1], dtype=weight.dtype))
    assert mean is not None
    torch.testing.assert_close(mean, weight.mean(0, keepdim=True))


@pytest.mark.parametrize("name", ["chunk", "draws"])
def test_counts_of_a_removal_are_at_least_one(name: str) -> None:
    assert getattr(Removal.model_validate({"kind": "resample", name: 1}), name) == 1
    with pytest.raises(ValueError, match="greater than 0"):
        Removal.model_validate({"kind": "resample", name: 0})


def test_the_smallest_removal_is_of_one_token_by_one_draw() -> None:
    smallest = Removal.model_validate({"kind": "resample", "draws": 1, "chunk": 1})
    assert (smallest.draws, smallest.chunk) == (1, 1)
    assert Removal.model_validate({"kind": "mask_token", "mask_token_id": 0}).mask_token_id == 0
    for wrong in ({"draws": 0}, {"chunk": 0}, {"draws": 1.0}, {"unknown": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Removal.model_validate({"kind": "resample", **wrong})
    with pytest.raises(ValueError, match="mask_token_id"):
        Removal.model_validate({"kind": "mask_token", "mask_token_id": -1})


def test_every_option_of_a_removal_is_explained_in_the_schema() -> None:
    for name, field in Removal.model_fields.items():
        assert field.description, name
