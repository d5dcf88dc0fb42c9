"""The plan of a run: what each spec costs, with what specs share counted where it is computed first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from axioms.commands.plan.device import Device, GivenRate
from axioms.commands.plan.jobs import Job, Planned, jobs_of
from axioms.commands.plan.loads import Load
from axioms.commands.plan.sizes import Size
from axioms.commands.plan.subjects import SizeUnknown, nothing_fetched, sizes_of_subject
from axioms.core.errors import AxiomsError
from axioms.run.address import Address
from axioms.spec import Check, Expanded

Report = Callable[[str, int, int], None]


@dataclass
class SpecPlan:
    """What one spec costs beside what specs before it compute."""

    spec: str
    checks: int = 0
    loads: list[Load] = field(default_factory=list)
    means: float = 0.0
    """Examples in means that have an interval, summed over all of them."""
    building: float = 0.0
    """Seconds to load its models, measured while this was planned."""
    memory: float = 0.0
    """Bytes at the peak: weights, and what a batch holds."""
    shared: int = 0
    """Jobs that another spec or check does for it."""
    assumed: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    """Why nothing is known of some checks, and of how many."""

    @property
    def forward(self) -> float:
        """Forward passes of one example."""
        return sum(load.forward for load in self.loads)

    @property
    def backward(self) -> float:
        """Backward passes of one example."""
        return sum(load.backward for load in self.loads)

    @property
    def flops(self) -> float:
        """Floating-point operations."""
        return sum(load.flops for load in self.loads)

    def passing(self, device: Device | GivenRate) -> float:
        """Return the seconds that its passes take: what workers can share."""
        return sum(device.time(load) for load in self.loads)

    def judging(self, device: Device) -> float:
        """Return the seconds beside: to load, to judge and to report, which is done in one place."""
        return self.building + self.checks * device.check + self.means * device.interval

    def add(self, job: Job) -> None:
        """Add the loads of a job."""
        self.loads += job.loads
        if job.assumed:
            self.assumed[job.assumed] = None
        for load in job.loads:
            self.memory = max(self.memory, load.size.parameters * load.size.bytes + load.memory)


class Planner:
    """Plans specs one after another; remembers subjects and jobs that an earlier one has."""

    def __init__(self) -> None:
        self._sizes: dict[str, dict[str, Size] | str] = {}
        self._done: set[str] = set()

    def plan(self, expanded: Expanded, tiers: Sequence[str], spec: str) -> SpecPlan:
        """Return the plan of a spec, of its checks in these tiers."""
        plan = SpecPlan(spec)
        with nothing_fetched():
            for check in expanded.checks:
                if check.tier in tiers:
                    self._add(plan, check)
        return plan

    def _add(self, plan: SpecPlan, check: Check) -> None:
        plan.checks += 1
        address = Address(check.subject, check.run, check.file)
        sizes = self._sizes_of(plan, address.plain)
        if isinstance(sizes, str):
            plan.unknown[sizes] = plan.unknown.get(sizes, 0) + 1
            return
        if check.rewrite is not None:
            sizes = {"left": sizes["model"], "right": sizes["model"]}
        for size in sizes.values():
            plan.assumed.update(dict.fromkeys(size.assumed))
        plan.means += _means(check) * max(size.examples for size in sizes.values())
        for job in jobs_of(Planned(check, address.name, address.plain.name, sizes)):
            if job.key in self._done:
                plan.shared += 1
            else:
                self._done.add(job.key)
                plan.add(job)

    def _sizes_of(self, plan: SpecPlan, plain: Address) -> dict[str, Size] | str:
        """Return the sizes of the model by itself or of both of a pair; a sentence where nothing says how large."""
        if plain.name not in self._sizes:
            started = time.perf_counter()
            try:
                self._sizes[plain.name] = sizes_of_subject(plain.subject, plain.run, plain.file)
            except (SizeUnknown, AxiomsError) as error:
                self._sizes[plain.name] = str(error)
            plan.building += time.perf_counter() - started
        return self._sizes[plain.name]


def _means(check: Check) -> int:
    """Return how many means a check has, each with an interval."""
    names = [*(bound.metric for bound in check.expect), *check.record, *check.reported]
    return len({name for name in names if name.endswith(".mean")})


def plan_files(files: Sequence[Path], tiers: Sequence[str], report: Report) -> list[SpecPlan]:
    """Return the plans of specs that have checks in these tiers, in the order in which they run."""
    from axioms.core.errors import display_path
    from axioms.spec import expand_file

    planner, plans = Planner(), []
    for number, file in enumerate(files, start=1):
        plan = planner.plan(expand_file(file), tiers, display_path(file))
        if plan.checks:
            plans.append(plan)
        report("counting passes", number, len(files))
    return plans
