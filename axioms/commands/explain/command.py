"""`axioms explain`: attribute one text to its tokens."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.bar import Bar
from axioms.core.errors import AxiomsError, InputError, display_path
from axioms.core.printable import printable

if TYPE_CHECKING:
    from axioms.commands.explain.explain import Answer, Question

DEFAULT = "loo,attnlrp,cp_lrp,removal_taylor"
PAGE = Path("reports/explain.html")
QUIET_SECONDS = 2.0
ABOUT = """\
Attribute the output of a model to the tokens of one text, by several methods: in colour in the terminal (NO_COLOR, or a
pipe, gives signed numbers instead), and as a page with every number and the ledger of the methods that propagate
relevance. `LOO r` is Pearson's correlation with leave-one-out over the tokens of this text, where `loo` is among the
methods; nothing else is run than they.

    axioms explain minilm-sentiment "it is not that the film is bad , exactly"
    axioms explain smollm2 "The keys to the cabinet" --target "{logit_difference: [are, is]}"
    axioms explain ./my-model "..." --methods "attnlrp,{integrated_gradients: {steps: 50}}" --ledger

MODEL is a fixture (fixtures/NAME.yaml here or above, or one of the suite: `axioms list fixtures`), OWNER/NAME on the
hub, or a folder laid out as one. It runs in any folder.
An interruption keeps what was finished. Exit code: 0 if some method has an answer, 2 if none has."""


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser(
        "explain",
        help="attribute one text to its tokens by several methods, in colour, and as a page",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a fixture, OWNER/NAME on the hub, or a folder")
    parser.add_argument("text", metavar="TEXT", help="the text; - reads it from standard input")
    parser.add_argument(
        "--methods",
        default=DEFAULT,
        metavar="A,B",
        help=f"as a spec lists them, options included, or MODULE:NAME ({DEFAULT})",
    )
    parser.add_argument("--task", metavar="TASK", help="classifier, masked-lm or causal-lm; by default what it says")
    parser.add_argument(
        "--target",
        default="predicted",
        metavar="CLASS",
        help="what is explained: predicted, a class or token by number or name, or a mapping as in a spec (predicted)",
    )
    parser.add_argument(
        "--remove", metavar="KIND", help="what leaving a token out means, as in a spec (attention_mask)"
    )
    parser.add_argument("--dtype", default="float32", help="float64, float32, float16 or bfloat16 (float32)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ... (auto)")
    parser.add_argument("--ledger", action="store_true", help="print the whole ledger, layer by layer")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help=f"where the page goes ({PAGE})")
    parser.add_argument("--offline", action="store_true", help="fetch nothing (AXIOMS_OFFLINE=1)")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the answers as they come and write the page; return 2 where no method has one."""
    from axioms.subjects.assets import OFFLINE

    if options.offline:
        os.environ[OFFLINE] = "1"
    try:
        import_modules(options.modules)
        text = sys.stdin.read() if options.text == "-" else options.text
        question, answers = _answer_request(options, text.strip())
        file = _write_page(options, text.strip(), question, answers)
    except AxiomsError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    print(f"page: {display_path(file)}")
    return 0 if any(not answer.reason for answer in answers) else 2


def _answer_request(options: argparse.Namespace, text: str) -> tuple[Question, list[Answer]]:
    from axioms.commands.explain.request import read_request

    request = read_request(options)
    print(f"loading {options.model} ...", file=sys.stderr, flush=True)
    from axioms.commands.explain.explain import ask, explain
    from axioms.commands.explain.terminal import block, legend, wants_colour
    from axioms.subjects.load import load_model

    model = load_model(request.model.name, request.model.options, request.near, request.run.seed)
    question = ask(model, text, request.target, request.remove, request.run)
    if question.cut:
        count = len(question.tokens)
        print(f"the text is longer than the model's limit and was cut after {count} tokens.", file=sys.stderr)
    colour, width = wants_colour(sys.stdout), shutil.get_terminal_size().columns
    print(printable(f"explained: {question.about}: {question.output:.4f}"))
    print(f"{len(question.tokens)} tokens, left out by {question.removal}; {legend(colour)}")
    answers = []
    try:
        for answer in explain(question, request.methods, Bar(QUIET_SECONDS)):
            answers.append(answer)
            lines = block(answer, question.pieces, width=width, colour=colour)
            if options.ledger and answer.ledger is not None:
                lines += [f"  {line}" for line in answer.ledger.table().splitlines()]
            print("\n".join(["", *lines]), flush=True)
    except KeyboardInterrupt:
        print("\ninterrupted: the page has what was finished.", file=sys.stderr)
    print()
    return question, answers


def _write_page(options: argparse.Namespace, text: str, question: Question, answers: list[Answer]) -> Path:
    from axioms.commands.explain.page import explanation_page

    file: Path = options.out
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(explanation_page(options.model, text, question, answers), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{display_path(file)} cannot be written: {error.strerror}.") from None
    return file
