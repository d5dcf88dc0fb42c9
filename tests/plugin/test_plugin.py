"""Checks behave as pytest users expect of tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

PAIR = """claim: Regrouping must not matter.
subject:
  pair: {left: product-left, right: product-right}
  data: {points: [[2, 3, 4], [1, -2, 5]]}
run: {dtype: float64}
methods: [loo, attnlrp, random]
checks:
  - axiom: implementation_invariance
    violated_by: {attnlrp: {relative_gap.max: {approx: 0.5, abs: 1e-9}}}
  - axiom: conservation
    methods: [attnlrp]
"""


@pytest.fixture
def specs(pytester: pytest.Pytester, good_spec: str) -> Path:
    folder = pytester.mkdir("specs")
    (folder / "pair.yaml").write_text(PAIR)
    (folder / "_base.yaml").write_text("not a spec by itself")
    (folder / "sum.yaml").write_text(good_spec.replace("[[3, -1]]", "[[3, 1]]").replace("loo, ", ""))
    (pytester.path / "elsewhere.yaml").write_text("not: a spec")
    return folder


def results(pytester: pytest.Pytester) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((pytester.path / "reports" / "latest" / "results.json").read_text())
    return loaded


IDS = [
    "specs/pair.yaml::forward_equivalence[pair]",
    "specs/pair.yaml::implementation_invariance[loo]",
    "specs/pair.yaml::implementation_invariance[attnlrp]",
    "specs/pair.yaml::implementation_invariance[random]",
    "specs/pair.yaml::conservation[attnlrp]",
    "specs/sum.yaml::conservation[attnlrp]",
]


def test_ids_and_collect_only(pytester: pytest.Pytester, specs: Path) -> None:
    result = pytester.runpytest("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == IDS
    assert not (pytester.path / "reports").exists(), "collecting writes no report"


def test_collecting_does_not_import_torch(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.makeconftest("def pytest_unconfigure():\n    import sys\n    print('torch:', 'torch' in sys.modules)\n")
    result = pytester.runpytest_subprocess("--collect-only", "-q", "specs")
    result.stdout.fnmatch_lines(["torch: False"])


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["specs"], 6),
        (["specs/sum.yaml"], 1),
        ([IDS[2]], 1),
        (["specs", "-k", "conservation"], 2),
        (["specs", "-k", "attnlrp and not conservation"], 1),
        (["specs", "-m", "smoke"], 6),
        (["specs", "-m", "axioms and not smoke"], 0),
        (["specs", "--axioms-methods", "attn*"], 4),
        (["specs", "--axioms-dtype", "float32"], 6),
        (["specs", "--axioms-device", "cpu", "-p", "no:terminal"], 6),
    ],
)
def test_selection(pytester: pytest.Pytester, specs: Path, arguments: list[str], passed: int) -> None:
    reprec = pytester.inline_run(*arguments)
    assert len(reprec.listoutcomes()[0]) == passed
    assert not reprec.listoutcomes()[2]


def test_a_spec_named_on_the_command_line_may_lie_anywhere(pytester: pytest.Pytester, good_spec: str) -> None:
    (pytester.path / "anywhere.yaml").write_text(good_spec.replace("loo, ", ""))
    pytester.runpytest("anywhere.yaml").assert_outcomes(passed=1)


def test_a_failure_is_the_claim_the_line_the_bound_and_the_number(pytester: pytest.Pytester, good_spec: str) -> None:
    folder = pytester.mkdir("specs")
    text = good_spec.replace("axiom: conservation", "axiom: conservation\n    expect: {ratio.mean: {le: 0.5}}")
    (folder / "sum.yaml").write_text(text.replace("loo, ", ""))
    result = pytester.runpytest("specs")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "verdict   violated, ratio.mean is not <= 0.5",
            "claim     A sum is a sum.",
            "expected  ratio.mean <= 0.5    specs/sum.yaml:10",
            "measured  1.0000 [[]1.0000, 1.0000[]], n = 2, float64, seed 0",
            "worst     #0 1  *",
            'rerun     pytest "specs/sum.yaml::conservation[[]attnlrp[]]"',
        ],
        consecutive=True,
    )
    assert "Error" not in result.stdout.str()


def test_a_violation_claim_fails_when_the_axiom_holds(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "pair.yaml").write_text(PAIR.replace("violated_by: {attnlrp:", "violated_by: {loo:"))
    result = pytester.runpytest("specs/pair.yaml")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["*holds, so the claimed violation is no longer shown*"])


def test_last_failed_and_exit_first(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "pair.yaml").write_text(PAIR.replace("approx: 0.5", "approx: 0.4"))
    pytester.runpytest("specs").assert_outcomes(passed=5, failed=1)
    again = pytester.runpytest("specs", "--lf")
    again.assert_outcomes(failed=1)
    first = pytester.runpytest("specs", "-x")
    first.assert_outcomes(passed=2, failed=1)
    assert len(results(pytester)["checks"]) == 3


def test_xdist_gives_the_same_results(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.runpytest_subprocess("specs", "--axioms-report", "one").assert_outcomes(passed=6)
    pytester.runpytest_subprocess("specs", "-n", "2", "--axioms-report", "two").assert_outcomes(passed=6)
    one, two = (json.loads((pytester.path / name / "results.json").read_text()) for name in ("one", "two"))
    assert without_timings(one) == without_timings(two)
    assert len(one["checks"]) == 6


def without_timings(document: dict[str, Any]) -> dict[str, Any]:
    for record in document["checks"]:
        del record["seconds"]
    return {**document, "run": {"status": document["run"]["status"]}}


def test_the_same_seed_gives_the_same_numbers_twice_and_another_seed_others(
    pytester: pytest.Pytester, specs: Path
) -> None:
    seen = []
    for seed in (1, 1, 2):
        check = "  - axiom: loo_correlation\n    record: [pearson.mean]\n"
        text = f"""claim: c
