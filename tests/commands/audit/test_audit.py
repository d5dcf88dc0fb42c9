"""`axioms audit` on models that are defined here and not in the package."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from axioms.commands.audit.audit import audit
from axioms.commands.main import main

MODELS = """
import torch
from torch import nn

class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.heads = 2
        self.query, self.key, self.value, self.out = (nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        x = x.unsqueeze(-1) * torch.ones(4, dtype=x.dtype)
        q, k, v = (each(x).unflatten(-1, (2, 2)).transpose(1, 2) for each in (self.query, self.key, self.value))
        mixed = (q @ k.transpose(-2, -1)) @ v
        return self.out(mixed.transpose(1, 2).flatten(2).mean(1))

def build():
    return Mine(), torch.randn(3, 5, generator=torch.Generator().manual_seed(1))

def alone():
    return nn.Linear(2, 2)

class Uncovered(nn.Sequential):
    def forward(self, x):
        return super().forward(torch.cumprod(x, 1))

def uncovered():
    return Uncovered(nn.Linear(3, 2)), torch.rand(2, 3) + 1

def not_a_number():
    model = nn.Sequential(nn.Linear(3, 2))
    model[0].weight.data[0, 0] = float("nan")
    return model, torch.rand(2, 3)

def raising():
    raise ValueError("no such file")

def nothing():
    return 3
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's own, in the working directory."""
    (tmp_path / "my_models.py").write_text(textwrap.dedent(MODELS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "my_models", raising=False)
    return "my_models"


def test_a_violation_fails_it(mine: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["audit", f"{mine}:build", "--methods", "attnlrp,cp_lrp", "--figure", str(tmp_path / "f")]) == 1
    said = capsys.readouterr().out
    assert "attnlrp:reassociate" in said
    assert "cp_lrp:" not in said.splitlines()[-2]
    assert "fold_norm does not apply: the model has no norm" in said
    for name in ("permute_heads", "rescale_qk", "split_linear", "fuse_qkv"):
        assert name in said
    assert list((tmp_path / "f").glob("*.svg"))


def test_what_is_allowed_or_holds_passes(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", f"{mine}:build", "--methods", "attnlrp,cp_lrp"]
    assert main([*arguments, "--allow", "attnlrp:reassociate"]) == 0
    assert "* violated, as --allow says" in capsys.readouterr().out
    assert main(["audit", f"{mine}:build", "--methods", "loo,gradient_x_input", "--target", "1"]) == 0


def test_an_operation_without_a_rule_costs_the_methods_that_need_it(
    mine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--rewrites", "split_linear,add_zero_branch"]
    assert main(["audit", f"{mine}:uncovered", "--methods", "loo,attnlrp,gradient_x_input", *few]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["loo", "gradient_x_input"]
    assert "attnlrp cannot attribute the model: no rule covers 'cumprod'" in said
    assert "0 of 4 cells are violated" in said
    assert main(["audit", f"{mine}:uncovered", "--methods", "attnlrp", *few]) == 2
    assert "attnlrp cannot attribute the model: no rule covers 'cumprod'" in capsys.readouterr().out


def test_weights_that_are_no_numbers_and_a_build_that_raises(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", f"{mine}:not_a_number"]) == 2
    assert "the model has weights that are NaN or infinite, in 0.weight;" in capsys.readouterr().err
    assert main(["audit", f"{mine}:raising"]) == 3
    said = capsys.readouterr().err
    assert "my_models:raising raised ValueError: no such file (my_models.py, line" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["my_models:alone"], "return (model, inputs)"),
        (["my_models:nothing"], "must return a torch module"),
        (["my_models:missing"], "has no function 'missing'"),
        (["my_models"], "is not module:function"),
        (["no_such_module:build"], "cannot import 'no_such_module': there is no such module"),
        (["my_models:build", "--methods", "attnlpr"], "Did you mean 'attnlrp'?"),
        (["my_models:build", "--rewrites", "permute_head"], "Did you mean 'permute_heads'?"),
        (["my_models:build", "--allow", "attnlrp"], "is not METHOD:REWRITE"),
    ],
)
def test_mistakes_are_sentences(mine: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments]) == 2
    assert said in capsys.readouterr().err


class Gelu(nn.Module):
    """Takes a mapping."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 2))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.net(pixels)


def test_from_python_and_the_model_stays_as_it_was() -> None:
    model = Gelu().float().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = audit(model, {"pixels": torch.ones(2, 4)}, ["attnlrp"], ["written_gelu", "permute_neurons", "written_silu"])
    assert [(cell.rewrite, cell.verdict) for cell in found.cells] == [
        ("written_gelu", "violated"),
        ("permute_neurons", "holds"),
    ]
    assert "written_silu" in found.not_applicable
    assert model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_help_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    said = capsys.readouterr().out
    assert "return model, inputs" in said
    assert "Exit code" in said
