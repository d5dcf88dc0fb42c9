"""Time follows the passes: each remedy's time over CP-LRP's beside the number of passes that it makes, in one run.

    python benchmarks/remedies.py

A pass is one forward and one backward pass, as CP-LRP makes. Passes are counted by arithmetic, not by time: a forward
pass alone is its share of the floating-point operations of a pass, and so are the attention blocks that `block_lrp`
runs once per node. Times are medians of interleaved rounds, CP-LRP before and after each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from axioms.propagate.blocks import find_blocks
from axioms.registry import METHODS
from axioms.subjects.inputs import Inputs, read_inputs
from axioms.subjects.model import Model
from axioms.subjects.targets import Target, choose

BATCH, LENGTH, VOCABULARY, NODES, EXACT = 8, 32, 1000, 8, 4
TOLERANCE = 0.25


class Shares(NamedTuple):
    """Of the floating-point operations of one pass."""

    forward: float
    """A forward pass alone."""
    blocks: float
    """The attention blocks, there and back."""


class Entry(NamedTuple):
    """A method with options, and how many passes it makes."""

    label: str
    method: str
    options: Mapping[str, Any]
    passes: Callable[[Shares], float]


ENTRIES = (
    Entry("degree_lrp", "degree_lrp", {}, lambda shares: 1),
    # Every block runs once for its value and then there and back for each node.
    Entry(
        f"block_lrp, {NODES} nodes",
        "block_lrp",
        {"nodes": NODES},
        lambda shares: 1 - shares.blocks + shares.blocks * (shares.forward + NODES),
    ),
    Entry("removal_taylor", "removal_taylor", {}, lambda shares: 1),
    Entry("removal_taylor, exact_block", "removal_taylor", {"order": "exact_block"}, lambda shares: 1),
    Entry("removal_grouped, 2 groups", "removal_grouped", {"groups": 2}, lambda shares: 2),
    Entry("removal_grouped, 3 groups", "removal_grouped", {}, lambda shares: 3),
    # One more forward pass gives the output that the exact ones are subtracted from.
    Entry(
        f"loo_adaptive, {EXACT} exact",
        "loo_adaptive",
        {"exact": EXACT},
        lambda shares: 1 + (EXACT + 1) * shares.forward,
    ),
    Entry("integrated_gradients, 20 steps", "integrated_gradients", {}, lambda shares: 20 + 2 * shares.forward),
    Entry("loo", "loo", {}, lambda shares: (LENGTH + 1) * shares.forward),
)


def bert() -> nn.Module:
    """MiniLM's shape, with random weights."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    config._attn_implementation = "eager"
    return BertForSequenceClassification(config).eval()


def shares_of(model: Model, inputs: Inputs, target: Target) -> Shares:
    """By counting the operations of matrix products."""
    variable = inputs.with_features(inputs.features.detach().requires_grad_())
    blocks = find_blocks(model, variable)
    with FlopCounterMode(display=False) as there, torch.no_grad():
        model(inputs)
    with FlopCounterMode(display=False, mods=model.module) as both:
        target(model(variable)).sum().backward()
    counts = both.get_flop_counts()
    inside = sum(sum(counts[f"{type(model.module).__name__}.{path}"].values()) for path in blocks)
    return Shares(there.get_total_flops() / both.get_total_flops(), inside / both.get_total_flops())


def seconds(function: Callable[[], object]) -> float:
    """Of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main() -> None:
    """Print the table; the exit code is 1 where a time is not within the tolerance of its passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of timing (9)")
    rounds = parser.parse_args().rounds
    torch.manual_seed(0)
    module = bert()
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH))
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest():
        with torch.no_grad():
            target = choose("predicted", model(inputs))
        shares = shares_of(model, inputs, target)

        def call(method: str, options: Mapping[str, Any]) -> Callable[[], object]:
            return lambda: METHODS.get(method).function(model, inputs, target, **options)

        reference = call("cp_lrp", {})
        ratios: dict[str, list[float]] = {entry.label: [] for entry in ENTRIES}
        for number in range(rounds + 1):
            for entry in ENTRIES:
                before = seconds(reference)
                taken = seconds(call(entry.method, entry.options))
                if number:  # the first round warms up
                    ratios[entry.label].append(2 * taken / (before + seconds(reference)))
            print(f"round {number}/{rounds}", file=sys.stderr, flush=True)
    print(f"batch {BATCH} x {LENGTH} tokens, float32, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"a forward pass is {shares.forward:.2f} of a pass, the attention blocks are {shares.blocks:.2f}\n")
    print("| method | passes | time / CP-LRP | time / passes |\n|---|---|---|---|")
    off = 0
    for entry in ENTRIES:
        passes, ratio = entry.passes(shares), statistics.median(ratios[entry.label])
        off += abs(ratio / passes - 1) > TOLERANCE
        print(f"| {entry.label} | {passes:.2f} | {ratio:.2f} | {ratio / passes:.2f} |")
    print(f"\n{len(ENTRIES) - off} of {len(ENTRIES)} within {TOLERANCE:.0%} of their passes")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()
