"""What a stranger could write wherever a text is taken, and a run in which it stands everywhere."""

from __future__ import annotations

import re
from typing import Any

from axioms.record import CheckRecord, Drift, MethodRecord, RuleRecord, RunRecord
from tests.records import make_check, make_claim, make_error, make_run, quantity

SCRIPT = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
QUOTES = "\" onmouseover=\"window.ran = 3\" ' autofocus onfocus='window.ran = 4' x='"
TEMPLATE = "{{ 7 * 7 }} {% raw %} javascript:window.ran=5 <!-- ]]> &amp; &#60;"
ESCAPES = "\x1b[31mred\x07"
LATEX = r"\input{/etc/passwd} \write18{touch ran} \end{document} % $x^2$ $\frac{1}$ #1 & ~ \def\x{\x}\x ^^M"
MARKDOWN = "\\<img src=x> [here](javascript:1) ![](//x) a|b **bold** `"
HOSTILE = f"$\\frac{{1}}$ <b> {SCRIPT} {QUOTES} {TEMPLATE} {ESCAPES} {LATEX} {MARKDOWN}"
PIECES = (SCRIPT, QUOTES, TEMPLATE, LATEX, MARKDOWN)

TAG = re.compile(r"<(?=[A-Za-z/!?])(?!/?u>)|\]\((?!tables|index\.html)|&(?=#?\w+;)")
"""What begins a tag, a link or an entity in Markdown, but for our own: `<u>` is how a paper marks second place."""


def live(markdown: str) -> list[str]:
    """Return what begins something in Markdown and has no backslash before it."""
    return TAG.findall(re.sub(r"\\[!-/:-@\[-`{-~]", "", markdown))


def hostile_check(**changed: Any) -> CheckRecord:
    """A check in which every text is hostile, but for what is changed."""
    tokens = {"tokens": [HOSTILE, "</span>"], "scores": [0.5, -1.0]}
    place = {"file": f"specs/{HOSTILE}.yaml", "line": 1}
    fields = {
        "id": f"specs/{HOSTILE}.yaml::conservation[{HOSTILE}]",
        "spec": f"specs/{HOSTILE}.yaml",
        "place": place,
        "claim": HOSTILE,
        "source": HOSTILE,
        "note": HOSTILE,
        "subject": HOSTILE,
        "axiom": "loo_correlation",
        "method": HOSTILE,
        "options": {HOSTILE: HOSTILE},
        "because": HOSTILE,
        "verdict": "violated",
        "passed": False,
        "reason": HOSTILE,
        "worst": HOSTILE,
        "metrics": {HOSTILE: quantity(0.5, n=2), "pearson.mean": quantity(0.5, [0.4, 0.6], 2)},
        "reported": {HOSTILE: 0.25},
        "bounds": [{"metric": HOSTILE, "bound": HOSTILE, "verdict": "violated", **quantity(0.5, n=2), "place": place}],
        "examples": [{"kind": "text", **tokens, "output": 1.5}],
        "table": {"name": "table-2", "block": HOSTILE},
    }
    return make_check(**{**fields, **changed})


def hostile_claim(key: str | None, **changed: Any) -> Any:
    """A claim, of a paper's scorecard or not, of which every text is hostile."""
    made = make_claim(key, status="open", claim=HOSTILE, subject=HOSTILE, id=f"specs/{HOSTILE}.yaml{key}", **changed)
    return made if made.row is None else made.model_copy(update={"row": made.row.model_copy(update={"claim": HOSTILE})})


def hostile_run(**changed: Any) -> RunRecord:
    """A run that feeds every table, figure and page, each with hostile texts."""
    square = [[0.0, 1.0], [1.0, 0.0]]
    image = {"kind": "image", "name": HOSTILE, "image": square, "left": square, "right": square}
    words = {"tokens": [HOSTILE, "</span>"], "scores": [0.5, -1.0], "truth": [0], "words": [0, 1]}
    sentence = {"kind": "sentence", **words, "forms": [HOSTILE, "are"], "difference": 2.0}
    truth = {f"{name}.mean": quantity(0.5) for name in ("pg", "mrr", "rma", "pta")}
    chance = {"mrr_over_chance.mean": quantity(0.1, [-0.1, 0.2])}
    curve = {"mean": [1.0, 0.4, 0.0], "n": 2}
    sweep = {"mean": [0.5, 0.5], "n": 2}
    layers = {name: quantity([0.4, 0.5], n=2) for name in ("single", "front_to_back", "back_to_front")}
    row = {"layer": 1, "operation": HOSTILE, "came_in": 1.0, "went_out": 1.0, "absorbed": {"bias": 0.4}}
    account = {"n": 1, "output": 1.0, "features": 0.6, "absorbed": {"bias": 0.4}, "unexplained": 0.0, "rows": [row]}
    table: dict[str, Any] = {"table": {"name": "table-a3", "block": HOSTILE}}
    no_table: dict[str, Any] = {"table": None, "examples": []}
    rewritten = {"axiom": "implementation_invariance", "metrics": {"relative_gap.max": quantity(0.5)}, **no_table}
    checks = [
        hostile_check(),
        hostile_check(axiom="cost", metrics={"passes": quantity(1.5)}, **no_table),
        hostile_check(axiom="perturbation", curves={"morf_curve": curve, "lerf_curve": curve}, **no_table),
        hostile_check(axiom="conservation", table=None, examples=[image], accounts={"": account}),
        hostile_check(axiom="ground_truth", metrics=truth | chance, table=None, examples=[sentence]),
        hostile_check(axiom="bypass_gain", metrics=layers, curves={"single": sweep}, examples=[], **table),
        hostile_check(axiom="purity", verdict="refused", metrics={}, bounds=[], **no_table),
        *(hostile_check(rewrite=f"{number} {HOSTILE}", **rewritten) for number in range(3)),
    ]
    rules = {"linear": RuleRecord(name=HOSTILE, options={}), "softmax": None}
    drift = {"compared": 1, "failed": True, "versions": [], "said": [HOSTILE], "header": ["", "check"]}
    content = {
        "status": "failed",
        "errors": [make_error(error=HOSTILE, claim=HOSTILE, subject=HOSTILE, method=HOSTILE, where=HOSTILE)],
        "claims": [hostile_claim("C1"), hostile_claim(None)],
        "methods": {HOSTILE: MethodRecord(passes=1.0, rules=rules)},
        "baseline": Drift(**drift, rows=[["drift", HOSTILE]]),
    }
    ordered = [check.model_copy(update={"order": order}) for order, check in enumerate(checks)]
    return make_run(*ordered, **{**content, **changed})
