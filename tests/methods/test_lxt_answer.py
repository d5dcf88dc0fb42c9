"""What LXT's process answers is of the same function, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from axioms.core.errors import InputError, MissingPackage, NotDefined
from axioms.methods.lxt import VARIANTS, read_answer, write_request
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny

NAME = next(iter(VARIANTS))
OUTPUTS = torch.tensor([[1.0, -4.0], [2.0, 3.0]], dtype=torch.float64)
RELEVANCE = torch.tensor([[0.5, 0.25]])


def answer(folder: Path, outputs: torch.Tensor = OUTPUTS, **said: Any) -> torch.Tensor:
    (folder / "answer.json").write_text(json.dumps(said))
    save_file({"outputs": outputs.contiguous(), "relevance": RELEVANCE}, folder / "answer.safetensors")
    return read_answer(folder, NAME, OUTPUTS)


def test_relevance_of_the_same_outputs(tmp_path: Path) -> None:
    found = answer(tmp_path)
    assert torch.equal(found, RELEVANCE.double())
    assert found.dtype == torch.float64


@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 1)])
def test_one_output_that_differs_is_enough(tmp_path: Path, place: tuple[int, int]) -> None:
    off = OUTPUTS.clone()
    off[place] += 0.4
    with pytest.raises(InputError, match=r"other outputs than the one here, by 1.0e-01 of the largest"):
        answer(tmp_path, off)


@pytest.mark.parametrize(
    ("said", "error"), [("missing", MissingPackage), ("undefined", NotDefined), ("error", InputError)]
)
def test_what_it_says_instead(tmp_path: Path, said: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="because"):
        answer(tmp_path, OUTPUTS, **{said: "because"})


def test_a_request_has_all_that_the_other_process_needs(tmp_path: Path) -> None:
    module = tiny(architecture="llama")
    ids = torch.tensor([[5, 9, 13], [4, 7, 0]])
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": (ids != 0).long(), "use_cache": False})
    target = Target(torch.tensor([3, 1]))
    outputs = write_request(tmp_path, NAME, Model(module), inputs, target)
    with torch.no_grad():
        torch.testing.assert_close(outputs, Model(module)(inputs))
    assert not outputs.requires_grad
    tensors = load_file(tmp_path / "request.safetensors")
    assert torch.equal(tensors["features"], inputs.features)
    assert inputs.position is not None
    assert torch.equal(tensors["position"], inputs.position)
    assert torch.equal(tensors["fixed/input_ids"], ids)
    seed = torch.zeros_like(outputs)
    seed[[0, 1], [3, 1]] = 1
    assert torch.equal(tensors["seed"], seed)
    weights = {name.removeprefix("weights/") for name in tensors if name.startswith("weights/")}
    assert weights == set(module.state_dict())
    request = json.loads((tmp_path / "request.json").read_text())
    assert request["variant"] == VARIANTS[NAME]
    assert request["architecture"] == type(module).__name__
    assert request["fixed"] == {"use_cache": False}
    assert request["config"]["model_type"] == "llama"
    with pytest.raises(NotDefined, match="for language models of transformers alone"):
        write_request(tmp_path, NAME, Model(torch.nn.Linear(2, 2)), Inputs(torch.ones(1, 2)), target)


def test_a_request_goes_out_and_its_answer_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import axioms
    from axioms.methods import lxt

    module = tiny(architecture="llama")
    ids = torch.tensor([[5, 9, 13], [4, 7, 8]])
    asked: list[tuple[str, str]] = []

    def run(python: str, folder: Path, name: str) -> None:
        asked.append((python, name))
        tensors = load_file(folder / "request.safetensors")
        with torch.no_grad():
            outputs = module(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[:, -1]
        save_file({"outputs": outputs.contiguous(), "relevance": tensors["features"]}, folder / "answer.safetensors")
        (folder / "answer.json").write_text("{}")

    monkeypatch.setattr(lxt, "_run", run)
    monkeypatch.setenv(lxt.PYTHON, "there/python")
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    found = axioms.attribute(module, given, method=f"lxt:{NAME}").scores
    torch.testing.assert_close(found, read_inputs(module, given).features.sum(2))
    assert asked == [("there/python", NAME)]
    monkeypatch.delenv(lxt.PYTHON)
    with pytest.raises(MissingPackage):
        axioms.attribute(module, given, method=f"lxt:{NAME}")


def test_the_other_process_is_run_and_its_silence_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from axioms.methods import lxt

    worker = tmp_path / "given.py"
    monkeypatch.setattr(lxt, "WORKER", worker)
    folder = tmp_path / "folder"
    folder.mkdir()
    worker.write_text("import sys, pathlib; pathlib.Path(sys.argv[1], 'answer.json').write_text('{}')")
    lxt._run(sys.executable, folder, NAME)
    assert (folder / "answer.json").read_text() == "{}"
    (folder / "answer.json").unlink()
    worker.write_text("import sys; print('first\\nlast\\n', file=sys.stderr); sys.exit(3)")
    with pytest.raises(InputError, match="ended with code 3 and no answer: last"):
        lxt._run(sys.executable, folder, NAME)
    worker.write_text("")
    with pytest.raises(InputError, match="it said nothing"):
        lxt._run(sys.executable, folder, NAME)
    with pytest.raises(MissingPackage, match="cannot run"):
        lxt._run(str(tmp_path / "none"), folder, NAME)
