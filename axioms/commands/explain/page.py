"""The answers as one self-contained page: heatmaps with a number under each token, the ledger, and a table of all."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from axioms.commands.explain.terminal import kept_in_one_line, signed
from axioms.core.html import colour
from axioms.report.heatmaps import document

if TYPE_CHECKING:
    from axioms.commands.explain.explain import Answer, Question
    from axioms.report.spelling import Piece

STRONGEST_NAMED = 5
STYLE = """
h2 { margin-top: 1.6em } h2 small { font-weight: 400; color: var(--faint); margin-left: .6em }
blockquote { margin: .6em 0; padding-left: .8em; border-left: 3px solid var(--line) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; margin: .6em 0 } dt { color: var(--faint) }
dd { margin: 0 }
.tokens { line-height: 1.25; margin: .5em 0 }
.token { display: inline-block; text-align: center; padding: .1em .2em; margin: .15em 0; vertical-align: top }
.token small { display: block; font-size: .7em; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; line-height: 1.5 }
th, td { padding: .1em .7em; text-align: right; border-bottom: 1px solid var(--line) }
th:first-child { text-align: left }
caption { text-align: left; color: var(--faint); padding-bottom: .3em } .wide { overflow-x: auto }
summary { cursor: pointer } pre { overflow-x: auto; line-height: 1.4 }
:focus-visible { outline: 3px solid var(--line); outline-offset: 2px }
"""


def explanation_page(model: str, text: str, question: Question, answers: Sequence[Answer]) -> str:
    """Return the whole page as HTML."""
    pieces = question.pieces
    facts = {
        "explained": f"{question.about}: {question.output:.4f}",
        "tokens": str(len(question.tokens)),
        "leaving one out": question.removal,
        "computed in": question.run.dtype,
    }
    parts = [f"<main>\n<h1>{escape(model)}</h1>", f"<blockquote>{escape(text)}</blockquote>", "<dl>"]
    parts += [f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items()]
    parts += [
        "</dl>",
        "<p>Red and a plus: for it. Blue and a minus: against it. As strong as its share of the method's largest.</p>",
    ]
    parts += [_section(answer, pieces) for answer in answers]
    given = [answer for answer in answers if not answer.reason]
    parts += [_table(pieces, given)] if given else []
    return document(f"{model}: {text}", "\n".join([*parts, "</main>"]), STYLE)


def _section(answer: Answer, pieces: Sequence[Piece]) -> str:
    name = escape(answer.method)
    if answer.reason:
        return f"<section><h2>{name}</h2>\n<p>{escape(answer.reason)}</p></section>"
    r = "" if answer.loo_r is None else f", LOO r {answer.loo_r:.2f}"
    ledger = ""
    if answer.ledger is not None:
        ledger = (
            f"\n<details><summary>{escape(kept_in_one_line(answer.ledger))}</summary>"
            f"<pre>{escape(answer.ledger.table())}</pre></details>"
        )
    return (
        f"<section><h2>{name}<small>sum {signed(answer.total, answer.largest)}{r}</small></h2>\n"
        f'<p class="tokens" role="img" aria-label="{escape(_in_words(answer, pieces))}">{_tokens(answer, pieces)}</p>'
        f"{ledger}</section>"
    )


def _tokens(answer: Answer, pieces: Sequence[Piece]) -> str:
    parts = []
    for (text, space), score in zip(pieces, answer.scores, strict=True):
        background = colour(score, answer.largest)
        parts.append(
            f'{space}<span class="token" style="background:{background}" title="{score:.6g}">{escape(text)}'
            f"<small>{signed(score, answer.largest)}</small></span>"
        )
    return "".join(parts).strip()


def _in_words(answer: Answer, pieces: Sequence[Piece]) -> str:
    """What a screen reader says in place of the colours; the table below has everything."""
    order = sorted(range(len(pieces)), key=lambda place: -abs(answer.scores[place]))[:STRONGEST_NAMED]
    said = ", ".join(f"{pieces[place].text} {signed(answer.scores[place], answer.largest)}" for place in order)
    return f"Heatmap of {answer.method}. Strongest: {said}."


def _table(pieces: Sequence[Piece], answers: Sequence[Answer]) -> str:
    head = "".join(f'<th scope="col">{escape(answer.method)}</th>' for answer in answers)
    rows = []
    for place, piece in enumerate(pieces):
        cells = "".join(f"<td>{answer.scores[place]:.6g}</td>" for answer in answers)
        rows.append(f'<tr><th scope="row">{place + 1}. {escape(piece.text)}</th>{cells}</tr>')
    sums = "".join(f"<td>{answer.total:.6g}</td>" for answer in answers)
    return (
        '<h2>All numbers</h2>\n<div class="wide" tabindex="0" role="region" aria-label="All numbers"><table>'
        "<caption>Relevance of each token by each method</caption>\n"
        f'<thead><tr><th scope="col">token</th>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + f'\n<tr><th scope="row">sum</th>{sums}</tr>\n</tbody></table></div>'
    )
