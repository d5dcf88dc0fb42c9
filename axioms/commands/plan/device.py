"""What passes, and all beside them, cost on a device: on this one as measured, on another as a user says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from axioms.commands.plan.loads import Engine, Load

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Price:
    """Seconds for each operation of torch, and for each floating-point operation, forward and backward."""

    operation: float
    backward_operation: float
    flop: float


@dataclass(frozen=True)
class Device:
    """What passes cost on a device."""

    name: str
    prices: Mapping[tuple[Engine, str], Price]
    """By engine and dtype."""
    interval: float = 0.0
    """Seconds that the interval of a mean takes, for each example."""
    check: float = 0.0
    """Seconds of a check beside its passes: to build and guard its model, to measure, to judge and to report."""
    start: float = 0.0
    """Seconds of a session beside its checks: to start pytest, to write the report and to end."""
    seconds: float = 0.0
    """How long it took to measure all this."""

    def time(self, load: Load) -> float:
        """Return the seconds that a load takes."""
        dtype = load.size.dtype if load.size.dtype in DTYPES else "float32"
        price, cost = self.prices[load.engine, dtype], load.size.whole
        started = load.calls * cost.operations * price.operation
        returned = load.backward_calls * cost.backward_operations * price.backward_operation
        return started + returned + load.flops * price.flop

    def rate(self, dtype: str) -> float:
        """Return floating-point operations per second of plain passes."""
        return 1 / self.prices["plain", dtype].flop


@dataclass(frozen=True)
class GivenRate:
    """A device that is not here, of which a user says how many floating-point operations it does in a second."""

    flops: float
    flops64: float
    """The same in float64."""
    name: str = "device that is not here"

    def time(self, load: Load) -> float:
        """Return the seconds that a load takes, without what lies between its operations."""
        return load.flops / (self.flops64 if load.size.dtype == "float64" else self.flops)
