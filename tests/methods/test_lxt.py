"""LXT in a process of its own: with a stand-in for lxt that patches nothing, so that it is Gradient x Input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, BertConfig, BertForSequenceClassification

import axioms
from axioms.core.errors import InputError, MissingPackage, NotDefined
from axioms.methods.lxt import read_answer, write_request
from axioms.methods.lxt.worker import answer, older
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose

IDS = torch.tensor([[1, 5, 9, 3], [2, 7, 4, 0]])
GIVEN = {"input_ids": IDS, "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])}


@pytest.fixture(scope="module")
def bert() -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=12, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    config.num_labels = 3
    return BertForSequenceClassification(config).double().eval()


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a package `lxt` that knows BERT, of one variant, and patches nothing."""
    models = tmp_path / "stand_in" / "lxt" / "efficient" / "models"
    models.mkdir(parents=True)
    for folder in (models, models.parent, models.parent.parent):
        (folder / "__init__.py").write_text("def monkey_patch(module, patch_map): pass\n")
    (models / "bert.py").write_text("attnLRP = {}\n")
    return tmp_path / "stand_in"


def forget() -> None:
    """Let this process forget that it has seen a package `lxt`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lxt"]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Leave no stand-in behind."""
    yield
    forget()


def interpreter(folder: Path, *, path: str = "") -> str:
    """Return a Python interpreter with another search path."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_scores_come_back_from_another_process(
    bert: BertForSequenceClassification, stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AXIOMS_LXT_PYTHON", interpreter(tmp_path, path=str(stand_in)))
    target = {"logit_difference": [2, 0]}
    there = axioms.attribute(bert, GIVEN, method="lxt:attnlrp", target=target)
    here = axioms.attribute(bert, GIVEN, method="gradient_x_input", target=target)
    torch.testing.assert_close(there.scores, here.scores, rtol=1e-9, atol=1e-12)
    assert "lxt" not in sys.modules, "this process is left as it was"


def ask(folder: Path, model: BertForSequenceClassification, name: str) -> torch.Tensor:
    """Ask the worker in this process."""
    wrapped, inputs = Model(model), read_inputs(model, GIVEN)
    outputs = write_request(folder, name, wrapped, inputs, choose(0, wrapped(inputs)))
    (folder / "answer.json").write_text(json.dumps(answer(folder)))
    return read_answer(folder, name, outputs)


def test_what_lxt_has_no_patches_for_is_not_defined(
    bert: BertForSequenceClassification, stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(stand_in)
    with pytest.raises(NotDefined, match="LXT has no cp_LRP for models of the type 'bert'"):
        ask(tmp_path, bert, "cp_lrp")
    (stand_in / "lxt" / "efficient" / "models" / "bert.py").unlink()
    forget()
    with pytest.raises(NotDefined, match="LXT has no patches for models of the type 'bert'"):
        ask(tmp_path, bert, "attnlrp")


def test_an_environment_without_lxt(bert: BertForSequenceClassification, tmp_path: Path) -> None:
    with pytest.raises(MissingPackage, match=r"in the environment of AXIOMS_LXT_PYTHON, lxt cannot be imported"):
        ask(tmp_path, bert, "attnlrp")


def test_an_interpreter_that_is_none(bert: BertForSequenceClassification, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_LXT_PYTHON", "/no/such/python")
    with pytest.raises(MissingPackage, match="AXIOMS_LXT_PYTHON=/no/such/python: No such file"):
        axioms.attribute(bert, GIVEN, method="lxt:attnlrp")
    monkeypatch.setenv("AXIOMS_LXT_PYTHON", "/bin/false")
    with pytest.raises(InputError, match="LXT's process ended with code 1 and no answer: it said nothing"):
        axioms.attribute(bert, GIVEN, method="lxt:attnlrp")


def test_a_model_that_is_none_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_LXT_PYTHON", "/no/such/python")
    with pytest.raises(NotDefined, match="lxt:attnlrp is defined for language models of transformers alone"):
        axioms.attribute(torch.nn.Linear(3, 2), torch.ones(1, 3), method="lxt:attnlrp")


def test_relevance_of_another_function_is_refused(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text("{}")
    outputs = torch.tensor([[1.0, 2.0]])
    save_file({"outputs": outputs + 0.01, "relevance": torch.ones(1, 4)}, tmp_path / "answer.safetensors")
    with pytest.raises(InputError, match=r"computes other outputs than the one here, by 5.0e-03 of the largest"):
        read_answer(tmp_path, "attnlrp", outputs)
    assert read_answer(tmp_path, "attnlrp", outputs + 0.01).tolist() == [[1.0] * 4]


def test_a_configuration_in_the_older_words() -> None:
    config = AutoConfig.for_model("llama", rope_theta=5000.0).to_dict()
    assert older(config)["rope_theta"] == 5000.0
    assert "rope_parameters" not in older(config)
    assert older({"rope_parameters": {"rope_theta": 1.0, "rope_type": "linear", "factor": 2.0}})["rope_scaling"] == {
        "rope_type": "linear",
        "factor": 2.0,
    }
