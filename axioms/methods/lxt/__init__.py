"""LXT's methods, run in a Python environment of their own.

LXT patches model classes for the whole process with no way back, and imports only with an older transformers. So the
model (its configuration and weights) and the inputs go as files to a process of the interpreter that AXIOMS_LXT_PYTHON
names, `worker.py` runs LXT there, and the relevance comes back as a file. That the older transformers computes the same
outputs is checked.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError, MissingPackage, NotDefined

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

PYTHON = "AXIOMS_LXT_PYTHON"
VARIANTS = {"attnlrp": "attnLRP", "cp_lrp": "cp_LRP"}
"""Our name of a variant to that of its patch map in `lxt.efficient.models.<model type>`."""
WORKER = Path(__file__).parent / "worker.py"
LARGEST_GAP = 1e-4
"""Between the outputs there and here, relative to the largest: rotary tables are float32 in the older transformers."""
HOW = (
    "python3.11 -m venv lxtenv && lxtenv/bin/pip install lxt==2.1 transformers==4.52.4 safetensors, then "
    f"{PYTHON}=lxtenv/bin/python"
)


def lxt(name: str, model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Return LXT's relevance of every token, from a process of its own."""
    python = os.environ.get(PYTHON)
    if not python:
        raise MissingPackage(
            f"lxt:{name} cannot run here: LXT patches model classes for the whole process with no way back, and its "
            f"release 2.1 does not import with transformers 5. Give it an environment of its own: {HOW}."
        )
    with tempfile.TemporaryDirectory(prefix="axioms-lxt-") as folder:
        outputs = write_request(Path(folder), name, model, inputs, target)
        _run(python, Path(folder), name)
        return read_answer(Path(folder), name, outputs)


def write_request(folder: Path, name: str, model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Write what the worker needs into a folder; return the outputs of the model here."""
    import torch
    from safetensors.torch import save_file

    from axioms.model.inputs import EMBEDDINGS

    config: Any = getattr(model.module, "config", None)
    if inputs.slot != EMBEDDINGS or not hasattr(config, "to_dict"):
        raise NotDefined(f"lxt:{name} is defined for language models of transformers alone, by LXT's own patches.")
    with torch.no_grad():
        outputs = model(inputs)
    target.settle(outputs)
    leaf = outputs.detach().requires_grad_()
    (seed,) = torch.autograd.grad(target(leaf).sum(), leaf)
    tensors: dict[str, Tensor] = {"features": inputs.features, "seed": seed}
    tensors |= {} if inputs.position is None else {"position": inputs.position}
    tensors |= {f"fixed/{key}": value for key, value in inputs.fixed.items() if isinstance(value, torch.Tensor)}
    tensors |= {f"weights/{key}": value for key, value in model.module.state_dict().items()}
    # Copies, because tied weights share their memory, which the format does not allow.
    save_file(
        {key: value.detach().cpu().clone().contiguous() for key, value in tensors.items()},
        folder / "request.safetensors",
    )
    request = {
        "variant": VARIANTS[name],
        "config": config.to_dict(),
        "architecture": type(model.module).__name__,
        "fixed": {key: value for key, value in inputs.fixed.items() if not isinstance(value, torch.Tensor)},
    }
    (folder / "request.json").write_text(json.dumps(request, default=str), encoding="utf-8")
    return outputs


def _run(python: str, folder: Path, name: str) -> None:
    """Run the worker; a copy, so that modules beside it are not taken for LXT's."""
    script = folder / "worker.py"
    script.write_text(WORKER.read_text(encoding="utf-8"), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [python, str(script), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except OSError as error:
        raise MissingPackage(f"lxt:{name} cannot run: {PYTHON}={python}: {error.strerror}. Make one: {HOW}.") from None
    if not (folder / "answer.json").is_file():
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise InputError(f"LXT's process ended with code {done.returncode} and no answer: {lines[-1].strip()}")


def read_answer(folder: Path, name: str, outputs: Tensor) -> Tensor:
    """Return the relevance that the worker found, if it was of the same function."""
    from safetensors.torch import load_file

    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    if "missing" in answer:
        raise MissingPackage(f"lxt:{name} cannot run: in the environment of {PYTHON}, {answer['missing']}. {HOW}.")
    if "undefined" in answer:
        raise NotDefined(f"lxt:{name} is not defined for this model: {answer['undefined']}.")
    if "error" in answer:
        raise InputError(f"lxt:{name} failed in its own environment: {answer['error']}")
    tensors = load_file(folder / "answer.safetensors")
    there = tensors["outputs"].to(outputs)
    gap = float((there - outputs).abs().max() / outputs.abs().max().clamp_min(1e-12))
    if not gap <= LARGEST_GAP:
        raise InputError(
            f"the transformers of {PYTHON} computes other outputs than the one here, by {gap:.1e} of the largest, so "
            f"that lxt:{name} would explain another model."
        )
    return tensors["relevance"].to(outputs)
