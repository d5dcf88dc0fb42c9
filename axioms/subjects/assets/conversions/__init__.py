"""Conversions: files of an asset made of members that cannot be used as they are. They read bytes and run nothing."""

from __future__ import annotations

from pathlib import Path

from axioms.subjects.assets.sources import Conversion

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def makes(conversion: Conversion) -> tuple[str, ...]:
    """Return the names of the files that come out of a conversion."""
    if conversion.config:
        return WEIGHTS, CONFIG
    return (WEIGHTS,)


def convert(conversion: Conversion, members: Path, to: Path) -> None:
    """Write what the members in a folder are converted into; the same members always give the same bytes."""
    import json

    from axioms.subjects.assets.conversions.onnx_tensors import read_tensors
    from axioms.subjects.assets.conversions.write import write_tensors

    (graph,) = (members / Path(path).name for path in conversion.members if path.endswith(".onnx"))
    origin = " ".join(sorted(conversion.members.values()))
    write_tensors(read_tensors(graph, conversion.prefixes), origin, to / WEIGHTS)
    if conversion.config:
        (to / CONFIG).write_text(json.dumps(conversion.config, indent=2, sort_keys=True) + "\n")
