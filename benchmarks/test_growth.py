"""How the time of leave-one-out, AttnLRP and the sweep grows with tokens, layers and examples, beside a forward pass.

    pytest benchmarks/test_growth.py              some minutes; writes reports/growth.svg

Models are narrow, so that the largest of them end soon. Each point is the fastest of some rounds, and everything is
measured in turns; a growth is the slope of a line through logarithms. What is judged is the slope beside that of the
plain forward pass of the same run, on batches with as many tokens and with attention written out, as rules need it:
never a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import axioms
from axioms.core.sweeps import KINDS
from axioms.engine.handlers.sweep import sweep
from axioms.methods.lrp import attnlrp_composite
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose

FIGURE = Path(__file__).resolve().parent.parent / "reports" / "growth.svg"
FORWARD, LOO, ATTNLRP, SWEEP = "forward pass", "leave-one-out", "AttnLRP", "sweep"
WIDTH, HEADS, ROUNDS = 64, 2, 3
AT_ONCE = 2048
"""Tokens of a batch, as many as leave-one-out itself puts into a forward pass on a processor."""
APART = 0.25
"""How far a slope may be above what is stated: points are few, and their smallest pay more for starting operations."""


@dataclass(frozen=True)
class Axis:
    """What grows, through which values, and by how much more than the forward pass each method may grow with it."""

    name: str
    values: tuple[int, ...]
    more: dict[str, float]


AXES = {
    "tokens": Axis("tokens", (32, 64, 128, 256, 512), {LOO: 1, ATTNLRP: 0, SWEEP: 0}),
    # A sweep has three settings for every layer.
    "layers": Axis("layers", (2, 4, 8, 16, 24), {LOO: 0, ATTNLRP: 0, SWEEP: 1}),
    "examples": Axis("examples", (4, 8, 16, 32), {LOO: 0, ATTNLRP: 0, SWEEP: 0}),
}
QUICK = {"tokens": (32, 64), "layers": (2, 4), "examples": (4, 8)}
MEASURED: dict[str, dict[str, list[float]]] = {}
"""Seconds by axis and curve, kept for the figure."""


@pytest.mark.parametrize("name", AXES)
def test_growth(settings: Any, seconds: Any, pytestconfig: pytest.Config, name: str) -> None:
    by_process = "process_time" in str(pytestconfig.getoption("--benchmark-timer"))
    clock = time.process_time if by_process else time.perf_counter
    axis = AXES[name]
    values = QUICK[name] if settings.quick else axis.values
    times: dict[str, list[float]] = {curve: [] for curve in (FORWARD, *axis.more)}
    for value in values:
        calls, each = _calls(name, value)
        for curve, fastest in _fastest(
            calls, lambda call: seconds(call, clock), 1 if settings.quick else ROUNDS
        ).items():
            times[curve].append(fastest * each[curve])
    MEASURED[name] = times
    slopes = {curve: slope(values, points) for curve, points in times.items()}
    shown = ", ".join(f"{curve} {exponent:.2f}" for curve, exponent in slopes.items())
    settings.notes.append(f"growth with {name} ({values[0]} to {values[-1]}): time ~ {name}^k, k: {shown}")
    draw(FIGURE, {key: (QUICK[key] if settings.quick else AXES[key].values, MEASURED[key]) for key in MEASURED})
    if settings.quick:
        return
    for curve, more in axis.more.items():
        most = slopes[FORWARD] + more + APART
        assert slopes[curve] <= most, f"{curve} grows with {name} to the power {slopes[curve]:.2f}, not {most:.2f}"
    if name == "examples":
        for curve, exponent in slopes.items():
            assert exponent == pytest.approx(1, abs=APART), f"{curve} is not linear in examples: {exponent:.2f}"


def _calls(axis: str, value: int) -> tuple[dict[str, Callable[[], object]], dict[str, float]]:
    """Return what is timed at one point, and what each time is multiplied by to be that of one example, or of all."""
    tokens = value if axis == "tokens" else 64
    layers = value if axis == "layers" else 4
    batch = max(1, AT_ONCE // tokens) if axis != "examples" else 4
    examples = value if axis == "examples" else batch
    module = _model(layers, tokens)
    given, few = _texts(examples, tokens), _texts(value if axis == "examples" else 1, tokens)
    model, inputs = Model(module), read_inputs(module, given)
    with model.at_rest(), torch.no_grad():
        target = choose("predicted", torch.cat([model(inputs.rows(k, k + batch)) for k in range(0, examples, batch)]))

    def forward() -> None:
        with model.at_rest(), torch.no_grad():
            for start in range(0, examples, batch):
                model(inputs.rows(start, start + batch))

    calls: dict[str, Callable[[], object]] = {
        FORWARD: forward,
        ATTNLRP: lambda: axioms.attribute(module, given, method="attnlrp", batch_size=batch),
        SWEEP: lambda: sweep(model, inputs, target, attnlrp_composite(0.0), KINDS, batch_size=batch),
        LOO: lambda: axioms.attribute(module, few, method="loo", batch_size=batch),
    }
    each = dict.fromkeys(calls, 1.0 if axis == "examples" else 1 / examples)
    return calls, {**each, LOO: 1.0}


def _model(layers: int, tokens: int) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    shape: dict[str, Any] = {"hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_attention_heads": HEADS}
    more: dict[str, Any] = {"max_position_embeddings": tokens, "attn_implementation": "eager", "num_labels": 2}
    return BertForSequenceClassification(BertConfig(vocab_size=1000, num_hidden_layers=layers, **shape, **more)).eval()


def _texts(batch: int, tokens: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(1000, (batch, tokens), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _fastest(calls: dict[str, Callable[[], object]], seconds: Any, rounds: int) -> dict[str, float]:
    """Return the time of the fastest of some rounds, in which all calls take turns."""
    times: dict[str, list[float]] = {curve: [] for curve in calls}
    for _ in range(rounds):
        for curve, call in calls.items():
            times[curve].append(seconds(call))
    return {curve: min(taken) for curve, taken in times.items()}


def slope(values: Sequence[int], times: Sequence[float]) -> float:
    """Return k of the line through the logarithms: time ~ value^k."""
    return float(np.polyfit(np.log(values), np.log(times), 1)[0])


def draw(file: Path, measured: dict[str, tuple[tuple[int, ...], dict[str, list[float]]]]) -> None:
    """Draw the curves of every axis that was measured, with their slopes in the legends."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, all_axes = plt.subplots(1, len(measured), figsize=(4.2 * len(measured), 3.4), squeeze=False)
    for panel, (name, (values, times)) in zip(all_axes[0], measured.items(), strict=True):
        for curve, points in times.items():
            panel.plot(values, points, marker="o", markersize=3.5, label=f"{curve}: {slope(values, points):.2f}")
        panel.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds" if name == "examples" else "s per example")
        panel.set_xticks(values, [str(value) for value in values])
        panel.minorticks_off()
        panel.legend(title="time ~ x^k, k", fontsize=7, title_fontsize=7, frameon=False)
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    plt.close(figure)


def test_slope() -> None:
    assert math.isclose(slope((1, 2, 4), (3.0, 12.0, 48.0)), 2.0)
