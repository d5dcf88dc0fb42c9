"""What this device can do, measured in a few seconds: how long an operation takes to start, and to compute."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from axioms.commands.plan.device import Device, Price
from axioms.commands.plan.loads import Engine
from axioms.commands.plan.session import measure_session
from axioms.commands.plan.tally import Pass, tally_pass
from axioms.core.registry import METHODS
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose

METHOD_OF: dict[Engine, tuple[str, dict[str, Any]]] = {
    "plain": ("gradient_x_input", {}),
    "rules": ("attnlrp", {}),
    "explicit": ("attnlrp", {"engine": "explicit"}),
    "gates": ("removal_taylor", {}),
    "observe": ("attention_rollout", {}),
    "ledger": ("attnlrp", {}),
}
"""A method that runs one pass by the engine."""
FORWARD_ONLY = ("observe",)
SMALL: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
LARGE: dict[str, Any] = {"hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12}
BACKEND: dict[str, Any] = {"attn_implementation": "sdpa"}
BATCH, TOKENS = {"small": 2, "large": 16}, {"small": 8, "large": 24}
ROUNDS = {"small": 30, "large": 4}
INTERVAL = 64
"""Examples of the interval that is timed."""


def calibrate(name: str, report: Callable[[str, int, int], None]) -> Device:
    """Measure this device on two small BERTs with random weights: each engine in float32, plain passes in float64."""
    import torch

    started = time.perf_counter()
    device = torch.device(name)
    small, large = (_Probe(size, device, torch.float32) for size in ("small", "large"))
    plain = _plain_price(small, large)
    wide = _plain_price(small, _Probe("large", device, torch.float64))
    prices: dict[tuple[Engine, str], Price] = {("plain", "float32"): plain, ("plain", "float64"): wide}
    for number, engine in enumerate(METHOD_OF, start=1):
        price = _price(engine, plain, small, large)
        prices[engine, "float32"] = price
        prices[engine, "float64"] = replace(price, flop=price.flop * wide.flop / plain.flop)
        report("calibrating", number, len(METHOD_OF) + 1)
    prices |= {("plain", "float32"): plain, ("plain", "float64"): wide}
    here = Device(_device_name(device), prices, _time_of_an_interval())
    session = measure_session(here)
    report("calibrating", len(METHOD_OF) + 1, len(METHOD_OF) + 1)
    return replace(here, check=session.check, start=session.start, seconds=time.perf_counter() - started)


class _Probe:
    """A model of two layers with inputs, on which passes are timed."""

    def __init__(self, size: str, device: Any, dtype: Any) -> None:
        import torch
        from transformers import BertConfig, BertForSequenceClassification

        shape = SMALL if size == "small" else LARGE
        config = BertConfig(vocab_size=40, num_hidden_layers=2, **shape, **BACKEND)
        with torch.random.fork_rng(devices=[]):
            module = BertForSequenceClassification(config).eval().to(device, dtype)
        ids = torch.ones(BATCH[size], TOKENS[size], dtype=torch.long, device=device)
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        self.rounds, self.device = ROUNDS[size], device
        self.model = Model(module)
        self.inputs: Inputs = read_inputs(module, given)
        self.cost: Pass = tally_pass(self.model, self.inputs)
        with torch.no_grad():
            self.target: Target = choose("predicted", self.model(self.inputs))

    def forward(self) -> float:
        """Return the seconds of a plain forward pass."""
        import torch

        with torch.no_grad():
            return self._least(lambda: self.model(self.inputs))

    def method(self, engine: Engine) -> float:
        """Return the seconds of a method that runs one pass by the engine."""
        from axioms.engine.handlers.ledger import recording

        name, options = METHOD_OF[engine]
        function = METHODS.get(name).function

        def run() -> None:
            if engine == "ledger":
                with recording():
                    function(self.model, self.inputs, self.target, **options)
            else:
                function(self.model, self.inputs, self.target, **options)

        return self._least(run)

    def _least(self, call: Callable[[], Any]) -> float:
        """Return the seconds of the fastest of some calls: what else the machine does only adds to it."""
        import torch

        seconds = []
        with self.model.at_rest():
            for _ in range(self.rounds + 1):
                started = time.perf_counter()
                call()
                if self.device.type == "cuda":
                    torch.cuda.synchronize(self.device)
                seconds.append(time.perf_counter() - started)
        return min(seconds[1:])


def _plain_price(small: _Probe, large: _Probe) -> Price:
    """Return what plain passes cost: on the small model nothing but starting operations takes time."""
    forward, both = small.forward(), small.method("plain")
    started = forward / small.cost.operations
    returned = max(0.0, both - forward) / small.cost.backward_operations
    overhead = started * large.cost.operations + returned * large.cost.backward_operations
    return Price(started, returned, _per_flop(large.method("plain"), overhead, large.cost, goes_back=True))


def _price(engine: Engine, plain: Price, small: _Probe, large: _Probe) -> Price:
    """Return what an engine's passes cost; all but the way back of a plain pass is its own, on the way forward."""
    goes_back = engine not in FORWARD_ONLY
    returned = plain.backward_operation if goes_back else 0.0
    forward = small.method(engine) - returned * small.cost.backward_operations
    started = max(plain.operation, forward / small.cost.operations)
    overhead = started * large.cost.operations + returned * large.cost.backward_operations
    return Price(started, returned, _per_flop(large.method(engine), overhead, large.cost, goes_back=goes_back))


def _per_flop(took: float, overhead: float, cost: Pass, *, goes_back: bool) -> float:
    flops = cost.flops + (cost.backward_flops if goes_back else 0.0)
    return max(took - overhead, took / 10) / flops


def _time_of_an_interval() -> float:
    """Return the seconds for each example that the interval of a mean takes."""
    import numpy as np

    from axioms.verdict.measure import bootstrap_interval

    values = np.random.default_rng(0).normal(size=INTERVAL)
    bootstrap_interval(values, confidence=0.95, seed=0)
    started = time.perf_counter()
    bootstrap_interval(values, confidence=0.95, seed=0)
    return (time.perf_counter() - started) / INTERVAL


def _device_name(device: Any) -> str:
    import torch

    if device.type == "cuda":
        return f"{device}, {torch.cuda.get_device_name(device)}"
    threads = torch.get_num_threads()
    return f"{device.type} with {threads} thread{'s' if threads != 1 else ''}"
