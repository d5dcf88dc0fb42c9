"""The falsifier finds, shrinks, and hands over a spec that reproduces what it found."""

from __future__ import annotations

import builtins
import re
import time
from pathlib import Path
from typing import Any

import pytest

from axioms.commands.main import main
from axioms.core.entries import Method
from axioms.core.errors import NotDefined
from axioms.core.registry import METHODS
from axioms.run.runner import Runner
from axioms.search.falsify import falsify, is_same, peeled
from axioms.search.spec import SCHEMA, write_spec
from axioms.search.strategies import Example
from axioms.spec import expand_file
from axioms.subjects.models.expressions import Binary, parse, walk


def test_attnlrp_is_falsified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.process_time()
    assert main(["falsify", "--method", "attnlrp", "--seed", "0", "--output", str(tmp_path / "specs")]) == 1
    assert time.process_time() - started < 60
    said = capsys.readouterr().out
    assert said.startswith("attnlrp is not implementation invariant.")
    (file,) = (tmp_path / "specs").iterdir()
    assert file.name in said
    expanded = expand_file(file)
    pair = expanded.specs[0].subject.pair
    assert pair is not None
    assert pair.left is not None
    assert len(pair.left.options["inputs"]) <= 3
    assert pair.left.options["values"] in said
    assert pair.right is not None
    for side in (pair.left, pair.right):
        nodes = walk(parse(side.options["values"]))
        assert sum(isinstance(node, Binary) and node.sign == "*" for node in nodes) <= 2
    runner = Runner()
    results = [runner.run(check) for check in expanded.checks]
    assert all(result.judgement.passed for result in results)
    assert any(check.violation is not None for check in expanded.checks)


@pytest.mark.parametrize("in_checkout", [True, False])
def test_an_editor_is_led_to_the_schema_of_a_checkout_alone(
    in_checkout: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if in_checkout:
        SCHEMA.parent.mkdir(parents=True)
        SCHEMA.write_text("{}")
    counterexample = falsify("attnlrp", seed=0)
    assert counterexample is not None
    first, *_ = write_spec(counterexample, Path("specs", "counterexample")).read_text().splitlines()
    line = "# yaml-language-server: $schema=../../axioms/spec/schema.json"
    assert (first == line) if in_checkout else first.startswith("claim:")


def test_the_same_seed_finds_the_same() -> None:
    one, other = (falsify("cp_lrp", seed=3, examples=60) for _ in range(2))
    assert one is not None
    assert one == other


def test_integrated_gradients_is_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["falsify", "--method", "integrated_gradients", "--examples", "60", "--output", str(tmp_path)]
    assert main(arguments) == 0
    said = re.search(r"none found in (\d+) examples \((\d+) of them put", capsys.readouterr().out)
    assert said is not None
    assert 40 < int(said[2]) <= int(said[1]) <= 120  # so many expressions, and as many blocks
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["zennit:EpsilonPlus", "captum:LRP"])
def test_a_method_that_needs_modules_is_not_said_to_hold(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["falsify", "--method", method]) == 2
    said = capsys.readouterr()
    assert f"no example exercises {method}: it changes modules, by hooks" in said.err
    assert "no counterexample" not in said.out


def test_a_method_that_no_example_exercises_is_not_said_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(model: Any, inputs: Any, target: Any) -> None:
        raise NotDefined("not for this model.")

    monkeypatch.setitem(METHODS._entries, "refusing", Method("refusing", refuse))
    with pytest.raises(NotDefined, match="none of 40 examples exercised refusing"):
        falsify("refusing", examples=20)  # 20 expressions and 20 blocks


def test_an_unknown_method_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["falsify", "--method", "attnlpr"]) == 2
    assert "Did you mean 'attnlrp'?" in capsys.readouterr().err


def test_without_hypothesis_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("hypothesis"):
            raise ModuleNotFoundError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["falsify", "--method", "loo"]) == 2
    assert "pip install hypothesis" in capsys.readouterr().err


def test_what_surrounds_the_step_is_peeled_off() -> None:
    left, right = parse("gelu(c + (a*(a*b)))"), parse("gelu(c + ((a*a)*b))")
    example = Example(left, right, "associativity", {"a": 1.0, "b": 1.0, "c": 2.0})
    small = peeled(example, lambda each: True)
    assert (str(small.left), str(small.right)) == ("a*(a*b)", "(a*a)*b")
    assert small.point == {"a": 1.0, "b": 1.0}
    swapped = Example(parse("(a*a)*(b*b)"), parse("(b*b)*(a*a)"), "commutativity", {"a": 1.0, "b": 1.0})
    assert peeled(swapped, lambda each: True) == swapped, "a*a is not b*b, though it is at this point"
    assert is_same(swapped)


@pytest.mark.parametrize("seed", range(5))
def test_every_seed_ends_with_two_products(seed: int) -> None:
    found = falsify("attnlrp", seed=seed)
    assert found is not None
    assert len(found.example.point) <= 3
    for side in (found.example.left, found.example.right):
        assert sum(isinstance(node, Binary) and node.sign == "*" for node in walk(side)) <= 2
