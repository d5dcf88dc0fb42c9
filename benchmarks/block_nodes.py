"""Completeness of `block_lrp` against its number of nodes, on tiny random models whose attention is far from uniform.

    python benchmarks/block_nodes.py

The error is what the ledger cannot explain, over the output: |f - features - all that was kept| / |f|. The models'
biases, norms and positions are random too, so nothing is complete by being trivial.
"""

from __future__ import annotations

import argparse

import torch

import axioms
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

NODES = (1, 2, 4, 8, 12, 16, 24, 32)


def error(architecture: str, nodes: int) -> float:
    """The largest of four texts."""
    model = tiny(architecture=architecture)
    errors = []
    for seed in range(4):
        ids = torch.randint(3, 40, (1, 8), generator=torch.Generator().manual_seed(seed))
        text = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        found = axioms.attribute(model, text, method="block_lrp", nodes=nodes, ledger=True)
        assert found.ledger is not None
        errors.append(abs(found.ledger.unexplained / found.ledger.output))
    return max(errors)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=["bert", "modernbert", "gpt2", "llama", "qwen3", "gemma3"])
    chosen = parser.parse_args().architectures
    unknown = set(chosen) - set(ARCHITECTURES)
    if unknown:
        parser.error(f"unknown {', '.join(sorted(unknown))}; there are {', '.join(ARCHITECTURES)}")
    print("| nodes | " + " | ".join(chosen) + " |\n|---" + "|---" * len(chosen) + "|")
    for nodes in NODES:
        print(f"| {nodes} | " + " | ".join(f"{error(each, nodes):.0e}" for each in chosen) + " |", flush=True)


if __name__ == "__main__":
    main()
