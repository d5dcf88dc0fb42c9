"""The axioms of the agreement benchmark: what counts as a candidate, chance, and the filters' counts."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from axioms.core.errors import InputError
from axioms.properties.chance import chance
from axioms.properties.ground_truth import ground_truth
from axioms.properties.helpers.truth import places
from axioms.properties.helpers.views import SideView
from axioms.properties.task import sizes_of, task
from axioms.subjects.agreement.benchmark import Agreement, of_samples
from axioms.subjects.agreement.grammar import sentences
from axioms.subjects.agreement.sources import agreement_llama
from axioms.subjects.data import Data
from axioms.subjects.models.tiny import tiny


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    file = Path(__file__).parents[2] / "fixtures" / "agreement" / "tokenizer.json"
    return of_samples(sentences(300)).for_model(agreement_llama(files={"tokenizer": str(file)}))


def view(agreement: Agreement | None, scores: Any = None) -> SideView:
    """A side with these scores and nothing to compute."""
    length = 1 if agreement is None else max(sentence.length for sentence in agreement.aligned)
    features = torch.zeros(1 if agreement is None else len(agreement.aligned), length, 4)
    model = SimpleNamespace(module=tiny(architecture="gpt2"))
    side: Any = SimpleNamespace(inputs=SimpleNamespace(features=features), model=model)
    attribution: Any = SimpleNamespace(scores=None if scores is None else torch.as_tensor(scores))
    bench: Any = SimpleNamespace(attribution=lambda: attribution)
    nothing: Any = None
    return SideView(side, nothing, bench, Data(agreement=agreement))


def test_relevance_on_the_subject_is_perfect_and_elsewhere_is_not(agreement: Agreement) -> None:
    _, truth = places(view(agreement), special_tokens=False)
    right = ground_truth(view(agreement, np.where(truth, 1.0, -1.0)))
    wrong = ground_truth(view(agreement, np.where(truth, -1.0, 1.0)))
    for name in ("pg", "mrr", "rma", "pta"):
        assert right[name].min() == pytest.approx(1)
        assert wrong[name].max() < 0.5
    assert right["mrr_over_chance"].min() > 0 > wrong["mrr_over_chance"].max()


def test_special_tokens_compete_only_where_a_spec_says_so(agreement: Agreement) -> None:
    _, truth = places(view(agreement), special_tokens=False)
    scores = truth.astype(np.float64)
    scores[:, 0] = 2  # <s> above all
    assert ground_truth(view(agreement, scores))["mrr"].mean() == pytest.approx(1)
    assert ground_truth(view(agreement, scores), special_tokens=True)["mrr"].mean() == pytest.approx(0.5)


def test_padding_never_competes(agreement: Agreement) -> None:
    for special in (False, True):
        candidates, truth = places(view(agreement), special)
        lengths = np.array([sentence.length for sentence in agreement.aligned])
        assert not candidates[np.arange(candidates.shape[1]) >= lengths[:, None]].any()
        assert (candidates & truth).sum() == truth.sum() >= len(lengths)


def test_several_tokens_of_a_subject_are_all_the_truth(agreement: Agreement) -> None:
    assert max(len(sentence.truth) for sentence in agreement.aligned) > 1
    assert min(len(sentence.truth) for sentence in agreement.aligned) == 1


def test_chance_is_what_its_closed_forms_say(agreement: Agreement) -> None:
    baseline = chance(view(agreement))
    assert baseline["pta"] == pytest.approx(0.5, abs=0.01)
    for name in ("pg", "mrr", "rma", "pta"):
        # Ten means of 300 sentences; four standard errors, taken from the ten draws themselves.
        assert baseline[f"{name}_gap"] <= 4 * baseline[f"{name}_sd"] / 10**0.5 + 1e-12
    assert chance(view(agreement), seed=1)["mrr"] != baseline["mrr"]
    assert chance(view(agreement)) == baseline


@pytest.mark.parametrize("options", [{}, {"draws": 2}, {"k": 1, "special_tokens": True, "draws": 3, "seed": 7}])
def test_chance_is_the_mean_and_the_deviation_over_draws(agreement: Agreement, options: dict[str, Any]) -> None:
    """Each draw has one mean over the sentences; their deviation is that of a sample."""
    few = replace(agreement, aligned=agreement.aligned[:6])
    k, special, draws, seed = {"k": 2, "special_tokens": False, "draws": 10, "seed": 0, **options}.values()
    candidates, truth = places(view(few), bool(special))
    noise = np.random.default_rng(seed).uniform(-1, 1, (draws, *truth.shape))
    found = chance(view(few), **options)
    pg: list[float] = []
    mass: list[float] = []
    accuracy: list[float] = []
    expected: list[tuple[float, float, float]] = []
    for draw in noise:
        rows: list[list[float]] = [[], [], []]
        for scores, there, right in zip(draw, candidates, truth, strict=True):
            top = [place for place in np.argsort(-scores) if there[place]][:k]
            rows[0].append(float(right[top].any()))
            positive = np.where(there & (scores > 0), scores, 0.0)
            rows[1].append(positive[right].sum() / positive.sum() if positive.any() else 0.0)
            rows[2].append(float(((scores > 0) == right)[there].mean()))
        for means, row in zip((pg, mass, accuracy), rows, strict=True):
            means.append(float(np.mean(row)))
    for there, right in zip(candidates, truth, strict=True):
        n, g = int(there.sum()), int((there & right).sum())
        expected.append((1 - comb(n - g, k) / comb(n, k), g / n * (1 - 0.5**n), 0.5))
    for name, means, known in zip(("pg", "rma", "pta"), (pg, mass, accuracy), np.mean(expected, axis=0), strict=True):
        mean = sum(means) / draws
        assert found[name] == pytest.approx(mean)
        assert found[f"{name}_sd"] == pytest.approx(np.sqrt(sum((one - mean) ** 2 for one in means) / (draws - 1)))
        assert found[f"{name}_gap"] == pytest.approx(abs(mean - known))


def test_the_task_counts_what_was_dropped(agreement: Agreement) -> None:
    correct = agreement.keep_correct(range(240))
    counts = {name: float(value) for name, value in task(view(correct)).items()}
    assert counts["accuracy"] == pytest.approx(240 / 300)
    assert (counts["read"], counts["asked"], counts["evaluated"], counts["wrong"]) == (300, 300, 240, 60)
    assert counts["split_verb"] == counts["malformed"] == 0


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bert"])
def test_the_size_of_a_model_is_that_of_its_weights(architecture: str) -> None:
    """GPT-2 calls its layers, heads and width by names of its own."""
    module = tiny(architecture=architecture)
    sizes = sizes_of(module)
    table: Any = module.get_input_embeddings()  # type: ignore[operator]
    assert (sizes["vocabulary"], sizes["hidden_size"]) == tuple(table.weight.shape)
    numbers = {part for name, _ in module.named_parameters() for part in name.split(".") if part.isdecimal()}
    assert sizes["layers"] == len(numbers) >= 2
    assert sizes["hidden_size"] % sizes["heads"] == 0
    assert sizes["parameters"] == sum(weights.numel() for weights in {id(p): p for p in module.parameters()}.values())


def test_a_model_without_a_configuration_has_weights_alone() -> None:
    assert sizes_of(torch.nn.Linear(3, 2)) == {
        "parameters": 8,
        "layers": 0,
        "heads": 0,
        "hidden_size": 0,
        "vocabulary": 0,
    }


def test_other_data_and_senseless_options_are_refused(agreement: Agreement) -> None:
    with pytest.raises(InputError, match="agreement-sentences"):
        ground_truth(view(None, np.zeros((1, 1))))
    with pytest.raises(InputError, match="at least 1"):
        ground_truth(view(agreement, places(view(agreement), False)[1].astype(float)), k=0)
    with pytest.raises(InputError, match="two draws"):
        chance(view(agreement), draws=1)
    with pytest.raises(InputError, match="wrong form in every sentence"):
        agreement.keep_correct([])
