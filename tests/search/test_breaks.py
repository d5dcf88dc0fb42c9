"""The falsifier of exact axioms finds, shrinks, and hands over a spec that reproduces what it found."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from axioms.commands.main import main
from axioms.core.registry import AXIOMS, METHODS
from axioms.run.runner import Runner
from axioms.search.breaks import exact_axioms, falsify_axiom
from axioms.search.instances import STRATEGIES, Instance
from axioms.search.strategies import has_block
from axioms.search.trial import Trial
from axioms.spec import expand_file
from axioms.subjects.models.expressions import parse


@pytest.mark.parametrize(
    ("method", "axiom"),
    [("lrp_gamma", "linearity"), ("attnlrp", "symmetry"), ("gradient_l1", "scale"), ("lrp_gamma", "null_player")],
)
def test_a_break_is_written_as_a_spec_that_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, axiom: str
) -> None:
    started = time.process_time()
    assert main(["falsify", "--method", method, "--axiom", axiom, "--seed", "0", "--output", str(tmp_path)]) == 1
    assert time.process_time() - started < 60
    said = capsys.readouterr().out
    assert said.startswith(f"{method} breaks {axiom}: ")
    (file,) = tmp_path.iterdir()
    assert file.name == f"{method}_{axiom}.yaml"
    assert file.name in said
    expanded = expand_file(file)
    (spec,) = expanded.specs
    assert spec.subject.model is not None
    assert len(spec.subject.model.options["inputs"]) <= 3
    runner = Runner()
    assert all(runner.run(check).judgement.passed for check in expanded.checks)
    assert any(check.violation is not None for check in expanded.checks)
    assert len(spec.methods) == 2, "beside it a method that keeps the axiom"


def test_the_same_seed_finds_the_same() -> None:
    first, second = (falsify_axiom("cp_lrp", "symmetry", seed=3)[0] for _ in range(2))
    assert first is not None
    assert first == second


def test_none_found_says_how_many_were_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """So many expressions, and as many attention blocks."""
    arguments = ["falsify", "--method", "loo", "--axiom", "linearity", "--examples", "30", "--output", str(tmp_path)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith("loo, linearity: no counterexample, none found in 60 examples (")
    assert "put linearity to the method" in said
    assert not list(tmp_path.iterdir())


def test_an_unknown_axiom_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["falsify", "--method", "loo", "--axiom", "linearty"]) == 2
    assert "Did you mean 'linearity'?" in capsys.readouterr().err


def test_all_asks_every_axiom(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["falsify", "--method", "loo", "--axiom", "all", "--examples", "8", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert all(axiom in said for axiom in exact_axioms())
    assert "loo: no counterexample" in said


def measured(method: str, axiom: str, point: dict[str, float], *expressions: str) -> float | None:
    return Trial(METHODS.get(method), AXIOMS.get(axiom), Instance(tuple(map(parse, expressions)), point)).measure()


@pytest.mark.parametrize("axiom", exact_axioms())
def test_attention_blocks_are_drawn_for_every_axiom(axiom: str) -> None:
    """What is drawn has attention in it and at most three features, and some of it says something of a method."""
    _, blocks = STRATEGIES[axiom]
    judged = []

    @settings(max_examples=8, derandomize=True, database=None, deadline=None)
    @given(blocks())
    def draw(instance: Instance) -> None:
        assert any(has_block(expression) for expression in instance.expressions)
        assert len(instance.point) <= 3
        judged.append(Trial(METHODS.get("gradient_x_input"), AXIOMS.get(axiom), instance).measure() is not None)

    draw()
    assert any(judged)


def test_a_fault_that_only_attention_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that is off by one percent where the model attends keeps every axiom on other expressions."""
    original = METHODS.get("gradient_x_input")

    def faulty(model: Any, inputs: Any, target: Any) -> Any:
        scores = original.function(model, inputs, target).clone()
        module = getattr(model.module, "inner", model.module)
        if any(has_block(expression) for expression in module.expressions):
            scores[:, 0] += 0.01 * scores.abs().amax(dim=1)
        return scores

    faulty.__module__ = original.function.__module__
    monkeypatch.setitem(METHODS._entries, "gradient_x_input", replace(original, function=faulty))
    broken, search = falsify_axiom("gradient_x_input", "symmetry", examples=20)
    assert broken is not None
    assert search.tried > 20
    assert "attention(" in broken.expressions[0]


def test_a_trial_measures_what_a_spec_would() -> None:
    assert measured("attnlrp", "symmetry", {"a": 1.0, "b": 1.0, "c": 1.0}, "a*(b*c)") == 0.5
    assert measured("gradient_x_input", "completeness", {"a": 2.0}, "a*a") == 1.0
    assert measured("gradient_x_input", "sensitivity", {"a": 2.0}, "1 - relu(1 - a)") == 1.0


@pytest.mark.parametrize(
    ("axiom", "expressions"),
    [
        ("sensitivity", ["relu(a - 1)"]),  # at its kink
        ("symmetry", ["a + 2*b"]),  # nothing to keep
        ("completeness", ["a - a"]),  # nothing to explain
        ("scale", ["a - a + 0.0001"]),
    ],
)
def test_a_trial_that_shows_nothing(axiom: str, expressions: list[str]) -> None:
    assert measured("gradient_x_input", axiom, {"a": 1.0, "b": 2.0}, *expressions) is None
