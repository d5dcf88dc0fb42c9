"""`axioms card`: its files, its ten lines, its codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.commands.card import measure as measuring
from axioms.commands.main import main
from axioms.record import read_record
from tests.commands.card.test_measure import QUICK


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card of specs that take a second, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AXIOMS_CACHE", str(tmp_path / "cache"))
    defaults = {**(measuring.measure.__kwdefaults__ or {}), "parts": QUICK}
    monkeypatch.setattr(measuring.measure, "__kwdefaults__", defaults)


def test_files_and_ten_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["card", "attnlrp", "--against", "gradient_x_input", "--output", "out"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == "attnlrp keeps 1 of 2 axioms; it breaks implementation invariance."
    smallest = "  smallest    a*(a*b) gives a: 0.75 b: 0.25; (a*a)*b gives a: 0.5 b: 0.5; at "
    assert any(line.startswith(smallest) for line in lines), "of which a narrow terminal shows the beginning"
    assert lines[-1] == "card: out/card-attnlrp.html (.md, .svg and .json beside it)"
    assert len(lines) <= 11
    assert "3/3 linear_network" in said.err, "a log has a line for each part"
    text = (tmp_path / "out" / "card-attnlrp.md").read_text()
    assert "a*(a*b)  gives  a: 0.75  b: 0.25" in text
    assert "| implementation invariance | violated |" in text
    assert "<script>" not in text
    page = (tmp_path / "out" / "card-attnlrp.html").read_text()
    assert "attnlrp keeps 1 of 2 axioms" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", ""), "one file, which needs no network"
    record = read_record(tmp_path / "out" / "card-attnlrp.json")
    assert record.run.command == "axioms card attnlrp --against gradient_x_input --output out"
    assert {check.method for check in record.checks} == {"attnlrp", "gradient_x_input"}


def test_two_cards_are_compared_like_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measuring, "falsify", lambda *given, **options: None)
    (tmp_path / "for_card.py").write_text(
        "import axioms\n\n\n@axioms.method('for_card')\n"
        "def for_card(model, inputs, target, *, factor: float = 1.0):\n"
        "    import torch\n    features = inputs.features.clone().requires_grad_()\n"
        "    (gradient,) = torch.autograd.grad(target(model(inputs.with_features(features))).sum(), features)\n"
        "    scores = inputs.features * gradient\n    return scores * torch.where(scores > 0, factor, 1.0)\n"
    )
    for factor in ("1.0", "1.01"):
        assert main(["card", f"for_card:for_card: {{factor: {factor}}}", "--against", "", "--output", factor]) == 0
    capsys.readouterr()
    assert main(["compare", "1.0/card-for_card.json", "1.0/card-for_card.json"]) == 0
    assert main(["compare", "1.0/card-for_card.json", "1.01/card-for_card.json"]) == 1
    assert "specs/linear_network.yaml::loo_correlation[for_card]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["atnlrp"], "Did you mean 'attnlrp'?"),
        (["nowhere:mine"], "cannot import 'nowhere'"),
        (["attnlrp: {epsilonn: 1}"], "epsilonn"),
        (["attnlrp", "--against", "cp_lpr"], "Did you mean 'cp_lrp'?"),
        (["attnlrp", "--minutes", "0"], "--minutes must be more than 0, not 0."),
    ],
)
def test_mistakes_are_sentences(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["card", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_interrupted_card_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = measuring._run

    def interrupt(runner: object, check: object, part: object, measured: object) -> None:
        if part is QUICK[1]:
            raise KeyboardInterrupt
        run(runner, check, part, measured)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring, "_run", interrupt)
    monkeypatch.setattr(measuring, "falsify", lambda *given, **options: None)
    assert main(["card", "attnlrp", "--against", ""]) == 130
    said = capsys.readouterr()
    assert "to go on: axioms card attnlrp --against ''" in said.err
    assert "interrupted before it: invariance_matrix_relu_net" in " ".join(said.out.split())
    assert (tmp_path / "reports" / "card-attnlrp.html").is_file()
