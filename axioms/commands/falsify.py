"""`axioms falsify`: search for the smallest counterexample to an axiom that a method should keep."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.errors import AxiomsError, display_path
from axioms.core.printable import printable
from axioms.core.registry import METHODS
from axioms.spec.added import registered_name

if TYPE_CHECKING:
    from axioms.search.breaks import Break
    from axioms.search.falsify import Counterexample

INVARIANCE = "implementation_invariance"
ABOUT = """\
Search for the smallest expression that a method attributes differently when it is written another way: sums, products,
linear maps, activations, softmax and norms, rewritten by associativity, commutativity, distributivity, folding, scaling
and shifting; then, as many times, for one of small attention blocks. What is found is shrunk and written as a spec that
reproduces it. Where nothing is found, the answer says how many of the examples put the axiom to the method: on the
others it has no rule, no finite relevance, or nothing to share out. A method that changes modules by hooks (zennit's,
captum's LRP) is for `axioms audit`: expressions have none. With --axiom NAME another axiom is put to the method, on one
model: linearity, antisymmetry, scale, null_player, sensitivity, symmetry, completeness, path_antisymmetry or
target_sensitivity; with --axiom all every one of them.
Exit code: 0 if nothing was found, 1 if the method was falsified, 2 if it could not run."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "falsify",
        help="find and shrink a counterexample to an axiom, by default implementation invariance",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--method", required=True, metavar="NAME", help="as `axioms list` names it, or MODULE:NAME")
    parser.add_argument("--axiom", default=INVARIANCE, metavar="NAME", help=f"an exact axiom, or all ({INVARIANCE})")
    parser.add_argument("--seed", type=int, default=0, help="of the search; the same seed finds the same (0)")
    parser.add_argument(
        "--examples",
        type=int,
        default=500,
        metavar="N",
        help="how many to try, of expressions and then of attention blocks (500)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("specs/counterexample"),
        metavar="DIR",
        help="where the spec goes (specs/counterexample)",
    )
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search, print what is found and write it as a spec; return 1 if the method was falsified."""
    import axioms.methods
    import axioms.properties  # noqa: F401  (fills the registries)

    try:
        import_modules(options.modules)
        method = registered_name(options.method)
        METHODS.get(method)
        from axioms.search.falsify import require_hypothesis

        require_hypothesis()
        from axioms.search.breaks import exact_axioms

        names = [INVARIANCE, *exact_axioms()] if options.axiom == "all" else [options.axiom]
        return max([_falsify(method, axiom, options) for axiom in names])
    except AxiomsError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2


def _falsify(method: str, axiom: str, options: argparse.Namespace) -> int:
    """Search for a counterexample to one axiom; return 1 if there is one."""
    from axioms.search.breaks import Break, falsify_axiom
    from axioms.search.falsify import falsify
    from axioms.search.spec import write_spec

    progress = Progress()
    settings = {"seed": options.seed, "examples": options.examples, "progress": progress}
    counterexample: Counterexample | Break | None
    if axiom == INVARIANCE:
        counterexample = falsify(method, **settings)
    else:
        counterexample, _ = falsify_axiom(method, axiom, **settings)
    if counterexample is None:
        name = options.method if axiom == INVARIANCE else f"{options.method}, {axiom}"
        put = f"{progress.exercised} of them put {axiom} to the method"
        print(f"{name}: no counterexample, none found in {progress.tried} examples ({put}).")
        return 0
    print(lines_of_break(counterexample) if isinstance(counterexample, Break) else lines_of(counterexample))
    written = write_spec(counterexample, options.output)
    print(f"\n{written.read_text(encoding='utf-8')}\nwritten: {display_path(written)}")
    print(f"rerun: pytest {display_path(written)}{_import_options(options, method)}")
    return 1


def _import_options(options: argparse.Namespace, method: str) -> str:
    """Return what pytest must be told to know the method: the modules of --import, and that of MODULE:NAME."""
    module = options.method.removesuffix(f":{method}")
    modules = [*options.modules, *([module] if module != options.method else [])]
    return "".join(f" --axioms-import {name}" for name in dict.fromkeys(modules))


def lines_of(counterexample: Counterexample) -> str:
    """Return the counterexample in four lines."""
    example = counterexample.example
    texts = [str(example.left), str(example.right)]
    width = max(map(len, texts))
    rows = [
        f"  {text:<{width}}  gives  " + "  ".join(f"{name}: {value:.6g}" for name, value in relevance.items())
        for text, relevance in zip(texts, (counterexample.left, counterexample.right), strict=True)
    ]
    at = ", ".join(f"{name} = {value:g}" for name, value in example.point.items())
    size = counterexample.first_size
    history = f"found after {counterexample.after} examples by {example.step}, shrunk from {size} operations"
    return "\n".join([f"{counterexample.method} is not implementation invariant.", *rows, f"  at {at}   ({history})"])


def lines_of_break(broken: Break) -> str:
    """Return the break of an axiom of one model in three lines."""
    gives = "  ".join(f"{name}: {value:.6g}" for name, value in broken.relevance.items())
    at = ", ".join(f"{name} = {value:g}" for name, value in broken.point.items())
    history = f"found after {broken.after} examples, shrunk from {broken.first_size} operations"
    return "\n".join(
        [
            f"{broken.method} breaks {broken.axiom}: {broken.metric} {broken.value:.6g}.",
            f"  {'  and  '.join(broken.expressions)}  gives  {gives}",
            f"  at {at}   ({history})",
        ]
    )


class Progress:
    """How many examples were tried, and how many exercised the method; shown on a terminal now and then."""

    tried = exercised = 0

    def __call__(self, tried: int, exercised: int) -> None:
        """Note the counts and show them."""
        self.tried, self.exercised = tried, exercised
        if sys.stderr.isatty() and tried % 50 == 0:
            print(f"\r{tried} examples", end="", file=sys.stderr, flush=True)
