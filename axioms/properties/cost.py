"""What a method costs, in passes: its time over that of CP-LRP, which is one forward and one backward pass."""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import METHODS, axiom
from axioms.core.values import Values
from axioms.properties.helpers.views import SideView


@axiom(
    "cost",
    metrics={
        "passes": Metric("time over that of cp_lrp on the same batch, the median of interleaved rounds", kind="scalar"),
        "seconds": Metric("seconds for that batch, the median of the rounds", kind="scalar"),
    },
    timed=True,
    once=True,
)
def cost(side: SideView, *, rounds: Samples = 5) -> dict[str, Values]:
    """Time on the first batch; each round runs CP-LRP before and after the method, so that a slow moment hits both."""
    from axioms.methods.running import run_method

    if rounds < 1:
        raise InputError(f"cost needs at least one round, not {rounds}.")
    model, size = side.model, side.batch_size
    inputs, target = side.inputs.rows(0, size), side.target.rows(0, size)
    output = target(side.side.outputs[:size])

    def one_pass() -> float:
        entry = METHODS.get("cp_lrp")
        return run_method(entry, model, inputs, target, output, batch_size=size, options={}).seconds

    one_pass()  # warm up
    ratios, seconds = [], []
    for number in range(rounds):
        before = one_pass()
        seconds.append(side.bench.rerun(model, inputs, target, size).seconds)
        ratios.append(2 * seconds[-1] / (before + one_pass()))
        side.bench.progress(number + 1, rounds)
    return {"passes": np.asarray(np.median(ratios)), "seconds": np.asarray(np.median(seconds))}
