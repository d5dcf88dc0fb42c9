"""An attribution in a notebook: the first examples, each feature with its number or its word."""

from __future__ import annotations

import re

import pytest
import torch

from axioms.engine.attribution import EXAMPLES_SHOWN, NUMBERED, Attribution


def attribution(examples: int, features: int) -> Attribution:
    scores = torch.arange(examples * features, dtype=torch.float64).reshape(examples, features) - 1
    return Attribution(scores, scores.sum(1), scores.sum(1), "a<b")


@pytest.mark.parametrize("examples", [1, 8, 9, 11])
def test_the_first_examples_are_shown_and_the_others_counted(examples: int) -> None:
    page = attribution(examples, 3)._repr_html_()
    assert page.count("<small>output") == min(examples, EXAMPLES_SHOWN) == min(examples, 8)
    more = re.findall(r"and (\d+) more", page)
    assert more == ([str(examples - 8)] if examples > 8 else [])
    assert "<b>a&lt;b</b>" in page


@pytest.mark.parametrize("features", [3, NUMBERED, NUMBERED + 1])
def test_features_have_numbers_up_to_a_limit(features: int) -> None:
    page = attribution(1, features)._repr_html_()
    texts = re.findall(r">([^<>]*)</span>", page)
    assert texts == ([str(place) for place in range(1, features + 1)] if features <= 64 else ["&nbsp;"] * features)
    titles = re.findall(r'title="(\d+): ([^"]*)"', page)
    assert titles == [(str(place + 1), f"{place - 1:.4g}") for place in range(features)]


def test_features_have_words_where_there_are_any() -> None:
    made = attribution(2, 3)
    page = made.labelled([["<s>", "b", "c"], ["d", "e", "f"]])._repr_html_()
    assert re.findall(r">([^<>]*)</span>", page) == ["&lt;s&gt;", "b", "c", "d", "e", "f"]
    assert "output 0, sum of relevance 0<" in page
    assert "output 9, sum of relevance 9<" in page
    long = attribution(1, NUMBERED + 1).labelled([["x"] * (NUMBERED + 1)])
    assert "&nbsp;" not in long._repr_html_()
    for wrong in ([["a", "b", "c"]], [["a", "b"], ["a", "b"]], [["a"] * 3, ["b"] * 4]):
        with pytest.raises(ValueError, match="there are scores of 2 x 3 features"):
            made.labelled(wrong)


def test_an_example_without_features_is_shown_without_any() -> None:
    page = Attribution(torch.zeros(1, 0), torch.tensor([2.0]), torch.zeros(1), "loo")._repr_html_()
    assert "<span" not in page
    assert "sum of relevance 0<" in page
