"""Parameters out of ONNX files: what was read computes what the graph computes, by ONNX's own reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from axioms.subjects.assets.conversions.onnx_tensors import read_tensors
from axioms.subjects.assets.download import FetchFailed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3)).astype(np.float32)
WEIGHT = RNG.normal(size=(2, 3)).astype(np.float32)
BIAS = RNG.normal(size=2).astype(np.float32)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def saved(folder: Path, nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray]) -> Path:
    """Write a graph from x (4 x 3) to y (4 x 2)."""
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    file = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), file)
    return file


def outputs(file: Path) -> np.ndarray:
    (result,) = list(ReferenceEvaluator(onnx.load(file)).run(None, {"x": X}))
    return np.asarray(result)


FLOATS = {
    "bias second": ([node("MatMul", "x W", "p"), node("Add", "p layer.bias", "y")], WEIGHT.T),
    "bias first": ([node("MatMul", "x W", "p"), node("Add", "layer.bias p", "y")], WEIGHT.T),
    "gemm": ([node("Gemm", "x W layer.bias", "y")], WEIGHT.T),
    "transposed gemm": ([node("Gemm", "x layer.weight layer.bias", "y", transB=1)], WEIGHT),
}


@pytest.mark.parametrize("written", FLOATS)
def test_a_linear_layer_however_it_is_written(written: str, tmp_path: Path) -> None:
    nodes, stored = FLOATS[written]
    name = "layer.weight" if written == "transposed gemm" else "W"
    file = saved(tmp_path, nodes, {name: np.ascontiguousarray(stored), "layer.bias": BIAS})
    tensors = read_tensors(file, {})
    assert set(tensors) == {"layer.weight", "layer.bias"}
    np.testing.assert_allclose(X @ tensors["layer.weight"].T + tensors["layer.bias"], outputs(file), rtol=1e-6)


def test_a_layer_in_8_bits_is_dequantized_column_by_column(tmp_path: Path) -> None:
    """Against the reference's DequantizeLinear, in front of a product of floating-point numbers."""
    constants: dict[str, np.ndarray] = {
        "W_quantized": RNG.integers(-128, 127, (3, 2)).astype(np.int8),
        "W_scale": np.array([0.02, 0.3], dtype=np.float32),
        "W_zero_point": np.array([3, -7], dtype=np.int8),
        "layer.bias": BIAS,
    }
    quantized = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        node("MatMulInteger", "xq W_quantized xz W_zero_point", "integers"),
        node("Cast", "integers", "floats", to=TensorProto.FLOAT),
        node("Mul", "xs W_scale", "scales"),
        node("Mul", "floats scales", "p"),
        node("Add", "p layer.bias", "y"),
    ]
    tensors = read_tensors(saved(tmp_path, quantized, constants), {})
    plain = [
        node("DequantizeLinear", "W_quantized W_scale W_zero_point", "W", axis=1),
        node("MatMul", "x W", "p"),
        node("Add", "p layer.bias", "y"),
    ]
    wanted = outputs(saved(tmp_path, plain, constants))
    np.testing.assert_allclose(X @ tensors["layer.weight"].T + tensors["layer.bias"], wanted, rtol=1e-5)


def test_an_embedding_is_not_transposed_and_constants_are_left_out(tmp_path: Path) -> None:
    nodes = [node("Gather", "table.weight at", "rows"), node("MatMul", "x W", "p"), node("Add", "p layer.bias", "y")]
    table = RNG.normal(size=(5, 2)).astype(np.float32)
    constants = {"table.weight": table, "at": np.array([0]), "W": WEIGHT.T.copy(), "layer.bias": BIAS}
    tensors = read_tensors(saved(tmp_path, nodes, constants), {})
    assert set(tensors) == {"table.weight", "layer.weight", "layer.bias"}
    np.testing.assert_array_equal(tensors["table.weight"], table)


def test_prefixes_choose_and_rename(tmp_path: Path) -> None:
    nodes, stored = FLOATS["bias second"]
    constants = {"W": np.ascontiguousarray(stored), "layer.bias": BIAS, "other.bias": BIAS}
    tensors = read_tensors(saved(tmp_path, nodes, constants), {"layer.": "model.head."})
    assert set(tensors) == {"model.head.weight", "model.head.bias"}


def test_a_file_that_is_no_onnx(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no protobuf")
    with pytest.raises(FetchFailed, match=r"holds a model.onnx that cannot be read as ONNX"):
        read_tensors(tmp_path / "model.onnx", {})
