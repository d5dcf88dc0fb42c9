"""Time and memory of LRP against plain Gradient x Input, side by side in one run.

    python benchmarks/speed.py

Plain is one forward and one backward pass with frozen parameters and the same attention implementation. Time is the
median ratio over interleaved rounds; memory is the growth of a process's peak over its size before the pass. The last
lines are explicit / fast: the explicit engine's time over the fast one's, measured in the same rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from axioms.core.registry import METHODS
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose

BATCH, LENGTH, VOCABULARY = 8, 32, 1000
METHODS_SHOWN = ("attnlrp", "cp_lrp", "lrp_epsilon")
EXPLICIT = "explicit attnlrp"
PAPER = {"BERT-base": "1.83 to 1.98", "Llama, 6 layers": "1.54 to 1.61"}
"""Explicit / efficient as Arras et al. 2025 print it for LXT on GPUs: BERT and Llama of their own sizes."""


def bert(backend: str) -> nn.Module:
    """BERT-base with random weights."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=VOCABULARY, num_labels=2)
    config._attn_implementation = backend
    return BertForSequenceClassification(config)


def llama(backend: str) -> nn.Module:
    """A Llama of six layers with grouped queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=4,
        intermediate_size=1376,
    )
    config._attn_implementation = backend
    return LlamaForCausalLM(config)


MODELS: dict[str, Callable[[str], nn.Module]] = {"BERT-base": bert, "Llama, 6 layers": llama}


def prepared(name: str, backend: str) -> tuple[Model, Inputs, Target]:
    """Model, inputs and target, the same in every process."""
    torch.manual_seed(0)
    module = MODELS[name](backend).eval()
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH))
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with torch.no_grad():
        return model, inputs, choose("predicted", model(inputs))


def run(method: str, model: Model, inputs: Inputs, target: Target) -> Tensor:
    """One attribution, timed or weighed by the caller."""
    function = explicit if method == EXPLICIT else METHODS.get(method).function
    result: Tensor = function(model, inputs, target)
    return result


def explicit(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """AttnLRP by the explicit engine."""
    from axioms.engine.handlers.explicit import propagate_explicit
    from axioms.methods.lrp import attnlrp_composite

    return propagate_explicit(model, inputs, target, attnlrp_composite(0.0))


def seconds(method: str, *arguments: object) -> float:
    """Duration of one attribution."""
    started = time.perf_counter()
    run(method, *arguments)  # type: ignore[arg-type]
    return time.perf_counter() - started


def time_ratios(name: str, backend: str, methods: tuple[str, ...], rounds: int) -> dict[str, float]:
    """Median over rounds of method / plain, where each round runs plain right before each method."""
    prepared_for = prepared(name, backend)
    ratios: dict[str, list[float]] = {method: [] for method in methods}
    with prepared_for[0].at_rest():
        for method in ("gradient_x_input", *methods):
            run(method, *prepared_for)  # warm up
        for number in range(rounds):
            for method in methods:
                before = seconds("gradient_x_input", *prepared_for)
                taken = seconds(method, *prepared_for)
                after = seconds("gradient_x_input", *prepared_for)
                ratios[method].append(2 * taken / (before + after))
            print(f"  {name}, {backend}: round {number + 1}/{rounds}", file=sys.stderr, flush=True)
    return {method: statistics.median(values) for method, values in ratios.items()}


def peak_growth(name: str, backend: str, method: str) -> float:
    """Kilobytes by which a fresh process grows while it attributes (Linux only)."""
    ready = prepared(name, backend)
    with ready[0].at_rest():
        run(method, *ready)  # imports and caches are not what is weighed
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
        before = kilobytes("VmRSS")
        run(method, *ready)
        return kilobytes("VmHWM") - before


def kilobytes(field: str) -> float:
    """A memory figure of this process, as Linux reports it."""
    status = Path("/proc/self/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:")))


def in_fresh_process(name: str, backend: str, method: str) -> float:
    """`peak_growth` in a process of its own, since a peak never goes down."""
    command = [sys.executable, str(Path(__file__)), "--weigh", json.dumps([name, backend, method])]
    # Every large tensor is given back as soon as it is freed, so that the second run grows from a clean start.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of timing (7)")
    parser.add_argument("--weigh", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.weigh:
        print(peak_growth(*json.loads(arguments.weigh)))
        return
    print(f"batch {BATCH} x {LENGTH} tokens, float32, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print("| model | attention | method | time / plain | memory / plain |\n|---|---|---|---|---|")
    explicit_over_fast: dict[str, float] = {}
    for name in MODELS:
        for backend in ("eager", "sdpa"):
            methods = (*METHODS_SHOWN, EXPLICIT) if backend == "eager" else METHODS_SHOWN
            times = time_ratios(name, backend, methods, arguments.rounds)
            plain = in_fresh_process(name, backend, "gradient_x_input")
            for method in methods:
                memory = in_fresh_process(name, backend, method) / plain
                print(f"| {name} | {backend} | {method} | {times[method]:.2f} | {memory:.2f} |", flush=True)
            if EXPLICIT in times:
                explicit_over_fast[name] = times[EXPLICIT] / times["attnlrp"]
    print("\n| model | explicit / fast here | explicit / efficient in Arras et al. (GPU) |\n|---|---|---|")
    for name, ratio in explicit_over_fast.items():
        print(f"| {name} | {ratio:.2f} | {PAPER[name]} |")


if __name__ == "__main__":
    main()
