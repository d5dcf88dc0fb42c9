"""`axioms plan`: counts of specs, what they share, sizes of models that are not here, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from axioms.commands.main import main
from axioms.commands.plan.device import DTYPES, Device, GivenRate, Price
from axioms.commands.plan.estimate import Planner, SpecPlan
from axioms.commands.plan.show import as_table, duration, total_seconds
from axioms.spec import expand_file

SPEC = """
claim: A model of nothing.
subject:
  model: {{tiny: {{architecture: bert}}}}
  data: {{random-tokens: {{n: {n}, length: 8}}}}
methods: [{methods}]
checks: [{checks}]
tier: {tier}
"""


@pytest.fixture
def planned(tmp_path: Path) -> object:
    """A function that plans specs on a tiny BERT, one after another."""
    planner = Planner()

    def plan(checks: str, methods: str = "attnlrp", n: int = 4, tier: str = "smoke") -> SpecPlan:
        file = tmp_path / "spec.yaml"
        file.write_text(SPEC.format(checks=checks, methods=methods, n=n, tier=tier))
        return planner.plan(expand_file(file), ("smoke",), "spec.yaml")

    return plan


def record(axiom: str) -> str:
    return f"{{axiom: {axiom}, record: [pearson.mean]}}"


def test_passes_are_those_of_the_method_and_of_leave_one_out(planned: object) -> None:
    plan = planned(record("loo_correlation"))  # type: ignore[operator]
    # Built, leave-one-out's own, its removals of 8 + 7 + 6 + 5 tokens, AttnLRP, and the first three texts once more.
    assert plan.forward == 4 + (4 + 26) + 4 + 3
    assert plan.backward == 4 + 3
    assert plan.checks == 1
    assert not plan.unknown


def test_what_specs_share_is_counted_once(planned: object) -> None:
    first = planned(record("loo_correlation"))  # type: ignore[operator]
    again = planned(record("loo_correlation"))  # type: ignore[operator]
    other = planned(record("loo_correlation"), "cp_lrp")  # type: ignore[operator]
    assert again.forward == again.backward == 0
    assert first.shared == 0
    assert again.shared > 0
    assert other.forward == 4 + 3  # the subject and leave-one-out are known by now


def test_passes_are_linear_in_the_examples(planned: object) -> None:
    """Lengths of the random tokens repeat after five examples."""
    few, many = (planned(record("loo_correlation"), n=n) for n in (5, 50))  # type: ignore[operator]
    shown = 3
    assert many.forward - shown == pytest.approx(10 * (few.forward - shown))


def test_checks_of_other_tiers_are_left_out(planned: object) -> None:
    assert planned(record("loo_correlation"), tier="paper").checks == 0  # type: ignore[operator]


def test_a_method_that_does_not_say_what_it_costs_is_assumed_to_take_one_pass(planned: object) -> None:
    plan = planned("{axiom: conservation, record: [ratio.mean]}", "python:tests.commands.plan.test_plan.halves")  # type: ignore[operator]
    assert plan.backward == 4
    assert any("python:tests.commands.plan.test_plan.halves" in what for what in plan.assumed)


def halves(model: object, inputs: object, target: object) -> object:
    """A user's method."""
    return inputs


def test_models_that_are_not_here_are_counted_by_their_architecture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    arguments = ["specs/paper/bert_sst2.yaml", "--axioms-tier", "paper", "--flops", "1e12", "--workers", "4", "--json"]
    assert main(["plan", *arguments]) == 0
    plan = json.loads(capsys.readouterr().out)
    (spec,) = plan["specs"]
    assert not plan["is_here"]
    assert plan["seconds"] == pytest.approx(spec["flops"] / 1e12)
    assert plan["seconds_on_workers"] == pytest.approx(plan["seconds"] / 4)
    assert spec["memory_bytes"] > 4 * 109_483_778  # the weights of BERT-base with two classes
    assert any("SST-2" in what for what in plan["assumed"])
    # Leave-one-out of 872 sentences of about 23.5 tokens: 2 x 85.6 million weights of the layers for each token.
    removals = 872 * sum(length**2 for length in (9, 13, 16, 19, 21, 24, 27, 30, 35, 41)) / 10
    assert spec["flops"] > 2 * 85e6 * removals


def test_the_table_says_what_it_was_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "specs/scalar_product.yaml", "--flops", "1e9", "--workers", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split() == "spec checks forward backward TFLOP memory time".split()
    assert "sustains 1e+09 FLOP/s" in shown
    assert "on 2 such workers" in shown


def test_time_on_this_device_is_that_of_a_whole_session(capsys: pytest.CaptureFixture[str]) -> None:
    """The one test that calibrates: it takes the seconds that a user waits."""
    assert main(["plan", "specs/scalar_product.yaml", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    (spec,) = plan["specs"]
    start = plan["seconds_of_start_and_report"]
    assert plan["is_here"]
    assert start > 0
    assert spec["seconds"] > 0
    assert plan["seconds"] == pytest.approx(start + spec["seconds"])


def test_a_row_tells_what_the_session_takes(planned: object) -> None:
    plan = planned("{axiom: conservation, record: [ratio.mean]}")  # type: ignore[operator]
    prices = {(engine, dtype): Price(1e-5, 1e-5, 1e-9) for engine in ("plain", "rules", "ledger") for dtype in DTYPES}
    row = as_table([plan], Device("here", prices, start=90.0), 1).splitlines()[2]  # type: ignore[arg-type]
    assert row.split()[-2:] == ["1.5", "min"]
    assert "report" in row
    assert "report" not in as_table([plan], GivenRate(1e9, 1e9), 1).split("time:")[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["specs/nowhere.yaml"], "there is no spec or folder specs/nowhere.yaml"),
        (["specs/scalar_product.yaml", "--workers", "0"], "--workers is a number of devices"),
        (["specs/scalar_product.yaml", "--flops", "-1"], "rates above 0"),
        (["specs/scalar_product.yaml", "--flops64", "1e9"], "goes with --flops"),
        (["specs/scalar_product.yaml", "--axioms-tier", "papr"], "Did you mean 'paper'?"),
        (["specs/paper/bert_sst2.yaml", "--flops", "1e9"], "--axioms-tier paper looks at all tiers"),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_time_is_that_of_operations_and_of_flops(planned: object) -> None:
    plan = planned("{axiom: conservation, record: [ratio.mean]}")  # type: ignore[operator]
    price = Price(operation=1e-5, backward_operation=2e-5, flop=1e-9)
    prices = {(engine, "float32"): price for engine in ("plain", "rules", "ledger")}
    device = Device("here", prices, check=0.5, start=3.0)  # type: ignore[arg-type]
    load = plan.loads[0]
    assert device.time(load) == pytest.approx(load.size.whole.operations * 1e-5 + load.flops * 1e-9)
    alone, four = (total_seconds([plan], device, workers) for workers in (1, 4))
    assert alone - four == pytest.approx(plan.passing(device) * 3 / 4)
    assert alone == pytest.approx(plan.passing(device) + plan.building + 0.5 + 3.0)  # one check, one session
    assert total_seconds([plan], GivenRate(1e9, 1e9)) == pytest.approx(plan.flops / 1e9)


@pytest.mark.parametrize(("seconds", "said"), [(1.26, "1.3 s"), (90, "1.5 min"), (7200, "2.0 h")])
def test_duration(seconds: float, said: str) -> None:
    assert duration(seconds) == said
