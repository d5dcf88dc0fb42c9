"""`axioms card`: what one method is worth, on one page."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import AxiomsError, InputError, display_path
from axioms.core.printable import printable

if TYPE_CHECKING:
    from axioms.commands.card.write import Written
    from axioms.spec import MethodRef

AGAINST = "loo,attnlrp,cp_lrp,integrated_gradients"
MINUTES = 5.0
INTERRUPTED = 130
ABOUT = """\
Run the part of the suite that says most about one method, within the time that is given, and write one page: which
axioms it keeps and the smallest counterexample where it does not; agreement with leave-one-out, perturbation and ground
truth beside known methods, with paired intervals; what it costs, how it bears fewer digits, and where its relevance
goes.

    axioms card attnlrp
    axioms card mypkg.rules:half_lrp --against attnlrp,cp_lrp --minutes 10
    axioms card 'attnlrp: {epsilon: 0.001}'
    axioms card captum:InputXGradient
    axioms card zennit:EpsilonPlus

METHOD is a name that `axioms list methods` prints, MODULE:NAME of a method or function of yours, captum:CLASS,
zennit:COMPOSITE, or any of them with options. Naming a module runs its code.
Subjects: MNIST, MiniLM (fetched once, 90 MB), a small Llama on subject-verb agreement, and six families of tiny models.

Nothing runs when the time is over: what did not fit is listed, and the same command again goes on from there, as does
one that was interrupted. --output gets the page, .md, .svg and .json, which `axioms compare BEFORE.json AFTER.json`
reads.
Exit code: 0 if the method has numbers, 2 if it has none or cannot be read, 130 if it was interrupted."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "card",
        help="write one page on what a method is worth",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("method", metavar="METHOD", help="the method")
    parser.add_argument(
        "--against", default=AGAINST, metavar="A,B", help=f"known methods to compare with ({AGAINST}); '' for none"
    )
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="M", help=f"how long it may take ({MINUTES:g})"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("reports"), metavar="DIR", help="where the files go (reports)"
    )
    parser.add_argument("--offline", action="store_true", help="fetch nothing (AXIOMS_OFFLINE=1)")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure, write the files as parts are done, and print the short version."""
    from axioms.commands.card.deadline import Deadline

    if options.minutes <= 0:
        print(f"--minutes must be more than 0, not {options.minutes:g}.", file=sys.stderr)
        return 2
    seconds = 60 * options.minutes
    # The rest is for writing the files: intervals are drawn anew for each comparison.
    deadline = Deadline(seconds - min(10.0, seconds / 10))
    try:
        written = _measure(options, deadline)
    except AxiomsError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    print(printable("\n".join(written.short)))
    print(f"card: {display_path(written.page)} (.md, .svg and .json beside it)")
    if written.is_interrupted:
        print(
            f"interrupted: the card has what was finished; to go on: {_again(options, options.minutes)}",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0 if written.has_numbers else 2


def _measure(options: argparse.Namespace, deadline: Any) -> Written:
    import_modules(options.modules)
    method, against = _methods(options)
    print(f"card of {method.label}: at most {options.minutes:g} minutes", file=sys.stderr, flush=True)
    from axioms.commands.card.measure import measure
    from axioms.commands.card.progress import Progress
    from axioms.commands.card.write import Writer
    from axioms.run.cache import Cache
    from axioms.subjects.assets import OFFLINE, cache_folder

    if options.offline:
        os.environ[OFFLINE] = "1"
    name = re.sub(r"[^\w.-]+", "_", method.label).strip("_")
    again = _again(options, 2 * options.minutes)
    writer = Writer(options.output / f"card-{name}", method, options.method, _again(options, options.minutes), again)
    progress = Progress(deadline)
    measured = measure(
        method,
        against,
        deadline=deadline,
        cache=Cache(cache_folder() / "measurements"),
        progress=progress,
        report=progress.report,
        after=writer.write,
    )
    progress.close()
    return writer.write(measured, width=shutil.get_terminal_size((120, 40)).columns)


def _methods(options: argparse.Namespace) -> tuple[MethodRef, list[MethodRef]]:
    from axioms.core.registry import METHODS
    from axioms.spec.added import read_method

    method = read_method(options.method)
    METHODS.get(method.name)
    against = [read_method(name) for name in re.split(r",(?![^{]*\})", options.against) if name.strip()]
    if not options.output.parent.exists() and options.output.is_absolute():
        raise InputError(f"--output: {options.output.parent} does not exist.")
    return method, [other for other in against if other.label != method.label]


def _again(options: argparse.Namespace, minutes: float) -> str:
    """Return the command that does the same, in so many minutes."""
    parts = ["axioms", "card", options.method]
    parts += ["--against", options.against] if options.against != AGAINST else []
    parts += ["--minutes", f"{minutes:g}"] if minutes != MINUTES else []
    parts += ["--output", str(options.output)] if options.output != Path("reports") else []
    parts += [part for module in options.modules for part in ("--import", module)]
    parts += ["--offline"] if options.offline else []
    return shlex.join(parts)
