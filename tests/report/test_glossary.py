"""Words are explained where they first appear."""

from __future__ import annotations

import axioms.properties  # noqa: F401 (registers the axioms)
from axioms.core.registry import AXIOMS
from axioms.report.page.glossary import Explainer, entries


def test_every_axiom_and_every_word_of_the_papers_is_explained() -> None:
    assert set(entries()) >= {"LRP", "LOO", "MoRF", "LeRF"}
    ours = {name for name in AXIOMS if AXIOMS.get(name).function.__module__.startswith("axioms.")}
    assert ours <= set(entries())


def test_a_word_links_to_its_meaning_once() -> None:
    explain = Explainer()
    assert explain("CP-LRP over LRP & LRP") == (
        '<a class="term" href="#term-cp-lrp">CP-LRP</a> over <a class="term" href="#term-lrp">LRP</a> &amp; LRP'
    )
    assert explain("LRP again, LRPx, <b>") == "LRP again, LRPx, &lt;b&gt;"


def test_anchors_are_distinct() -> None:
    anchors = [anchor for anchor, _ in entries().values()]
    assert len(set(anchors)) == len(anchors)
