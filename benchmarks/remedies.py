"""Time follows the passes: each remedy's time over CP-LRP's beside the number of passes that it makes, in one run.

    python benchmarks/remedies.py

A pass is one forward and one backward pass, as CP-LRP makes. A forward pass alone counts its measured share of one, and
so do the attention blocks, there and back, which `block_lrp` runs once per node; both shares are measured on the plain
model. All times are medians of interleaved rounds, with CP-LRP before and after each.
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

from axioms.core.registry import METHODS
from axioms.engine.handlers.blocks import find_blocks
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose

BATCH, LENGTH, VOCABULARY, NODES, EXACT = 16, 24, 1000, 8, 4
TOLERANCE = 0.25


class Shares(NamedTuple):
    """Of the time of one pass."""

    forward: float
    """A forward pass alone."""
    blocks: float
    """The attention blocks by themselves, there and back."""


class Entry(NamedTuple):
    """A method with options, and how many passes it makes."""

    label: str
    method: str
    options: Mapping[str, Any]
    passes: Callable[[Shares], float]


ENTRIES = (
    Entry("degree_lrp", "degree_lrp", {}, lambda shares: 1),
    # Every block runs forward for its value and then there and back for each node.
    Entry(
        f"block_lrp, {NODES} nodes",
        "block_lrp",
        {"nodes": NODES},
        lambda shares: 1 + shares.blocks * (NODES - 1 + shares.forward),
    ),
    Entry("removal_taylor", "removal_taylor", {}, lambda shares: 1),
    Entry("removal_taylor, exact_block", "removal_taylor", {"order": "exact_block"}, lambda shares: 1),
    Entry("removal_grouped, 2 groups", "removal_grouped", {"groups": 2}, lambda shares: 2),
    Entry("removal_grouped, 3 groups", "removal_grouped", {}, lambda shares: 3),
    # The pass gives the output that the exact ones are subtracted from.
    Entry(f"loo_adaptive, {EXACT} exact", "loo_adaptive", {"exact": EXACT}, lambda shares: 1 + EXACT * shares.forward),
    # Here no pass is at the open gates, so one more forward pass gives it; and so it does for leave-one-out.
    Entry(
        f"loo_adaptive on removal_grouped, {EXACT} exact",
        "loo_adaptive",
        {"exact": EXACT, "estimate": "removal_grouped"},
        lambda shares: 3 + (EXACT + 1) * shares.forward,
    ),
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


def blocks_alone(model: Model, inputs: Inputs) -> Callable[[], object]:
    """A call that runs every attention block there and back, each on what it is given in the model."""
    given: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = []
    modules = dict(model.module.named_modules())
    paths = find_blocks(model, inputs.with_features(inputs.features.detach().requires_grad_()))
    handles = [
        modules[path].register_forward_pre_hook(
            lambda module, args, kwargs: given.append((module, args, kwargs)), with_kwargs=True
        )
        for path in paths
    ]
    with torch.no_grad():
        model(inputs)
    for handle in handles:
        handle.remove()

    def call() -> None:
        for module, args, kwargs in given:
            x = args[0].detach().requires_grad_()
            output = module.forward(x, *args[1:], **kwargs)[0]
            torch.autograd.grad(output, x, torch.ones_like(output))

    return call


def without_gradient(model: Model, inputs: Inputs) -> Callable[[], object]:
    """A call that is one forward pass."""

    def call() -> None:
        with torch.no_grad():
            model(inputs)

    return call


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

        def method(entry: Entry) -> Callable[[], object]:
            return lambda: METHODS.get(entry.method).function(model, inputs, target, **entry.options)

        reference = method(Entry("cp_lrp", "cp_lrp", {}, lambda shares: 1))
        calls = {"forward": without_gradient(model, inputs), "blocks": blocks_alone(model, inputs)}
        calls |= {entry.label: method(entry) for entry in ENTRIES}
        ratios: dict[str, list[float]] = {label: [] for label in calls}
        for number in range(rounds + 1):
            for label, call in calls.items():
                before = seconds(reference)
                taken = seconds(call)
                if number:  # the first round warms up
                    ratios[label].append(2 * taken / (before + seconds(reference)))
            print(f"round {number}/{rounds}", file=sys.stderr, flush=True)
    median = {label: statistics.median(values) for label, values in ratios.items()}
    shares = Shares(median["forward"], median["blocks"])
    print(f"batch {BATCH} x {LENGTH} tokens, float32, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"a forward pass is {shares.forward:.2f} of a pass, the attention blocks are {shares.blocks:.2f}\n")
    print(f"| method | passes | time / CP-LRP | time / passes | within {TOLERANCE:.0%} |\n|---|---|---|---|---|")
    off = 0
    for entry in ENTRIES:
        passes, ratio = entry.passes(shares), median[entry.label]
        within = abs(ratio / passes - 1) <= TOLERANCE
        off += not within
        print(f"| {entry.label} | {passes:.2f} | {ratio:.2f} | {ratio / passes:.2f} | {'yes' if within else 'NO'} |")
    print(f"\n{len(ENTRIES) - off} of {len(ENTRIES)} within {TOLERANCE:.0%} of their passes")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()
