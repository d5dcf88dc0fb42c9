"""What the specs say that the paper printed agrees with itself, so that a slip in copying shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axioms.source import read

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
