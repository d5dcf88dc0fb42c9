"""Files that conversions write: manifests pin their SHA-256, so not one byte of them may change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

from axioms.subjects.assets.conversions.write import write_json, write_tensors
from axioms.subjects.assets.download import sha256_of

TENSORS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "a": np.array([0.5, -1.5], dtype=np.float32),
    "scalar": np.array(2.0, dtype=np.float32),
}


def test_tensors_are_read_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_tensors(TENSORS, "f" * 64, file)
    with safe_open(file, "pt") as opened:
        assert opened.metadata() == {"format": "pt", "converted_from_sha256": "f" * 64}
        assert set(opened.keys()) == set(TENSORS)
        for name, tensor in TENSORS.items():
            assert torch.equal(opened.get_tensor(name), torch.from_numpy(tensor.copy()))


def test_the_bytes_are_the_same_as_ever(tmp_path: Path) -> None:
    write_tensors(TENSORS, "f" * 64, tmp_path / "model.safetensors")
    write_json({"text": "▁é", "number": 1e-12, "list": [1]}, tmp_path / "config.json")
    digests = [sha256_of(tmp_path / name) for name in ("model.safetensors", "config.json")]
    assert digests == [
        "5d6e4c7daa39bcdcac3a5c045375c1e28720f51e3befc50d79fda11e4d88838b",
        "655d50641c32df2707468afeb18f5b03c41bf831116ef99514cc082763366d81",
    ]
