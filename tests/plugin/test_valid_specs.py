"""Specs that are valid and cannot be run: one sentence each, never a stack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from axioms.core.errors import InputError, Problem, SpecError
from axioms.plugin.items import error_text
from axioms.spec import expand_file

SPEC = """claim: Nothing is claimed.
subject:
  model: MODEL
  data: DATA
run: RUN
methods:
  - METHOD
checks:
  - AXIOM
"""
USUAL = {
    "MODEL": "{linear: {weight: [[3, -1]]}}",
    "DATA": "{points: [[1, 1], [2, 5]]}",
    "RUN": "{dtype: float64}",
    "METHOD": "gradient",
    "AXIOM": "{axiom: conservation, record: [ratio.mean]}",
}
HUGE = "99999999999999999999999"
AT_VALIDATION = {
    "a negative seed": ({"RUN": "{seed: -1}"}, "specs/mine.yaml:5: run.seed: input should be greater than or equal"),
    "a seed of more than 64 bits": ({"RUN": f"{{seed: {HUGE}}}"}, "specs/mine.yaml:5: run.seed: input should be less"),
    "a huge batch": (
        {"RUN": f"{{batch_size: {HUGE}}}"},
        "specs/mine.yaml:5: run.batch_size: input should be less",
    ),
    "an infinite epsilon": (
        {"METHOD": "{attnlrp: {epsilon: .inf}}"},
        "specs/mine.yaml:7: methods[0]: option 'epsilon' has inf; NaN or infinity is nothing to compute with.",
    ),
    "an option of more than 64 bits": (
        {"METHOD": f"{{integrated_gradients: {{steps: {HUGE}}}}}"},
        f"specs/mine.yaml:7: methods[0]: option 'steps' has {HUGE}, which does not fit into 64 bits.",
    ),
    "more nodes than there is memory for": (
        {"METHOD": "{block_lrp: {nodes: 2147483648}}"},
        "specs/mine.yaml:7: methods[0]: option 'nodes': Input should be less than or equal to 2000; found 2147483648.",
    ),
    "more samples than there is memory for": (
        {"AXIOM": "{axiom: {lds: {samples: 2147483648}}}"},
        "specs/mine.yaml:9: checks[0].axiom: option 'samples': Input should be less than or equal to 100000;",
    ),
    "a model's option of more than 64 bits": (
        {"MODEL": f"{{tiny: {{architecture: bert, seed: {HUGE}}}}}"},
        f"specs/mine.yaml:3: subject.model: option 'seed' has {HUGE}, which does not fit into 64 bits.",
    ),
    "an axiom's infinite option": (
        {"AXIOM": "{axiom: {engine_agreement: {epsilon: .inf}}}"},
        "specs/mine.yaml:9: checks[0].axiom: option 'epsilon' has inf;",
    ),
    "an axiom's negative seed": (
        {"AXIOM": "{axiom: {random_logit: {seed: -1}}}"},
        "specs/mine.yaml:9: checks[0].axiom: option 'seed': Input should be greater than or equal to 0; found -1.",
    ),
    "a method's negative seed": (
        {"METHOD": "{random: {seed: -1}}"},
        "specs/mine.yaml:7: methods[0]: option 'seed': Input should be greater than or equal to 0; found -1.",
    ),
    "a rule's option that does not exist": (
        {"METHOD": "{lrp: {rules: [{on: product, rule: {uniform: {share: 0.3}}}]}}"},
        "specs/mine.yaml:7: methods[0]: option 'rules': Value error, rule 'uniform' has no option 'share'.",
    ),
}
AT_THE_CHECK = {
    **{
        f"no engines: {method}": (
            {"METHOD": method, "AXIOM": "{axiom: engine_agreement}"},
            f"method '{method}' has no option 'engine', by which this",
        )
        for method in ("gradient", "loo", "captum:Saliency", "zennit:EpsilonPlus")
    },
    "too many features": (
        {"DATA": "{points: [[1, 1, 1]]}"},
        "the model raised RuntimeError: mm: mat1 and mat2 shapes",
    ),
    "points for a BERT": (
        {"MODEL": "{tiny: {architecture: bert}}"},
        "the model raised RuntimeError: Expected tensor for argument #1 'indices'",
    ),
    "a folder that is not there": ({"MODEL": "./nofolder"}, "'./nofolder' is neither a folder beside the spec nor a"),
    "a name that cannot be": ({"MODEL": "a--b/..c"}, "'a--b/..c' is neither a folder beside the spec nor a name on"),
}


def spec_with(changes: dict[str, str]) -> str:
    text = SPEC
    for name, value in {**USUAL, **changes}.items():
        text = text.replace(name, value)
    return text


def run(pytester: pytest.Pytester, changes: dict[str, str]) -> tuple[int, str]:
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(spec_with(changes))
    result = pytester.runpytest("specs")
    return int(result.ret), result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("case", AT_VALIDATION)
def test_what_can_be_known_before_is_an_error_of_the_spec(pytester: pytest.Pytester, case: str) -> None:
    changes, sentence = AT_VALIDATION[case]
    code, text = run(pytester, changes)
    assert sentence in text
    assert code == 2
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


def test_a_seed_may_be_as_large_as_a_spec_takes(pytester: pytest.Pytester) -> None:
    changes = {"RUN": f"{{seed: {2**63 - 1}}}", "METHOD": "random"}
    assert run(pytester, changes)[0] == 0


def test_a_feature_alone_must_stay_at_its_place(pytester: pytest.Pytester) -> None:
    """Deletion closes a text up over what is gone."""
    texts = {"MODEL": "{tiny: {architecture: llama}}", "DATA": "{random-tokens: {n: 2, length: 5}}\n  remove: delete"}
    code, text = run(pytester, {**texts, "AXIOM": "{axiom: sensitivity}"})
    assert code == 1
    assert "removal by delete closes the text up, so that a feature which is left alone is at another place" in text


@pytest.mark.parametrize("case", AT_THE_CHECK)
def test_what_cannot_is_the_failure_of_its_check(pytester: pytest.Pytester, case: str) -> None:
    changes, sentence = AT_THE_CHECK[case]
    code, text = run(pytester, changes)
    _, _, failure = text.partition("= FAILURES =")
    assert failure.splitlines()[2].startswith(sentence), failure[:2000]
    assert failure.splitlines()[3] == "check     specs/mine.yaml:9"
    assert text.count("specs/mine.yaml:9") == 1
    assert code == 1
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


def test_junit_has_the_place_too(pytester: pytest.Pytester) -> None:
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(spec_with(AT_THE_CHECK["too many features"][0]))
    pytester.runpytest("specs", "--junitxml", "junit.xml").assert_outcomes(failed=1)
    (failure,) = ElementTree.parse(pytester.path / "junit.xml").iter("failure")
    for said in (failure.text, failure.get("message")):
        assert said is not None
        assert said.startswith("the model raised RuntimeError: mm: mat1 and mat2 shapes")
        assert said.endswith("\ncheck     specs/mine.yaml:9")


def test_a_place_that_an_error_names_itself_is_said_once(tmp_path: Path, write_spec: Callable[[], Path]) -> None:
    file = write_spec()
    check = expand_file(file).checks[0]
    error = SpecError([Problem(file, check.place.line, "checks[0]", "it is wrong.")])
    assert error_text(error, check) == str(error)
    assert error_text(InputError("it is wrong."), check) == f"it is wrong.\ncheck     {file}:{check.place.line}"
