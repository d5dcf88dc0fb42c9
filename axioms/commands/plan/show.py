"""A plan as a table for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.commands.plan.device import Device, GivenRate
from axioms.commands.plan.estimate import SpecPlan

MINUTE, HOUR = 60.0, 3600.0
SESSION = "pytest's start, the report and the end"


def as_table(plans: Sequence[SpecPlan], device: Device | GivenRate, workers: int) -> str:
    """Return the plan as a table, with what it was made of below."""
    headings = ["spec", "checks", "forward", "backward", "TFLOP", "memory", "time"]
    rows = [_row(plan, device) for plan in plans]
    if isinstance(device, Device):
        rows.append([SESSION, *[""] * (len(headings) - 2), duration(device.start)])
    rows.append(
        [
            "all",
            f"{sum(plan.checks for plan in plans):,}",
            _count(sum(plan.forward for plan in plans)),
            _count(sum(plan.backward for plan in plans)),
            _tera(sum(plan.flops for plan in plans)),
            _memory(max((plan.memory for plan in plans), default=0.0)),
            duration(total_seconds(plans, device)),
        ]
    )
    widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings))]
    lines = [_line(row, widths) for row in [headings, *rows]]
    return "\n".join([*lines, "", *_notes(plans, device, workers)])


def _row(plan: SpecPlan, device: Device | GivenRate) -> list[str]:
    seconds = plan.passing(device) + _beside(plan, device)
    unknown = sum(plan.unknown.values())
    cells = [_count(plan.forward), _count(plan.backward), _tera(plan.flops), _memory(plan.memory), duration(seconds)]
    return [plan.spec, f"{plan.checks:,}", *(["?"] * len(cells) if unknown == plan.checks else cells)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in rest)])


def _notes(plans: Sequence[SpecPlan], device: Device | GivenRate, workers: int) -> list[str]:
    lines = [_where(device)]
    if workers > 1:
        taken = duration(total_seconds(plans, device, workers))
        lines.append(f"on {workers} such workers, examples shared out evenly, all else in one place: {taken}")
    lines.append("a pass is of one example, backward to its features; what specs share stands where it comes first")
    lines += [f"assumed: {what}" for what in assumptions(plans)]
    for plan in plans:
        lines += [f"not counted: {count} checks of {plan.spec}: {why}" for why, count in plan.unknown.items()]
    return lines


def _where(device: Device | GivenRate) -> str:
    if isinstance(device, GivenRate):
        return (
            f"time: for one {device.name} and sustains {device.flops:.3g} FLOP/s, in float64 {device.flops64:.3g} "
            "(--flops, --flops64); loading, judging and gaps between operations are not in it"
        )
    rates = " and ".join(f"{device.rate(dtype) / 1e9:.1f} GFLOP/s in {dtype}" for dtype in ("float32", "float64"))
    start = device.prices["plain", "float32"].operation * 1e6
    measured = f"{rates}, {start:.0f} us to start an operation"
    return f"time: on {device.name}, by {device.seconds:.1f} s of calibration: {measured}"


def assumptions(plans: Sequence[SpecPlan]) -> list[str]:
    """Return what the plan took from elsewhere, each once."""
    return list(dict.fromkeys(what for plan in plans for what in plan.assumed))


def total_seconds(plans: Sequence[SpecPlan], device: Device | GivenRate, workers: int = 1) -> float:
    """Return the seconds of a session on all specs with so many workers, which share the passes and nothing else."""
    start = device.start if isinstance(device, Device) else 0.0
    return start + sum(plan.passing(device) / workers + _beside(plan, device) for plan in plans)


def _beside(plan: SpecPlan, device: Device | GivenRate) -> float:
    """Return the seconds that are not passes; nothing is known of them where the device is not here."""
    return 0.0 if isinstance(device, GivenRate) else plan.judging(device)


def as_record(plans: Sequence[SpecPlan], device: Device | GivenRate, workers: int) -> dict[str, Any]:
    """Return the plan as JSON has it: counts, bytes and seconds as numbers."""
    return {
        "device": device.name,
        "is_here": isinstance(device, Device),
        "workers": workers,
        "seconds": total_seconds(plans, device),
        "seconds_on_workers": total_seconds(plans, device, workers),
        "seconds_of_start_and_report": device.start if isinstance(device, Device) else None,
        "hours_per_gpu": total_seconds(plans, device) / HOUR,
        "assumed": assumptions(plans),
        "specs": [
            {
                "spec": plan.spec,
                "checks": plan.checks,
                "forward": plan.forward,
                "backward": plan.backward,
                "flops": plan.flops,
                "memory_bytes": plan.memory,
                "seconds": plan.passing(device) + _beside(plan, device),
                "shared_jobs": plan.shared,
                "not_counted": plan.unknown,
            }
            for plan in plans
        ],
    }


def duration(seconds: float) -> str:
    """Return seconds, minutes or hours, in two digits or so."""
    if seconds >= HOUR:
        return f"{seconds / HOUR:,.1f} h"
    return f"{seconds / MINUTE:.1f} min" if seconds >= MINUTE else f"{seconds:.1f} s"


def _count(number: float) -> str:
    return f"{round(number):,}"


def _tera(flops: float) -> str:
    return f"{flops / 1e12:,.3g}" if flops < 1e15 else f"{flops / 1e12:,.0f}"


def _memory(size: float) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
