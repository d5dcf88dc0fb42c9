"""Read a model's parameters out of an ONNX file, without running it.

Exporters keep the names of biases, norms and embeddings, but not of the matrices: these are constants of a MatMul,
stored (in, out). Each is named by the bias that is added behind it, and transposed to (out, in) as torch has it.
Matrices in 8 bits stand for (q - zero point) * scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.subjects.assets.download import FetchFailed

if TYPE_CHECKING:
    import numpy as np

PARAMETERS = (".weight", ".bias")
PRODUCTS = ("MatMul", "MatMulInteger", "Gemm")
BETWEEN = ("Cast", "Mul")
"""What may stand between the product of integers and the bias: it makes floating-point numbers of them."""
QUANTIZED, SCALE, ZERO_POINT = "_quantized", "_scale", "_zero_point"


def read_tensors(file: Path, prefixes: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return the parameters by name, in float32.

    Where there are `prefixes`, only the names that begin with one of them are kept, with its replacement in its place.
    """
    import onnx

    try:
        graph = onnx.load(file).graph
    except Exception as error:  # protobuf's own error has no public name
        raise FetchFailed(f"holds a {file.name} that cannot be read as ONNX ({error})") from None
    tensors = dict(_dequantized({tensor.name: tensor for tensor in graph.initializer}))
    matrices = dict(_matrices(graph, tensors))
    named = {matrices.get(name, name): tensor.T if name in matrices else tensor for name, tensor in tensors.items()}
    return {
        kept: tensor
        for name, tensor in named.items()
        if name.endswith(PARAMETERS) and (kept := _renamed(name, prefixes)) is not None
    }


def _renamed(name: str, prefixes: Mapping[str, str]) -> str | None:
    if not prefixes:
        return name
    return next((new + name.removeprefix(old) for old, new in prefixes.items() if name.startswith(old)), None)


def _dequantized(constants: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the constants by name; those in 8 bits under the name that they had before they were quantized."""
    import numpy as np
    from onnx.numpy_helper import to_array

    for name, constant in constants.items():
        if name.endswith(QUANTIZED):
            whole = name.removesuffix(QUANTIZED)
            scale, zero_point = (to_array(constants[whole + ending]) for ending in (SCALE, ZERO_POINT))
            yield whole, (to_array(constant).astype(np.float32) - zero_point.astype(np.float32)) * scale
        else:
            yield name, to_array(constant)


def _matrices(graph: Any, tensors: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    """Yield the constants that are a product's second factor as (in, out), with the name of the parameter."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in graph.node:
        if node.op_type not in PRODUCTS or (constant := node.input[1].removesuffix(QUANTIZED)) not in tensors:
            continue
        if any(attribute.name == "transB" and attribute.i for attribute in node.attribute):
            continue  # stored as torch has it, under its own name
        bias = node.input[2] if node.op_type == "Gemm" and len(node.input) > 2 else _bias_behind(node, readers, tensors)
        yield constant, (bias.removesuffix(".bias") + ".weight" if bias else constant)


def _bias_behind(node: Any, readers: Mapping[str, list[Any]], tensors: Mapping[str, np.ndarray]) -> str | None:
    """Return the name of the bias that is added to a product; None where there is none."""
    while True:
        behind = readers.get(node.output[0], [])
        for reader in behind:
            if reader.op_type == "Add":
                return next((name for name in reader.input if name in tensors and name.endswith(".bias")), None)
        node = next((reader for reader in behind if reader.op_type in BETWEEN), None)
        if node is None:
            return None
