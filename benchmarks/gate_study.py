"""The options of the removal gates, studied on the validation split: the LOO r of each, and of what else was tried.

    python benchmarks/gate_study.py

The defaults of `removal_grouped` and `loo_adaptive` were chosen by this table. It reads the subject of
specs/full/remedies_choice.yaml and never sees the held-out split, on which specs/full/remedies_minilm.yaml reports.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from axioms.core.registry import METHODS
from axioms.methods.gates import slopes
from axioms.methods.removal import units_of
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.run.source import build_subject
from axioms.spec import expand_file

SPEC = Path(__file__).parent.parent / "specs" / "full" / "remedies_choice.yaml"


class Scene:
    """A batch of sentences with all that the candidates need: leave-one-out, and slopes at any gates."""

    def __init__(self, model: Model, inputs: Inputs, target: Target) -> None:
        self.model, self.inputs, self.target = model, inputs, target
        self.units = units_of(inputs)
        self.there = self.units >= 0
        self.loo: Tensor = METHODS.get("loo").function(model, inputs, target)
        self.open = torch.ones_like(self.loo)
        self.first = self.slopes(self.open)
        self.exact = self.slopes(self.open, exact=True)

    def slopes(self, gates: Tensor, *, exact: bool = False) -> Tensor:
        """One pass."""
        return slopes(self.model, self.inputs, self.target, gates, exact_blocks=exact)[0]

    def grouped(self, member: Tensor, level: float, *, exact: bool = False, start: Tensor | None = None) -> Tensor:
        """The slopes of each group where it is lowered; those of `start` for what is in no group."""
        scores = torch.zeros_like(self.loo) if start is None else start.clone()
        for group in range(int(member.max()) + 1):
            chosen = self.there & (member == group)
            found = self.slopes(torch.where(chosen, level, self.open), exact=exact)
            scores = torch.where(chosen, found, scores)
        return scores

    def ranks(self, estimate: Tensor) -> Tensor:
        """0 for the largest."""
        size = estimate.abs().masked_fill(~self.there, -1)
        return size.argsort(dim=1, descending=True, stable=True).argsort(dim=1)

    def adaptive(self, estimate: Tensor, exact: int) -> Tensor:
        """Exact leave-one-out for the largest."""
        return torch.where(self.ranks(estimate) < exact, self.loo, estimate)


def candidates(scene: Scene) -> Iterator[tuple[str, str, Tensor]]:
    """Name, cost and scores of every choice."""
    yield "attnlrp", "1", METHODS.get("attnlrp").function(scene.model, scene.inputs, scene.target).sum(-1)
    yield "cp_lrp", "1", METHODS.get("cp_lrp").function(scene.model, scene.inputs, scene.target).sum(-1)
    yield "removal_taylor, first", "1", scene.first
    yield "removal_taylor, exact_block", "1", scene.exact
    count = scene.there.sum(dim=1, keepdim=True)
    estimates = {"taylor, first": ("1", scene.first), "taylor, exact_block": ("1", scene.exact)}
    for groups in (2, 3):
        for level in (0.25, 0.4, 0.5):
            for exact in (False, True):
                name = f"{groups} groups at {level}, {'exact_block' if exact else 'first'}"
                found = scene.grouped(scene.units % groups, level, exact=exact)
                if level == 0.25:
                    estimates[name] = str(groups), found
                yield f"removal_grouped, {name}", str(groups), found
    contiguous = (scene.units * 3 // count).clamp(max=2)
    yield "tried: contiguous groups at 0.25", "3", scene.grouped(contiguous, 0.25)
    rank = scene.ranks(scene.first)
    for name, among in (("all", count), ("the upper half", count // 2), ("the four largest", 4)):
        dealt = torch.where(rank < among, rank % 2, -1)
        found = scene.grouped(dealt, 0.25, start=scene.first)
        yield f"tried: one pass ranks, two groups by rank of {name}", "3", found
    sign = torch.where(scene.units % 2 == 0, -1.0, 1.0)
    down, up = (scene.slopes(1 + way * 0.5 * sign) for way in (1, -1))
    yield "tried: mates raised instead, so that they cancel", "2", torch.where(sign < 0, down, up)
    for name, (passes, scores) in estimates.items():
        for exact in (2, 4):
            found = scene.adaptive(scores, exact)
            yield f"loo_adaptive, {exact} exact, {name}", f"{passes} + {exact} forward", found
    loudest = scene.ranks(scene.exact) < 4
    top = loudest & scene.there
    slope = (scene.loo * scene.exact * top).sum(1) / (scene.exact**2 * top).sum(1)
    scaled = torch.where(loudest, scene.loo, scene.exact * slope.clamp(0, 1).unsqueeze(1))
    yield "tried: loo_adaptive, 4 exact, the rest scaled as these show", "1 + 4 forward", scaled


def correlations(scores: Tensor, scene: Scene) -> list[float]:
    """Pearson's r with leave-one-out over all tokens, sentence by sentence."""
    rows = zip(scores.double(), scene.loo.double(), scene.there, strict=True)
    return [float(np.corrcoef(mine[there].numpy(), loo[there].numpy())[0, 1]) for mine, loo, there in rows]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, default=SPEC, help="whose subject it is (specs/full/remedies_choice.yaml)")
    chosen = parser.parse_args()
    check = expand_file(chosen.spec).checks[0]
    built, size = build_subject(check.subject, check.run, check.file), check.run.batch_size
    (side,) = built.sides.values()
    found: dict[tuple[str, str], list[float]] = {}
    with side.model.at_rest():
        for start in range(0, len(side.inputs), size):
            rows = slice(start, start + size)
            scene = Scene(side.model, side.inputs.rows(rows.start, rows.stop), built.target.rows(rows.start, rows.stop))
            for name, cost, scores in candidates(scene):
                found.setdefault((name, cost), []).extend(correlations(scores, scene))
            print(f"{min(rows.stop, len(side.inputs))}/{len(side.inputs)}", file=sys.stderr, flush=True)
    print(f"{chosen.spec.name}, {len(side.inputs)} examples\n")
    print("| choice | passes | LOO r | standard error |\n|---|---|---|---|")
    for (name, cost), values in found.items():
        print(f"| {name} | {cost} | {np.mean(values):.3f} | {np.std(values) / len(values) ** 0.5:.3f} |")


if __name__ == "__main__":
    main()
