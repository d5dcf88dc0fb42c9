"""A rule or a method of somebody else's that is wrong: one sentence that says what to do, and nothing else is lost."""

from __future__ import annotations

import pytest

from axioms.record import read_record

METHODS = '''
import axioms, torch

@axioms.method("of_wrong_shape")
def of_wrong_shape(model, inputs, target):
    return torch.zeros(1, 1)

@axioms.method("not_a_number")
def not_a_number(model, inputs, target):
    return inputs.features * float("nan")

@axioms.method("raising")
def raising(model, inputs, target):
    return {}["x"]

@axioms.method("changing")
def changing(model, inputs, target):
    for parameter in model.module.parameters():
        parameter.data.mul_(1.5)
    return inputs.features * 1.0

@axioms.method("nothing")
def nothing(model, inputs, target):
    """Forgets to return."""
'''
RULES = """
import axioms

@axioms.rule("of_wrong_shape", on="linear")
def of_wrong_shape(operation):
    return operation.forward()[..., :1]

@axioms.rule("not_a_number", on="linear")
def not_a_number(operation):
    return operation.forward() * float("nan")

@axioms.rule("raising", on="linear")
def raising(operation):
    raise KeyError("x")

@axioms.rule("changing", on="linear")
def changing(operation):
    value = operation.forward()
    operation.weight.data.mul_(1.5)
    return value

@axioms.rule("doubling", on="linear")
def doubling(operation):
    return 2 * operation.forward()

for name in ("of_wrong_shape", "not_a_number", "raising", "changing", "doubling"):
    composite = axioms.composite_of("attnlrp").then(axioms.Entry("linear", axioms.RuleRef(name)))
    axioms.composite_method(f"lrp_{name}", composite)
"""
SPEC = """claim: What is wrong with one method costs the others nothing.
subject:
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 2, length: 6}}
methods: [NAMES, attnlrp, loo]
checks:
  - {axiom: conservation, expect: {ratio.mean: {gt: -1000}}}
"""
IN_MODULE = "in module 'bert.encoder.layer.0.attention.self.query'"
SENTENCES = {
    "of_wrong_shape": "returned scores of shape (1, 1); return (2, 6), one for each example and feature, or",
    "not_a_number": "returned nan for feature 0 of example 0, and 12 of 12 scores are not finite; look for a division",
    "raising": "raised KeyError: 'x' (my_methods.py, line 13); mend it there.",
    "changing": "(bert.embeddings.word_embeddings.weight and 40 more), which have been put back: it must leave",
    "nothing": "must return a tensor of scores, not NoneType.",
    "lrp_of_wrong_shape": f"{IN_MODULE} returned shape (2, 6, 1); return a tensor of shape (2, 6, 16).",
    "lrp_not_a_number": f"{IN_MODULE} returned NaN or infinity; return that of operation.forward() with another",
    "lrp_raising": f"{IN_MODULE} raised KeyError: 'x' (my_rules.py, line 13); mend it there.",
    "lrp_changing": "method 'lrp_changing' changed the model's weights",
    "lrp_doubling": f"{IN_MODULE} changed the value of the operation; return that of operation.forward()",
}


@pytest.fixture
def outside(pytester: pytest.Pytester) -> pytest.Pytester:
    """A repository with methods and rules that are wrong in every way."""
    pytester.makepyfile(my_methods=METHODS, my_rules=RULES)
    pytester.makeini("[pytest]\naxioms_import = my_methods my_rules\n")
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(SPEC.replace("NAMES", ", ".join(SENTENCES)))
    return pytester


def test_each_fault_is_a_sentence_and_the_others_are_kept(outside: pytest.Pytester) -> None:
    done = outside.runpytest_subprocess("specs")
    done.assert_outcomes(passed=2, failed=len(SENTENCES))
    text = done.stdout.str()
    for method, sentence in SENTENCES.items():
        _, _, failure = text.partition(f"_ conservation[{method}] _")
        assert sentence in failure.split("\n")[1], method
    assert "Traceback" not in text
    alone = outside.runpytest_subprocess("specs", "--axioms-methods", "attnlrp", "--axioms-report", "reports/alone")
    alone.assert_outcomes(passed=1, deselected=len(SENTENCES) + 1)
    among, by_itself = (read_record(outside.path / "reports" / name) for name in ("latest", "alone"))
    (ratio,) = [check.metrics["ratio.mean"].value for check in among.checks if check.method == "attnlrp"]
    assert by_itself.checks[0].metrics["ratio.mean"].value == ratio


WRONG = """
import axioms
start, ref = axioms.composite_of("attnlrp"), axioms.RuleRef
axioms.composite_method("misplaced", start.then(axioms.Entry("softmax", ref("gamma"))))
axioms.composite_method("misspelt", start.then(axioms.Entry("linear", ref("gamma", {"gama": 2}))))
"""
PROBLEMS = {
    "{lrp: {as: a, rules: [{on: softmax, rule: doubling}]}}": "rule 'doubling' is for linear operations, not for 'soft",
    "{lrp: {as: b, rules: [{on: linear, rule: {doubling: {by: 3}}}]}}": "rule 'doubling' has no option 'by'",
    "{lrp_doubling: {by: 3}}": "'lrp_doubling' has no option 'by'",
    "{raising: {share: 0.5}}": "'raising' has no option 'share'",
    "lrp_unknown": "unknown method 'lrp_unknown'. If it is yours, load its module: --axioms-import MODULE",
    "misplaced": "method 'misplaced': rule 'gamma' is for linear operations, not for 'softmax'; for that there are:",
    "misspelt": "method 'misspelt': rule 'gamma' has no option 'gama'. Did you mean 'gamma'?",
}


def test_a_wrong_kind_or_option_is_an_error_of_the_spec(outside: pytest.Pytester) -> None:
    outside.makepyfile(my_wrong=WRONG)
    (outside.path / "specs" / "mine.yaml").write_text(SPEC.replace("NAMES", ",\n  ".join(PROBLEMS)))
    done = outside.runpytest_subprocess("specs", "--axioms-import", "my_wrong")
    assert done.ret == 2
    lines = [line for line in done.stdout.str().splitlines() if line.startswith("specs/mine.yaml:")]
    for number, (line, sentence) in enumerate(zip(lines, PROBLEMS.values(), strict=True)):
        assert line.startswith(f"specs/mine.yaml:{5 + number}: methods[{number}]")
        assert sentence in line


def test_a_module_that_cannot_be_loaded_is_an_error_of_the_command_line(outside: pytest.Pytester) -> None:
    outside.makepyfile(my_wrong="import axioms\n@axioms.method('attnlrp')\ndef attnlrp(model, inputs, target): ...\n")
    done = outside.runpytest_subprocess("specs", "--axioms-import", "my_wrong")
    assert done.ret == 4
    (line,) = [line for line in done.stderr.str().splitlines() if line]
    assert line.startswith(
        "ERROR: --axioms-import: cannot import 'my_wrong': method 'attnlrp' is already registered by "
    )
