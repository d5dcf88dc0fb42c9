"""The commands know one's own code: `--import`, names with their options, and one sentence where something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.commands.main import main
from axioms.core.errors import UnknownName
from axioms.core.registry import METHODS, RULES

RULES_FILE = """
import axioms

@axioms.rule("test_half", on="softmax")
def test_half(operation, *, share: float = 0.5):
    \'\'\'A share of the softmax.\'\'\'
    value = operation.forward()
    return value.detach() + share * (value - value.detach())

def composite(*, share: float = 0.5):
    \'\'\'AttnLRP with a share of the softmax.\'\'\'
    return axioms.composite_of("attnlrp").then(axioms.Entry("softmax", axioms.RuleRef("test_half", {"share": share})))

axioms.composite_method("test_half_lrp", composite)

class InputTimesGradient:
    \'\'\'A method with captum's interface.\'\'\'
    def __init__(self, forward_func):
        self.forward_func = forward_func

    def attribute(self, inputs, target=None, scale: float = 1.0):
        import torch
        output = self.forward_func(inputs)[:, target]
        return scale * inputs * torch.autograd.grad(output.sum(), inputs)[0]
""".replace("\\'", "'")


@pytest.fixture(autouse=True)
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rules of one's own, in which the commands run."""
    (tmp_path / "own_rules.py").write_text(RULES_FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "own_rules", raising=False)
    for registry in (METHODS, RULES):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    return tmp_path


def test_one_name_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "methods", "test_half_lrp", "--import", "own_rules"]) == 0
    said = capsys.readouterr().out
    assert "AttnLRP with a share of the softmax." in said
    assert "share            float, default 0.5" in said
    assert "engine           Literal['fast', 'explicit'] | dict[Literal['explicit'], float], default 'fast'" in said
    assert main(["list", "axioms", "conservation"]) == 0
    assert "relative_error" in capsys.readouterr().out
    assert main(["list", "rules", "test_half"]) == 0
    assert "for softmax operations" in capsys.readouterr().out
    assert main(["list", "fixtures", "reviews"]) == 0
    assert "kind: data" in capsys.readouterr().out
    assert main(["list", "fixtures"]) == 0
    assert "  minilm-sentiment" in capsys.readouterr().out


def test_the_table_of_rules_and_the_search_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--import", "own_rules"]) == 0
    assert "test_half" in capsys.readouterr().out
    assert main(["falsify", "--method", "test_half_lrp", "--examples", "200", "--import", "own_rules"]) == 1
    said = capsys.readouterr().out
    assert "test_half_lrp is not implementation invariant." in said
    assert said.rstrip().endswith("--axioms-import own_rules")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["list", "methods", "test_haf_lrp", "--import", "own_rules"], "Did you mean 'test_half_lrp'?"),
        (["list", "methods", "not_there"], "If it is yours, load its module"),
        (["list", "things"], "there is no kind 'things' of names. Known: axioms, data,"),
        (["list", "fixtures", "revews"], "Did you mean 'reviews'?"),
        (["list", "--import", "own_rules.py"], "it is a path, and the name of a module is needed; write 'own_rules'."),
        (["falsify", "--method", "x", "--import", "nowhere"], "cannot import 'nowhere': there is no such module"),
        (["check", "specs", "--import", "nomod"], "cannot import 'nomod': there is no such module"),
        (["rules", "--import", "nowhere"], "cannot import 'nowhere': there is no such module"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("axioms 0.")


def test_a_class_with_captums_interface(own_code: Path) -> None:
    import torch

    import axioms

    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    inputs = torch.randn(2, 3, dtype=torch.float64)
    plain = axioms.attribute(model, inputs, method="gradient_x_input").scores
    own = axioms.attribute(model, inputs, method="captum:own_rules.InputTimesGradient").scores
    assert torch.allclose(own, plain)
    double = axioms.attribute(model, inputs, method="captum:own_rules.InputTimesGradient", scale=2.0).scores
    assert torch.allclose(double, 2 * plain)
    with pytest.raises(UnknownName, match="Did you mean 'InputTimesGradient'"):
        METHODS.get("captum:own_rules.InputTimesGradien")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\naxioms_import = own_rules  # mine\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\naxioms_import = ["own_rules"]\n'),
        ("tox.ini", "[tox]\n[pytest]\naxioms_import =\n    own_rules\n"),
        ("setup.cfg", "[metadata]\nname = x\n[tool:pytest]\naxioms_import = own_rules\n"),
    ],
)
def test_the_commands_read_pytests_settings(
    own_code: Path, file: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_code / file).write_text(text)
    (own_code / "below").mkdir()
    monkeypatch.chdir(own_code / "below")
    assert main(["list", "methods", "test_half_lrp"]) == 0
    assert "share            float, default 0.5" in capsys.readouterr().out


def test_settings_that_are_wrong_are_one_sentence(own_code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_code / "pytest.ini").write_text("[pytest]\naxioms_import = nowhere\n")
    assert main(["list"]) == 2
    assert "pytest.ini: axioms_import: cannot import 'nowhere': there is no such module" in capsys.readouterr().err
    (own_code / "pytest.ini").write_text("no section\n")
    assert main(["list"]) == 2
    assert "pytest.ini cannot be read: " in capsys.readouterr().err


def test_a_method_by_its_module(own_code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["falsify", "--method", "own_rules:test_half_lrp", "--examples", "200"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("_lrp_associativity.yaml --axioms-import own_rules")


def test_no_code_holds_for_commands_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("AXIOMS_NO_CODE", "1")
    assert main(["list", "--import", "own_rules"]) == 2
    assert main(["audit", "own_rules:build"]) == 2
    assert capsys.readouterr().err.count("importing it runs its code") == 2


def test_ones_own_attnlrp_does_not_replace_ours(own_code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = METHODS.get("attnlrp")
    (own_code / "own_attnlrp.py").write_text(RULES_FILE.replace("test_half_lrp", "attnlrp"))
    assert main(["list", "methods", "attnlrp", "--import", "own_attnlrp"]) == 2
    assert "method 'attnlrp' is already registered by axioms.methods.lrp" in capsys.readouterr().err
    assert METHODS.get("attnlrp") is before
