"""The card's page in a real browser, at the size of a desk and of a hand, by day and by night."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.card.measure import Absence, Measured
from axioms.commands.card.write import Writer
from axioms.record import CheckRecord
from axioms.spec.added import read_method
from tests.records import make_check, quantity
from tests.report.browsing import axe_source, show, start_browser

SIZES = {"desktop": (1280, 1400), "phone": (390, 844)}
METHODS = ("attnlrp", "a_rule_of_ones_own_with_a_long_name", "loo", "cp_lrp")
VALUES = [0.2, 0.5, 0.9, 0.4]


def shown(methods: Sequence[str] = METHODS) -> Iterator[CheckRecord]:
    """Every kind of number that a card has, of four methods."""
    for number, method in enumerate(methods):
        values = [value + number / 20 for value in VALUES]
        for spec, axiom, metrics, label in (
            ("specs/sentiment.yaml", "loo_correlation", ("pearson",), None),
            ("specs/sentiment.yaml", "perturbation", ("delta",), None),
            ("specs/linear_attention.yaml", "loo_correlation", ("left.pearson", "right.pearson"), None),
            ("specs/agreement.yaml", "ground_truth", ("mrr", "mrr_over_chance", "pg", "rma", "pta"), None),
            ("card/families.yaml", "loo_correlation", ("pearson",), "bert"),
            ("card/families.yaml", "perturbation", ("delta",), "bert"),
        ):
            yield of(method, spec, axiom, label=label, values={metric: values for metric in metrics})
        minilm = "specs/remedies_minilm.yaml"
        yield of(method, minilm, "cost", metrics={"passes": quantity(1.0 + number**2, n=1)})
        r = {"pearson.mean": quantity(0.5 + number / 10, [0.4, 0.6 + number / 10], 4)}
        yield of(method, minilm, "loo_correlation", metrics=r)
        rows = [{"layer": 1, "operation": "softmax", "came_in": 1.0, "went_out": 0.6, "absorbed": {"softmax": 0.4}}]
        account = {
            "n": 4,
            "output": 1.0,
            "features": 0.6,
            "absorbed": {"softmax": 0.4},
            "unexplained": 0.0,
            "rows": rows,
        }
        yield of(method, minilm, "conservation", accounts={"": account})


def of(method: str, spec: str, axiom: str, **fields: Any) -> CheckRecord:
    label = fields.get("label") or ""
    return make_check(id=f"{spec}::{axiom}[{label}{method}]", spec=spec, axiom=axiom, method=method, **fields)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    matrix = "specs/invariance_matrix.yaml"
    judged = [
        of("attnlrp", "specs/always.yaml", "purity", label="bert"),
        of(
            "attnlrp",
            "specs/always.yaml",
            "precision",
            label="bert",
            values={"relative_gap": [1e-7], "amplification": [3.0]},
        ),
        of("attnlrp", matrix, "implementation_invariance", rewrite="fold_norm"),
        of("attnlrp", matrix, "implementation_invariance", rewrite="written_gelu", verdict="violated"),
    ]
    measured = Measured(METHODS[0], METHODS[1:], judged=judged, shown=list(shown()), is_searched=True)
    why = "no rule covers 'exp' in module 'bert.encoder.layer.0.attention.self'; give the composite an entry for it."
    measured.undefined.append(
        Absence("invariance_matrix", "implementation_invariance", "attnlrp", "written_softmax", why)
    )
    measured.missing["sentiment"] = "cannot reach the hub; run `axioms assets fetch minilm` while online."
    stem = tmp_path_factory.mktemp("card") / "card-attnlrp"
    written = Writer(stem, read_method("attnlrp"), "attnlrp", "axioms card attnlrp", "axioms card attnlrp --minutes 10")
    return written.write(measured).page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = start_browser()
    yield started
    started.quit()


@pytest.fixture(params=["desktop-light", "desktop-dark", "phone-light", "phone-dark"])
def opened(request: pytest.FixtureRequest, browser: Any, page: Path) -> Any:
    size, scheme = request.param.split("-")
    width, height = SIZES[size]
    show(browser, page, width=width, height=height, scheme=scheme)
    return browser


def test_nothing_goes_wrong_and_nothing_sticks_out(opened: Any) -> None:
    wide = opened.execute_script(
        "const edge = document.documentElement.clientWidth;"
        "return [document.documentElement.scrollWidth - edge, [...document.querySelectorAll('main *, header *')]"
        ".filter(part => !part.closest('.scroll')).filter(part => part.getBoundingClientRect().right > edge + 1)"
        ".slice(0, 3).map(part => part.outerHTML.slice(0, 200))]"
    )
    assert wide == [0, []]
    assert [line for line in opened.get_log("browser") if line["level"] in ("SEVERE", "WARNING")] == []


def test_it_needs_nothing_beside_it(opened: Any) -> None:
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    titles = opened.execute_script("return [...document.querySelectorAll('h2')].map(title => title.textContent)")
    assert titles == [
        "Axioms",
        "The smallest counterexample to implementation invariance",
        "Closeness to leave-one-out against cost",
        "Leave-one-out and perturbation, beside known methods",
        "Ground truth",
        "Where relevance went",
        "Precision",
        "Rewrites that change no output",
        "Its rules",
        "Where it is not defined",
        "What is not here",
    ]


def test_labels_of_the_figure_do_not_meet(opened: Any) -> None:
    boxes = opened.execute_script(
        "return [...document.querySelectorAll('.plane .label')].map(label => label.getBoundingClientRect())"
        ".map(box => [box.left, box.right, box.top, box.bottom])"
    )
    assert len(boxes) == len(METHODS)
    for at, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[at + 1 :]:
            assert right < other[0] or other[1] < left or bottom <= other[2] + 4 or other[3] <= top + 4


def test_nobody_is_kept_out(opened: Any) -> None:
    """axe-core finds no serious violation."""
    opened.execute_script(axe_source())
    opened.set_script_timeout(60)
    violations = opened.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(result => done("
        "result.violations.filter(rule => ['serious', 'critical'].includes(rule.impact))"
        ".map(rule => [rule.id, rule.nodes.length, rule.nodes[0].html.slice(0, 200), rule.nodes[0].failureSummary])))"
    )
    assert violations == []
