"""Write files byte by byte: a manifest pins what comes out, so it may not depend on the version of a library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

ALIGNMENT = 8


def write_tensors(tensors: Mapping[str, np.ndarray], origin: str, file: Path) -> None:
    """Write float32 tensors as safetensors, in the order of their names.

    `origin`, the SHA-256 of what they were read from, becomes metadata.
    """
    import numpy as np

    header: dict[str, object] = {"__metadata__": {"format": "pt", "converted_from_sha256": origin}}
    end = 0
    for name in sorted(tensors):
        start, end = end, end + tensors[name].size * 4
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name in sorted(tensors):
            stream.write(np.ascontiguousarray(tensors[name], dtype="<f4").tobytes())


def write_json(content: Mapping[str, Any], file: Path) -> None:
    """Write JSON in ASCII, with the order of keys that the content has."""
    file.write_bytes(json.dumps(content, indent=1).encode() + b"\n")
