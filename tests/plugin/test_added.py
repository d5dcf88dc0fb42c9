"""A method that the command line adds to every spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.record import read_record

RULES = '''
import axioms

@axioms.rule("half_softmax", on="softmax")
def half_softmax(operation, *, share: float = 0.5):
    """A share of the softmax."""
    value = operation.forward()
    return value.detach() + share * (value - value.detach())

def half_composite(*, share: float = 0.5):
    """AttnLRP with a share of the softmax."""
    entry = axioms.Entry("softmax", axioms.RuleRef("half_softmax", {"share": share}))
    return axioms.composite_of("attnlrp").then(entry)

axioms.composite_method("half_lrp", half_composite)

def plain(model, inputs, target):
    """The features themselves."""
    return inputs.features
'''
SPEC = """claim: c
subjects:
  - {as: half, model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 2, length: 5}}}
  - {as: other, model: {tiny: {architecture: llama}}, data: {random-tokens: {n: 2, length: 5}}}
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - {axiom: batch_invariance, methods: [attnlrp]}
  - {axiom: conservation, violated_by: {attnlrp: {}}, methods: [attnlrp]}
  - {axiom: loo_correlation, record: [pearson.mean]}
compare:
  - {metric: loo_correlation.pearson, better: attnlrp, than: loo, record: true}
"""
HALF = "my_rules:half_lrp"


@pytest.fixture
def specs(pytester: pytest.Pytester) -> Path:
    """A repository with a rule and a spec that does not know it."""
    pytester.makepyfile(my_rules=RULES)
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(SPEC)
    return folder


def test_it_is_checked_for_everything_and_fails_nothing(pytester: pytest.Pytester, specs: Path) -> None:
    done = pytester.runpytest_subprocess("--axioms-method", HALF, "--axioms-method", "my_rules:plain")
    done.assert_outcomes(passed=10 + 2 * 6)
    checks = {check.id.partition("::")[2]: check for check in read_record(pytester.path / "reports" / "latest").checks}
    assert checks["batch_invariance[half-half_lrp]"].verdict == "holds"
    violated = checks["conservation[other-half_lrp]"]
    assert (violated.verdict, violated.passed, violated.violation_claimed) == ("violated", True, False)
    assert checks["loo_correlation[other-python:my_rules.plain]"].verdict == "recorded"
    done.stdout.re_match_lines([r"half_lrp +holds +violated +-?0\.\d+"])


def test_with_options_and_nothing_else(pytester: pytest.Pytester, specs: Path) -> None:
    text = "my_rules:half_lrp: {share: 1.0, as: whole}"
    done = pytester.runpytest_subprocess("--axioms-method", text, "--axioms-only-method")
    done.assert_outcomes(passed=6, deselected=10)
    whole = {
        check.axiom: check
        for check in read_record(pytester.path / "reports" / "latest").checks
        if check.label == "half"
    }
    pytester.runpytest_subprocess("-k", "half-attnlrp and not compare")
    ours = {check.axiom: check for check in read_record(pytester.path / "reports" / "latest").checks}
    r = "pearson.mean"
    assert whole["loo_correlation"].metrics[r].value == pytest.approx(ours["loo_correlation"].metrics[r].value)


def test_claims_turn_verdicts_into_failures(pytester: pytest.Pytester, specs: Path) -> None:
    claims = pytester.path / "rule-claims.yaml"
    claims.write_text(
        'half_lrp:\n  "*conservation[[]half-*": holds\n  conservation: violated\n  batch_invariance: holds\n'
    )
    done = pytester.runpytest_subprocess(
        "--axioms-method", HALF, "--axioms-only-method", "--axioms-expect", "rule-claims.yaml"
    )
    done.assert_outcomes(passed=5, failed=1, deselected=10)
    done.stdout.fnmatch_lines(
        [
            "verdict   violated, and rule-claims.yaml:2 claims holds: *",
            f'rerun     pytest "specs/mine.yaml::conservation[[]half-half_lrp]" --axioms-method {HALF} --axioms-e*',
        ]
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--axioms-method", "my_rules:hlaf_lrp"], "'my_rules' has no function 'hlaf_lrp'"),
        (["--axioms-method", "half_lpr"], "unknown method 'half_lpr'"),
        (
            ["--axioms-method", "my_rules:half_lrp: {shaer: 1}"],
            "'half_lrp' has no option 'shaer'. Did you mean 'share'?",
        ),
        (["--axioms-method", "nowhere:half_lrp"], "cannot import 'nowhere': there is no such module"),
        (["--axioms-only-method"], "add that method by --axioms-method"),
        (
            ["--axioms-method", HALF, "--axioms-expect", "c.yaml"],
            "c.yaml:2: half_lrp.conservation: 'hold' is no verdict.",
        ),
    ],
)
def test_mistakes_are_one_sentence(pytester: pytest.Pytester, specs: Path, options: list[str], sentence: str) -> None:
    (pytester.path / "c.yaml").write_text("half_lrp:\n  conservation: hold\n")
    done = pytester.runpytest_subprocess(*options)
    assert done.ret == 4
    (line,) = [line for line in done.stderr.str().splitlines() if line]
    assert sentence in line
