"""What `loo_budget` buys with three passes, studied on texts that no result uses: the LOO r of each way to choose.

    OMP_NUM_THREADS=1 python benchmarks/budget_study.py

Its estimate and its order of buying were chosen by this table. It reads the subjects of specs/full/budget_choice.yaml.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from axioms.core.registry import METHODS
from axioms.methods.budget import FORWARD, ROUNDING, affordable, prices
from axioms.methods.gates import removal_grouped, taylor_both
from axioms.methods.removal import units_of
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.prefix import run_remembering
from axioms.model.targets import Target
from axioms.run.source import build_subject
from axioms.spec import expand_file

SPEC = Path(__file__).parent.parent / "specs" / "full" / "budget_choice.yaml"


class Scene(NamedTuple):
    """A batch of texts, with leave-one-out, estimates by their cost in passes, and what each exact removal costs."""

    there: Tensor
    loo: Tensor
    first: Tensor
    exact: Tensor
    grouped: Tensor
    whole: Tensor
    price: Tensor
    is_causal: bool


def scene(model: Model, inputs: Inputs, target: Target) -> Scene:
    """Run what all choices share."""
    units = units_of(inputs)
    first, exact, _ = taylor_both(model, inputs, target)
    with torch.no_grad():
        _, prefix = run_remembering(model, inputs)
    whole, price = prices(inputs, units, is_prefix_kept=prefix is not None)
    loo = METHODS.get("loo").function(model, inputs, target)
    grouped = removal_grouped(model, inputs, target, groups=2, order="first")
    return Scene(units >= 0, loo, first, exact, grouped, whole, price, prefix is not None)


def candidates(seen: Scene, passes: float) -> Iterator[tuple[str, str, Tensor]]:
    """Yield name, order of buying and scores of every choice."""
    differing = (seen.exact - seen.first).abs()
    every = {"first": seen.first, "exact_block": seen.exact}
    for name, estimate in every.items():
        yield name, "nothing", estimate
        orders = {
            "its size": estimate.abs(),
            "how far the orders differ": differing,
            "both": estimate.abs() + differing,
        }
        for order, worth in orders.items():
            yield name, order, _bought(seen, estimate, worth * seen.price, passes, 1)
            if seen.is_causal:
                yield name, f"{order}, for its price", _bought(seen, estimate, worth, passes, 1)
    yield "two groups, first", "nothing", seen.grouped
    yield "two groups, first", "its size", _bought(seen, seen.grouped, seen.grouped.abs() * seen.price, passes, 2)


def _bought(seen: Scene, estimate: Tensor, worth: Tensor, passes: float, cost: int) -> Tensor:
    """Return the estimate with what a budget buys made exact; a second pass gives no f(x), which costs a third more."""
    remembers = seen.is_causal or cost > 1
    left = ((passes - cost) / FORWARD + ROUNDING - remembers) * seen.whole
    return torch.where(affordable(worth, seen.price, left), seen.loo, estimate)


def correlations(scores: Tensor, seen: Scene) -> list[float]:
    """Return Pearson's r with leave-one-out over all tokens, text by text."""
    rows = zip(scores.double(), seen.loo.double(), seen.there, strict=True)
    return [float(np.corrcoef(mine[there].numpy(), loo[there].numpy())[0, 1]) for mine, loo, there in rows]


def main() -> None:
    """Print a table for each subject."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=float, default=3.0)
    chosen = parser.parse_args()
    subjects = {str(check.subject): check for check in expand_file(SPEC).checks}
    for check in subjects.values():
        built, size = build_subject(check.subject, check.run, check.file), check.run.batch_size
        (side,) = built.sides.values()
        found: dict[tuple[str, str], list[float]] = {}
        tokens: list[int] = []
        with side.model.at_rest():
            for start in range(0, len(side.inputs), size):
                seen = scene(side.model, side.inputs.rows(start, start + size), built.target.rows(start, start + size))
                tokens += seen.there.sum(dim=1).tolist()
                for name, order, scores in candidates(seen, chosen.passes):
                    found.setdefault((name, order), []).extend(correlations(scores, seen))
                print(f"{min(start + size, len(side.inputs))}/{len(side.inputs)}", file=sys.stderr, flush=True)
        print(f"\n{type(side.model.module).__name__}: {len(tokens)} texts of {min(tokens)} to {max(tokens)} tokens\n")
        print("| estimate | made exact, largest first by | LOO r | standard error |\n|---|---|---|---|")
        for (name, order), values in found.items():
            print(f"| {name} | {order} | {np.mean(values):.3f} | {np.std(values) / len(values) ** 0.5:.3f} |")


if __name__ == "__main__":
    main()
