"""Conversions: files of an asset made of members that cannot be used as they are. They read bytes and run nothing.

Nothing heavy is imported before something is converted, since assets are listed without it.
"""

from __future__ import annotations

from pathlib import Path

from axioms.subjects.assets.sources import Conversion

CONFIG, WEIGHTS = "config.json", "model.safetensors"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"


def makes(conversion: Conversion) -> tuple[str, ...]:
    """Return the names of the files that come out of a conversion."""
    if conversion.format == "llama2.c":
        return CONFIG, WEIGHTS, TOKENIZER, TOKENIZER_CONFIG
    return (WEIGHTS, CONFIG) if conversion.config else (WEIGHTS,)


def convert(conversion: Conversion, members: Path, to: Path) -> None:
    """Write what the members in a folder are converted into; the same members always give the same bytes."""
    from axioms.subjects.assets.conversions import llama2c, onnx_tensors, pieces
    from axioms.subjects.assets.conversions.write import write_json, write_tensors

    first = members / Path(next(iter(conversion.members))).name
    origin = " ".join(conversion.members.values())
    if conversion.format == "llama2.c":
        checkpoint = llama2c.read_checkpoint(first)
        write_json(checkpoint.config, to / CONFIG)
        write_tensors(checkpoint.tensors, origin, to / WEIGHTS)
        write_json(pieces.tokenizer(checkpoint.pieces), to / TOKENIZER)
        write_json(pieces.tokenizer_config(checkpoint.config), to / TOKENIZER_CONFIG)
        return
    write_tensors(onnx_tensors.read_tensors(first, conversion.prefixes), origin, to / WEIGHTS)
    if conversion.config:
        write_json(conversion.config, to / CONFIG)
