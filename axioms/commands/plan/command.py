"""`axioms plan`: passes, floating-point operations, memory and time of specs, before anything is spent."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.commands.check import spec_files
from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import InputError, did_you_mean
from axioms.core.printable import printable

if TYPE_CHECKING:
    from axioms.commands.plan.device import Device, GivenRate

DELAY = 1.0
"""Seconds before progress is shown."""
DESCRIPTION = """Print what each spec would cost: forward and backward passes (of one example), floating-point
operations, peak memory, and the time of the run on this device, by some seconds of calibration. Nothing is
downloaded: models that are not here are counted by their configuration, or by what is known of
their architecture; the output says which."""
EXAMPLES = """examples:
  axioms plan specs/                                            the default run on this device
  axioms plan specs/ --axioms-tier paper --flops 100e12         hours on a GPU that is not here
  axioms plan specs/paper/bert_imdb.yaml --axioms-tier paper --flops 100e12 --workers 8
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "plan",
        help="count the passes of specs and estimate FLOPs, memory and time before running them",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="SPEC", help="spec files or folders of them")
    parser.add_argument(
        "--axioms-tier",
        dest="tier",
        default="smoke",
        metavar="TIER",
        help="specs up to this tier, as pytest would run them: smoke, full or paper (smoke)",
    )
    parser.add_argument(
        "--only", action="store_true", help="only specs of that very tier, and none of the tiers below it"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="also the time on N such devices (1)")
    parser.add_argument("--device", default="auto", help="calibrate this device: auto, cpu, cuda or cuda:N (auto)")
    parser.add_argument(
        "--flops",
        type=float,
        metavar="RATE",
        help="time for a device that is not here and sustains so many FLOP/s, such as 100e12; nothing is calibrated",
    )
    parser.add_argument("--flops64", type=float, metavar="RATE", help="the same in float64 (as --flops)")
    parser.add_argument("--json", action="store_true", help="print JSON: counts, bytes and seconds as numbers")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the plan; raise where a spec or an option is wrong."""
    from axioms.commands.plan.estimate import plan_files
    from axioms.commands.plan.show import as_record, as_table
    from axioms.core.bar import Bar
    from axioms.spec import TIERS

    if options.workers < 1:
        raise InputError(f"--workers is a number of devices, at least 1; found {options.workers}.")
    if any(rate is not None and not rate > 0 for rate in (options.flops, options.flops64)):
        raise InputError("--flops and --flops64 are rates above 0, such as 100e12.")
    if options.flops64 is not None and options.flops is None:
        raise InputError("--flops64 goes with --flops: both are of a device that is not here.")
    if options.tier not in TIERS:
        raise InputError(f"there is no tier {options.tier!r}.{did_you_mean(options.tier, TIERS)}")
    import_modules(options.modules)
    paths = [str(path) for path in options.paths if not path.exists()]
    if paths:
        raise InputError(f"there is no spec or folder {', '.join(paths)}; name files or folders such as specs/.")
    files = spec_files(options.paths)
    place = TIERS.index(options.tier)
    tiers = TIERS[place : place + 1] if options.only else TIERS[: place + 1]
    report = Bar(delay=DELAY)
    device = _device(options, report)
    plans = plan_files(files, tiers, report)
    if not plans:
        above = "" if options.tier == TIERS[-1] else f"; --axioms-tier {TIERS[-1]} looks at all tiers"
        named = printable(", ".join(map(str, options.paths)))
        print(f"no checks of tier {', '.join(tiers)} in {named}{above}.", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(as_record(plans, device, options.workers), indent=2))
    else:
        print(printable(as_table(plans, device, options.workers)))
    return 0


def _device(options: argparse.Namespace, report: Any) -> Device | GivenRate:
    """Return the device that time is estimated for."""
    from axioms.commands.plan.calibrate import calibrate
    from axioms.commands.plan.device import GivenRate
    from axioms.run.build import placement
    from axioms.spec import Run

    if options.flops is not None:
        return GivenRate(options.flops, options.flops64 or options.flops)
    return calibrate(str(placement(Run(device=options.device)).device), report)
