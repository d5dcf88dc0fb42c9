"""Time and memory of a sweep over layers against computing each of its settings on its own, side by side in one run.

    python benchmarks/sweep.py

A setting on its own is one call of AttnLRP with the softmax bypassed in its layers. Settings that are equal (the first
layer alone, and the first one from the front) count once in `distinct`, which the bound of 0.45 is about, and as often
as they are asked for in `asked`. Time is the median ratio over interleaved rounds; memory is the growth of a process's
peak over its size before the pass, and beside it that of one setting.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from axioms.engine.handlers.sweep import distinct, settings, sweep
from axioms.methods.lrp import attnlrp, attnlrp_composite
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose

BATCH, LENGTH, VOCABULARY = 8, 32, 1000
BOUND = 0.45
KINDS = ("single", "front_to_back", "back_to_front")
WIDTHS = {6: 384, 12: 768}
"""Layers to hidden width: MiniLM-L6 and BERT-base."""


def prepared(layers: int) -> tuple[Model, Inputs, Target]:
    """A random BERT, inputs and target, the same in every process."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    width = WIDTHS[layers]
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=width, num_hidden_layers=layers, intermediate_size=4 * width, num_labels=2
    )
    module = BertForSequenceClassification(config).eval()
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH))
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with torch.no_grad():
        return model, inputs, choose("predicted", model(inputs))


def swept(model: Model, inputs: Inputs, target: Target) -> dict[frozenset[int], Tensor]:
    """Every setting by one sweep."""
    return dict(sweep(model, inputs, target, attnlrp_composite(0.0), KINDS).scores)


def on_its_own(model: Model, inputs: Inputs, target: Target, bypassed: frozenset[int]) -> Tensor:
    """One setting by one call."""
    return attnlrp(model, inputs, target, bypass={"softmax": sorted(bypassed)}).sum(-1).detach()


def measure(layers: int, rounds: int) -> tuple[float, float, float]:
    """Median over rounds of sweep / sum over distinct settings, and over those asked for; and the largest gap."""
    ready = prepared(layers)
    numbers = range(1, layers + 1)
    wanted = distinct(KINDS, numbers)
    asked = [frozenset(), frozenset(numbers), *(each for kind in KINDS for each in settings(kind, numbers))]
    strict, loose, gap = [], [], 0.0
    with ready[0].at_rest():
        swept(*ready), on_its_own(*ready, frozenset())  # warm up
        for number in range(rounds):
            seconds, alone = {}, {}
            started = time.perf_counter()
            together = swept(*ready)
            taken = time.perf_counter() - started
            for setting in wanted:
                started = time.perf_counter()
                alone[setting] = on_its_own(*ready, setting)
                seconds[setting] = time.perf_counter() - started
            strict.append(taken / sum(seconds.values()))
            loose.append(taken / sum(seconds[setting] for setting in asked))
            scale = max(float(each.abs().max()) for each in alone.values())
            gap = max(gap, *(float((together[each] - alone[each]).abs().max()) / scale for each in wanted))
            print(f"  {layers} layers: round {number + 1}/{rounds}", file=sys.stderr, flush=True)
    return statistics.median(strict), statistics.median(loose), gap


def peak_growth(layers: int, what: str) -> float:
    """Megabytes by which a fresh process grows while it runs the sweep or one setting (Linux only)."""
    ready = prepared(layers)

    def run() -> object:
        return swept(*ready) if what == "sweep" else on_its_own(*ready, frozenset())

    with ready[0].at_rest():
        run()  # imports and caches are not what is weighed
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
        before = kilobytes("VmRSS")
        run()
        return (kilobytes("VmHWM") - before) / 1024


def kilobytes(field: str) -> float:
    """A memory figure of this process, as Linux reports it."""
    status = Path("/proc/self/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:")))


def in_fresh_process(layers: int, what: str) -> float:
    """`peak_growth` in a process of its own, since a peak never goes down."""
    command = [sys.executable, str(Path(__file__)), "--weigh", json.dumps([layers, what])]
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main() -> int:
    """Print the table; 1 where a ratio is beyond the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of timing (3)")
    parser.add_argument("--weigh", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.weigh:
        print(peak_growth(*json.loads(arguments.weigh)))
        return 0
    print(f"batch {BATCH} x {LENGTH} tokens, float32, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print("| BERT | settings | time / distinct | time / asked | largest gap | peak, MB | one setting, MB |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    for layers, width in WIDTHS.items():
        strict, loose, gap = measure(layers, arguments.rounds)
        worst = max(worst, strict)
        memory, single = (in_fresh_process(layers, what) for what in ("sweep", "one"))
        count = len(distinct(KINDS, range(1, layers + 1)))
        row = f"{count} of {3 * layers + 2} | {strict:.2f} | {loose:.2f} | {gap:.0e} | {memory:.0f} | {single:.0f}"
        print(f"| {layers} layers, {width} wide | {row} |", flush=True)
    print(f"\n{'within' if worst <= BOUND else 'BEYOND'} the bound of {BOUND}")
    return int(worst > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
