"""Converted weights give the outputs that onnxruntime gives for the file they were converted from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

TEXTS = ["a film that is not at all what it seems", "dull", "the plot , such as it is , never quite comes together ."]
CHINESE = ["今天天气很好，我们去公园散步。", "加微信领红包，日赚千元，名额有限！"]


def encoded(folder: Path, texts: list[str]) -> list[dict[str, torch.Tensor]]:
    """Return inputs text by text: one of the graphs takes a single one."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [dict(tokenizer(text, return_tensors="pt")) for text in texts]


def run_onnx(graph: Path | bytes, given: list[dict[str, torch.Tensor]]) -> list[torch.Tensor]:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = {entry.name for entry in session.get_inputs()}
    return [
        torch.from_numpy(session.run(None, {name: row[name].numpy() for name in names & set(row)})[0]) for row in given
    ]


@pytest.mark.parametrize(
    ("asset", "file", "is_smoke"), [("gte-small", "model.onnx", True), ("e5-small", "e5-small.onnx", False)]
)
def test_hidden_states_of_an_encoder(asset: str, file: str, is_smoke: bool, cached_asset: Callable[..., Path]) -> None:
    folder, published = cached_asset(asset, is_smoke=is_smoke), cached_asset(f"{asset}-onnx", is_smoke=is_smoke)
    given = encoded(folder, TEXTS)
    model = BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    for row, theirs in zip(given, run_onnx(published / file, given), strict=True):
        with torch.no_grad():
            ours = model(**row).last_hidden_state
        assert (ours - theirs).abs().max() < 1e-4


def with_plain_products(file: Path) -> bytes:
    """Return the graph with activations left in floating point; onnxruntime itself dequantizes the weights.

    The published graph also rounds every activation to 8 bits on the way, which no weights can reproduce.
    """
    model = onnx.load(file)
    nodes = {name: node for node in model.graph.node for name in node.output}
    readers: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    kept, dropped = [], set()
    for node in model.graph.node:
        if node.op_type != "MatMulInteger":
            continue
        activation, weight = nodes[node.input[0]].input[0], node.input[1]
        scale, cast = weight.replace("_quantized", "_scale"), readers[node.output[0]][0]
        scaled = readers[cast.output[0]][0]
        dropped |= {node.output[0], cast.output[0], scaled.output[0]}
        kept.append(helper.make_node("DequantizeLinear", [weight, scale, node.input[3]], [f"{weight}_float"], axis=1))
        kept.append(helper.make_node("MatMul", [activation, f"{weight}_float"], [scaled.output[0]]))
    rest = [node for node in model.graph.node if node.output[0] not in dropped]
    known = {entry.name for entry in (*model.graph.initializer, *model.graph.input)} | {""}
    ordered = in_order([*rest, *kept], known)
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    return model.SerializeToString()


def in_order(nodes: list[Any], known: set[str]) -> list[Any]:
    """Return nodes such that each comes behind those that it reads."""
    ordered, waiting = [], nodes
    while waiting:
        is_ready = [known.issuperset(node.input) for node in waiting]
        ready = [node for node, now in zip(waiting, is_ready, strict=True) if now]
        waiting = [node for node, now in zip(waiting, is_ready, strict=True) if not now]
        ordered += ready
        known |= {name for node in ready for name in node.output}
    return ordered


def test_log_probabilities_of_the_chinese_classifier(cached_asset: Callable[..., Path]) -> None:
    folder, published = cached_asset("chineseharm-bert"), cached_asset("chineseharm-bert-onnx")
    file = published / "model_optimized.onnx"
    given = encoded(folder, CHINESE)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = torch.cat([model(**row).logits for row in given])
    assert logits.argmax(dim=-1).tolist() == [0, 1]
    temperature = next(
        float(numpy_helper.to_array(tensor))
        for tensor in onnx.load(file).graph.initializer
        if tensor.name == "wrapped.binary_temperature"
    )
    ours = (logits / temperature).log_softmax(dim=-1)
    # The published head goes on to six kinds of harm, whose probabilities add up to the one of harm.
    seven = torch.cat(run_onnx(with_plain_products(file), given))
    theirs = torch.stack([seven[:, 0], seven[:, 1:].logsumexp(dim=-1)], dim=-1)
    assert (ours - theirs).abs().max() < 1e-4
