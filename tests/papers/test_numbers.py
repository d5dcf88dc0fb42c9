"""What the specs say that the papers printed is complete and agrees with itself, so that a slip in copying shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axioms.core.source import read

AREAS = ("lerf", "morf", "delta")
MODES = ("front_to_back", "back_to_front", "single")
ROUNDING = 0.0101
"""Each of three numbers is off by up to half a hundredth; the paper's are within one hundredth of each other."""


def reported(root: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = read(root / "specs" / "paper" / f"{name}.yaml").value["reported"]
    return found


@pytest.mark.parametrize("name", ["bert_sst2", "bert_imdb"])
def test_table_2(root: Path, name: str) -> None:
    numbers = reported(root, name)
    assert set(numbers) == {"loo", "integrated_gradients", "attention_rollout", "attnlrp", "cp_lrp"}
    for method in numbers.values():
        lerf, morf, delta = (method[f"perturbation.{area}"] for area in AREAS)
        assert abs(lerf - morf - delta) <= ROUNDING
        assert method["loo_correlation.pearson"] == method["loo_correlation.pearson_sum_normalized"]


@pytest.mark.parametrize("name", ["bert_sst2", "bert_imdb"])
def test_table_a3(root: Path, name: str) -> None:
    sweep, methods = reported(root, f"{name}_layers")["attnlrp"], reported(root, name)
    areas = {
        mode: [sweep[f"bypass_gain.{mode}"], *(sweep[f"bypass_perturbation.{mode}_{area}"] for area in AREAS)]
        for mode in MODES
    }
    rows = {mode: list(zip(*columns, strict=True)) for mode, columns in areas.items()}
    assert {mode: len(each) for mode, each in rows.items()} == dict.fromkeys(MODES, 12)
    for _, lerf, morf, delta in (row for each in rows.values() for row in each):
        assert abs(lerf - morf - delta) <= ROUNDING
    assert rows["single"][0] == rows["front_to_back"][0], "layer 1 alone"
    assert rows["single"][-1] == rows["back_to_front"][-1], "the last layer alone"
    every = tuple(methods["cp_lrp"][key] for key in ("loo_correlation.pearson", *(f"perturbation.{a}" for a in AREAS)))
    assert rows["front_to_back"][-1] == rows["back_to_front"][0] == every, "every layer is CP-LRP"


@pytest.mark.parametrize(("name", "wanted"), [("bert_sst2", 0.037), ("bert_imdb", -0.005)])
def test_where_the_gain_sits(root: Path, name: str, wanted: float) -> None:
    """On SST in the late layers, on IMDB not."""
    single = reported(root, f"{name}_layers")["attnlrp"]["bypass_gain.single"]
    assert sum(single[6:]) / 6 - sum(single[:6]) / 6 == pytest.approx(wanted, abs=5e-4)


AGREEMENT = ("bert_base", "bert_large", "gpt2_small", "gpt2_xl", "llama_1b", "llama_3b")
SCORES = ("pg", "mrr", "rma", "pta")


@pytest.mark.parametrize("name", AGREEMENT)
def test_table_2_of_arras(root: Path, name: str) -> None:
    """Every method of the model's column, with all four metrics; ALTI-Logit is for decoders alone."""
    numbers = {**reported(root, f"agreement_{name}")}
    model = numbers.pop("model")
    decoder = not name.startswith("bert")
    assert set(numbers) == {
        "cp_lrp",
        "attnlrp",
        "gradient_l1",
        "gradient_l2",
        "gradient_x_input",
        *(["alti_logit"] if decoder else []),
    }
    assert numbers["gradient_l1"] == numbers["gradient_l2"], "the paper prints the better of the two"
    for method in numbers.values():
        assert set(method) == {f"ground_truth.{score}" for score in SCORES}
        # One of the first two ranks gives at least 1/2 to MRR, any other at most 1/3.
        pg, mrr = method["ground_truth.pg"], method["ground_truth.mrr"]
        assert pg / 2 <= mrr <= pg + (1 - pg) / 3
    assert {f"chance.{score}" for score in SCORES} <= set(model)
    assert model["chance.pta"] == pytest.approx(0.5, abs=1.5e-3)


def test_models_of_one_family_share_their_sentences(root: Path) -> None:
    """One tokenizer, one set of sentences and so one random baseline; the larger model is right more often."""
    models = [reported(root, f"agreement_{name}")["model"] for name in AGREEMENT]
    for smaller, larger in zip(models[::2], models[1::2], strict=True):
        own = {"task.accuracy", "task.parameters", "task.layers", "task.heads", "task.hidden_size"}
        assert {key: smaller[key] for key in smaller if key not in own} == {
            key: larger[key] for key in larger if key not in own
        }
        assert smaller["task.accuracy"] < larger["task.accuracy"]
        assert smaller["task.parameters"] < larger["task.parameters"]
    filtered = models[0]
    generic = sum(filtered[f"task.{name}"] for name in ("same_forms", "not_nsubj", "not_present"))
    assert filtered["task.read"] - generic == 28_786, "Appendix B: what is left before any tokenizer"
