"""What LXT's process answers is of the same function, or is refused."""

from __future__ import annotations

import importlib
import json
import sys
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

lxt: Any = importlib.import_module("axioms.methods.lxt")
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


def test_a_python_that_is_not_there_is_a_missing_package(tmp_path: Path) -> None:
    with pytest.raises(MissingPackage, match="cannot run"):
        lxt._run(str(tmp_path / "none"), tmp_path, NAME)


def test_the_other_process_has_the_environment_without_our_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from axioms.methods import lxt

    worker = tmp_path / "given.py"
    worker.write_text(
        "import json, os, sys, pathlib\n"
        "pathlib.Path(sys.argv[1], 'answer.json').write_text(json.dumps(dict(os.environ)))"
    )
    monkeypatch.setattr(lxt, "WORKER", worker)
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("SAID_HERE", "heard there")
    folder = tmp_path / "folder"
    folder.mkdir()
    lxt._run(sys.executable, folder, NAME)
    there = json.loads((folder / "answer.json").read_text())
    assert "PYTHONPATH" not in there
    assert there["SAID_HERE"] == "heard there"


@pytest.mark.skipif(sys.flags.utf8_mode == 1, reason="every text is UTF-8 in this mode, whatever the locale")
def test_worker_and_answer_are_utf8_in_every_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import locale

    from axioms.methods import lxt

    worker = tmp_path / "given.py"
    answered = '{"error": "größer"}'
    source = f"import sys, pathlib; pathlib.Path(sys.argv[1], 'answer.json').write_text({answered!r}, encoding='utf-8')"
    worker.write_text(source, encoding="utf-8")
    monkeypatch.setattr(lxt, "WORKER", worker)
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C")
        lxt._run(sys.executable, tmp_path, NAME)
        with pytest.raises(InputError, match="größer"):
            read_answer(tmp_path, NAME, OUTPUTS)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