subject: {{model: {{linear: {{weight: [[3, -1, 2]]}}}}, data: {{points: [[1, 1, 1], [2, 5, 1]]}}}}
run: {{seed: {seed}}}
methods: [random]
checks:
{check}"""
        (specs / "pair.yaml").write_text(text)
        pytester.runpytest("specs/pair.yaml").assert_outcomes(passed=1)
        (record,) = results(pytester)["checks"]
        seen.append((record["values"], record["metrics"]))
    assert seen[0] == seen[1] != seen[2]


def test_results_json(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.runpytest("specs").assert_outcomes(passed=6)
    document = results(pytester)
    assert document["schema_version"] == 2
    assert document["run"]["status"] == "passed"
    assert {"python", "platform", "packages"} <= set(document["environment"])
    assert document["environment"]["packages"]["torch"]
    assert [record["id"] for record in document["checks"]] == IDS
    record = document["checks"][2]
    wanted = {
        "spec": "specs/pair.yaml",
        "place": {"file": "specs/pair.yaml", "line": 9},
        "axiom": "implementation_invariance",
        "method": "attnlrp",
        "verdict": "violated",
        "passed": True,
        "violation_claimed": True,
        "reason": "as claimed",
    }
    assert {name: record[name] for name in wanted} == wanted
    gap = record["metrics"]["relative_gap.max"]
    assert gap["value"] == pytest.approx(0.5)
    assert (gap["n"], gap["interval"]) == (2, None)
    assert record["bounds"][0]["place"] == {"file": "specs/pair.yaml", "line": 8}
    summary = (pytester.path / "reports" / "latest" / "summary.md").read_text()
    assert "All 6 checks pass." in summary
    assert "| attnlrp | VIOLATED* 1, gap 0.50 |" in summary


def test_results_are_written_when_interrupted(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.makepyfile(
        stops="""
        import axioms

        @axioms.method("stops")
        def stops(model, inputs, target):
            raise KeyboardInterrupt
        """
    )
    (specs / "zz.yaml").write_text(PAIR.replace("random]", "random, stops]"))
    pytester.runpytest_subprocess("specs", "--axioms-import", "stops", "-k", "not random")
    document = results(pytester)
    assert document["run"]["status"] == "interrupted"
    assert len(document["checks"]) >= 5


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_lies_above_the_tier_is_deselected_counted_and_named(
    pytester: pytest.Pytester, specs: Path, workers: tuple[str, ...]
) -> None:
    (specs / "pair.yaml").write_text(PAIR + "tier: paper\n")
    result = pytester.runpytest_subprocess("specs", *workers)
    result.assert_outcomes(passed=1, deselected=0 if workers else 5)  # xdist's controller selects nothing itself
    result.stdout.fnmatch_lines(
        ["5 checks above the smoke tier deselected: --axioms-tier paper runs them", "report: *", "*1 passed*"]
    )
    document = results(pytester)
    assert (document["skipped"], document["above_tier"], len(document["not_run"])) == ([], {"paper": 5}, 5)
    (claim,) = [claim for claim in document["claims"] if claim["spec"] == "specs/pair.yaml"]
    assert (claim["verdict"], claim["missing"]) == ("not_run", "--axioms-tier paper")
    summary = (pytester.path / "reports" / "latest" / "summary.md").read_text()
    assert "5 of higher tiers: --axioms-tier paper." in summary


def test_a_higher_tier_runs_what_the_line_says(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "pair.yaml").write_text(PAIR + "tier: paper\n")
    (specs / "large.yaml").write_text(PAIR + "tier: full\n")
    line = "10 checks above the smoke tier deselected: --axioms-tier full runs 5 of them, --axioms-tier paper runs all"
    pytester.runpytest("specs").stdout.fnmatch_lines([line])
    full = pytester.runpytest("specs", "--axioms-tier", "full")
    full.assert_outcomes(passed=6, deselected=5)
    full.stdout.fnmatch_lines(["5 checks above the full tier deselected: --axioms-tier paper runs them"])
    paper = pytester.runpytest("specs", "--axioms-tier", "paper")
    paper.assert_outcomes(passed=11)
    paper.stdout.no_fnmatch_line("*deselected*")


def test_nothing_but_higher_tiers_is_no_silence(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "pair.yaml").write_text(PAIR + "tier: paper\n")
    result = pytester.runpytest("specs/pair.yaml")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["5 checks above the smoke tier deselected: --axioms-tier paper runs them"])
    pytester.runpytest("specs", "-k", "relevance").stdout.no_fnmatch_line("*above the smoke tier*")


def test_junit_properties_carry_the_metrics(pytester: pytest.Pytester, specs: Path) -> None:
    pytester.runpytest("specs", "--junitxml=out.xml")
    text = (pytester.path / "out.xml").read_text()
    assert '<property name="relative_gap.max" value="0.5' in text


def test_the_terminal_ends_with_the_answer(pytester: pytest.Pytester, specs: Path) -> None:
    brief = pytester.runpytest("specs")
    brief.stdout.fnmatch_lines(["Claims: 2 shown", "report: reports/latest/index.html *", "*6 passed*"])
    brief.stdout.no_fnmatch_line("*VIOLATED*")
    result = pytester.runpytest("specs", "-v")
    result.stdout.fnmatch_lines(
        [
            "*implementation_invariance  conservation",
            "loo * holds *",
            "attnlrp * VIOLATED[*] * holds",
            "[*] violated, as its spec claims",
            "Claims: 2 shown",
            "report: reports/latest/index.html (summary.md and results.json beside it; kept as *-specs*)",
        ]
    )


def test_a_method_of_ones_own_needs_a_module_and_a_spec(pytester: pytest.Pytester, good_spec: str) -> None:
    pytester.makepyfile(
        mymethods='''
        import axioms

        @axioms.method("half_gradient", passes=1)
        def half_gradient(model, inputs, target, *, share: float = 0.5):
            """Half of Gradient x Input."""
            import torch

            features = inputs.features.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(target(model(inputs.with_features(features))).sum(), features)
            return share * inputs.features * gradient

        @axioms.axiom("positive", metrics={"least": "smallest score"}, expect={"least.min": {"ge": 0}})
        def positive(side):
            return {"least": side.scores.min(axis=1)}

        @axioms.subject("doubled")
        def doubled():
            from torch import nn

            class Doubled(nn.Module):
                def forward(self, x):
                    return 2 * x.sum(dim=1)

            return Doubled()
        '''
    )
    folder = pytester.mkdir("specs")
    text = good_spec.replace("{linear: {weight: [[3, -1]]}}", "doubled").replace(
        "[loo, attnlrp]", "[{half_gradient: {share: 0.5}}]"
    )
    text += "    violated_by: {half_gradient: {ratio.max: {approx: 0.5, abs: 1e-12}}}\n  - axiom: positive\n"
    (folder / "mine.yaml").write_text(text)
    without = pytester.runpytest_subprocess("specs")
    assert without.ret == 2
    without.stdout.fnmatch_lines(["*unknown method 'half_gradient'*"])
    pytester.runpytest_subprocess("specs", "--axioms-import", "mymethods").assert_outcomes(passed=2)
    assert "mymethods" not in sys.modules


def test_an_import_that_is_not_there(pytester: pytest.Pytester, specs: Path) -> None:
    result = pytester.runpytest("specs", "--axioms-import", "nothing_here")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--axioms-import: cannot import 'nothing_here': there is no such module*"])


def test_an_error_of_a_users_method_is_a_sentence_and_in_the_record(pytester: pytest.Pytester, good_spec: str) -> None:
    pytester.makepyfile(
        broken="""
        import axioms

        @axioms.method("raises")
        def raises(model, inputs, target):
            raise ZeroDivisionError("in my own code")

        @axioms.method("wrong_shape")
        def wrong_shape(model, inputs, target):
            return inputs.features[:, :1]
        """
    )
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(good_spec.replace("[loo, attnlrp]", "[raises, wrong_shape]"))
    result = pytester.runpytest_subprocess("specs", "--axioms-import", "broken")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "method 'raises' raised ZeroDivisionError: in my own code (broken.py, line 5); *",
            "method 'wrong_shape' returned scores of shape (2, 1)*",
        ]
    )
    errors = {error["method"]: error for error in results(pytester)["errors"]}
    assert errors["raises"]["error"].startswith("method 'raises' raised ZeroDivisionError: in my own code")
    assert errors["wrong_shape"]["error"].startswith("method 'wrong_shape' returned scores")
    assert errors["wrong_shape"]["where"] == "", "the sentence says it"
    assert results(pytester)["not_run"] == results(pytester)["checks"] == []


@pytest.mark.parametrize(
    ("points", "what", "outcome"),
    [("[[1, .nan]]", "NaN or infinity", {"errors": 1}), ("[[1, 2], [3]]", "the same length", {"failed": 1})],
)
def test_bad_data_is_a_sentence(
    pytester: pytest.Pytester, good_spec: str, points: str, what: str, outcome: dict[str, int]
) -> None:
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(good_spec.replace("[[1, 1], [2, 5]]", points).replace("loo, ", ""))
    result = pytester.runpytest("specs")
    result.assert_outcomes(**outcome)
    output = result.stdout.str()
    assert what in output
    assert "Traceback" not in output
    assert "def " not in output


def test_the_host_session_is_left_as_it_is(pytester: pytest.Pytester, specs: Path) -> None:
    """Neither the garbage collector nor another plugin of somebody else's session is ours to switch off."""
    pytester.makeconftest(
        """
        import gc, pytest

        @pytest.hookimpl(trylast=True)
        def pytest_itemcollected(item):
            assert gc.isenabled()

        def pytest_unconfigure(config):
            print("host:", gc.isenabled(), gc.get_freeze_count(), config.pluginmanager.has_plugin("hypothesispytest"))
        """
    )
    result = pytester.runpytest_subprocess("--collect-only", "-q", "specs")
    result.stdout.fnmatch_lines(["host: True 0 True"])


def test_a_program_may_import_the_package_before_it_starts_pytest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing():\n    pass\n")
    code = "import sys, axioms, pytest; sys.exit(pytest.main(['-q', '-W', 'error']))"
    done = pytester.run(sys.executable, "-c", code)
    assert done.ret == 0
    assert "cannot be rewritten" not in done.stdout.str()
