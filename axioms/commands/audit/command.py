"""`axioms audit`: every rewrite on a model of the user's own."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import AxiomsError, BuildFailed, InputError, display_path
from axioms.core.printable import printable
from axioms.core.registry import METHODS, REWRITES, rewrites_of_all
from axioms.spec.added import registered_name

if TYPE_CHECKING:
    from axioms.commands.audit.audit import Audit

BUILD_RAISED = 3
DEFAULT = "loo,gradient_x_input,attnlrp,cp_lrp"
ABOUT = """\
Rewrite your model in every way that keeps its function (`axioms list` names the rewrites), attribute before and after,
and print what each method makes of it. The model is built by a function of yours that takes nothing:

    def build():
        return model             # a language model of transformers: random tokens are its inputs
        return model, inputs     # any other: a tensor of batch x features, or a mapping for the forward pass

Everything is computed in float64 on the CPU, on a copy. A method without a rule for what a rewrite writes out says so;
that is shown as `refused` and is no violation.
A method that cannot attribute the model as it is says why, and the others are audited all the same.
Exit code: 0 if every method holds on every rewrite that applies, 1 if one is violated and not allowed, 2 if it did not
run, or for no method, 3 if the function that builds the model raised."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "audit",
        help="run every applicable rewrite on your own model and print the matrix",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODULE:FUNCTION", help="what builds the model, for example mypackage.model:build"
    )
    parser.add_argument(
        "--methods", default=DEFAULT, metavar="A,B", help=f"with commas: names, or MODULE:NAME ({DEFAULT})"
    )
    parser.add_argument("--rewrites", default="all", metavar="A,B", help="rewrite names, with commas (all)")
    parser.add_argument("--target", default="predicted", metavar="CLASS", help="the output to explain (predicted)")
    parser.add_argument("--bound", type=float, default=1e-9, help="largest relative gap that still holds (1e-9)")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="METHOD:REWRITE",
        help="a violation that is known and does not fail the audit; `*` for all, may be given more than once",
    )
    parser.add_argument("--figure", type=Path, metavar="DIR", help="save the matrix as a heatmap there")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Audit the model and print the matrix; return the exit code that the help names."""
    import axioms.methods
    import axioms.rewrites  # noqa: F401  (fill the registries)

    try:
        import_modules(options.modules)
        methods = _names(options.methods, METHODS)
        rewrites = rewrites_of_all() if options.rewrites == "all" else _names(options.rewrites, REWRITES)
        allow = frozenset(_allowed(pair, methods, rewrites) for pair in options.allow)
        target = int(options.target) if options.target.lstrip("-").isdigit() else options.target
        from axioms.commands.audit.audit import audit, load_model

        model, given = load_model(options.model)
        outcome = audit(
            model,
            given,
            methods,
            rewrites,
            target=target,
            bound=options.bound,
            allow=allow,
            name=options.model,
            progress=_progress,
        )
    except AxiomsError as error:
        print(printable(str(error)), file=sys.stderr)
        return BUILD_RAISED if isinstance(error, BuildFailed) else 2
    print(printable("\n".join(lines_of(outcome, shutil.get_terminal_size().columns))))
    if options.figure is not None and outcome.cells:
        from axioms.report.figures_methods import save_matrix

        for file in save_matrix(outcome.cells, options.figure):
            print(f"figure: {printable(display_path(file))}")
    if outcome.broken:
        return 1
    return 2 if outcome.failed or len(outcome.refusals) == len(methods) else 0


def lines_of(outcome: Audit, width: int) -> list[str]:
    """Return the matrix, what does not apply, and the answer."""
    from axioms.report.rewrites import matrix_of
    from axioms.report.text import within

    lines = within(max(width, 60), *matrix_of(outcome.cells)) if outcome.cells else []
    if any(cell.claimed and cell.verdict == "violated" for cell in outcome.cells):
        lines.append("* violated, as --allow says")
    refused = {cell.rewrite: cell.because for cell in outcome.cells if cell.verdict == "refused"}
    lines += ["", *(f"{method} cannot attribute the model: {why}" for method, why in outcome.refusals.items())]
    lines += [*(f"refused on {rewrite}: {why.partition('. ')[0]}." for rewrite, why in refused.items())]
    lines += list(outcome.failed.values())
    lines += [f"{rewrite} does not apply: {why}" for rewrite, why in outcome.not_applicable.items()]
    broken = sorted(outcome.broken, key=lambda cell: -(cell.gap or 0))
    lines.append("")
    lines.append(
        f"{len(outcome.gaps)} rewrites apply, the largest forward gap is {max(outcome.gaps.values(), default=0):.0e}. "
        f"{len(broken)} of {len(outcome.cells)} cells are violated and not allowed"
        + (": " + ", ".join(f"{cell.method}:{cell.rewrite}" for cell in broken) if broken else "")
        + "."
    )
    return lines


def _names(text: str, registry: Any) -> list[str]:
    names = [name for name in text.split(",") if name]
    if registry is METHODS:
        names = [registered_name(name) for name in names]
    for name in names:
        registry.get(name)
    if not names:
        raise InputError(f"name at least one {registry.what}.")
    return list(dict.fromkeys(names))


def _allowed(text: str, methods: list[str], rewrites: list[str]) -> tuple[str, str]:
    method, _, rewrite = text.rpartition(":")
    if method not in (*methods, "*") or rewrite not in (*rewrites, "*"):
        raise InputError(f"--allow {text!r} is not METHOD:REWRITE with a method and a rewrite of this audit.")
    return method, rewrite


def _progress(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{printable(what)}", end="\r", file=sys.stderr, flush=True)
