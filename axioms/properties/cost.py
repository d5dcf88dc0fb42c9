"""What a method costs, in passes: its time over that of CP-LRP, which is one forward and one backward pass."""

from __future__ import annotations

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import METHODS, Metric, axiom
from axioms.core.values import Values
from axioms.properties.views import SideView


@axiom(
    "cost",
    metrics={
        "passes": Metric("time over that of cp_lrp on the same batch, the median of interleaved rounds", kind="scalar"),
        "seconds": Metric("seconds for that batch, the median of the rounds", kind="scalar"),
    },
    timed=True,
)
def cost(side: SideView, *, rounds: int = 5) -> dict[str, Values]:
    """Time on the first batch; each round runs CP-LRP before and after the method, so that a slow moment hits both."""
    from axioms.methods.running import run_method

    if rounds < 1:
        raise InputError(f"cost needs at least one round, not {rounds}.")
    one = side.side
    inputs, target = one.inputs.rows(0, one.batch_size), side.target.rows(0, one.batch_size)
    output = target(one.outputs[: one.batch_size])

    def reference() -> float:
        entry = METHODS.get("cp_lrp")
        return run_method(entry, one.model, inputs, target, output, batch_size=one.batch_size, options={}).seconds

    reference()  # warm up
    ratios, taken = [], []
    for number in range(rounds):
        before = reference()
        taken.append(side.rerun(one.model, inputs, target, one.batch_size).seconds)
        ratios.append(2 * taken[-1] / (before + reference()))
        side.progress(number + 1, rounds)
    return {"passes": np.asarray(np.median(ratios)), "seconds": np.asarray(np.median(taken))}
