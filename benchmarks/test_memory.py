"""The growth of a fresh process while it attributes, beside that of plain Gradient x Input (Linux only)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

WEIGH = """
import sys
from pathlib import Path
import torch
import axioms
from transformers import BertConfig, BertForSequenceClassification

method, layers = sys.argv[1], int(sys.argv[2])
config = BertConfig(vocab_size=1000, num_hidden_layers=layers, num_labels=2, attn_implementation="sdpa")
model = BertForSequenceClassification(config).eval()
ids = torch.randint(1000, (8, 32))
inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

def kilobytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{field}:")))

axioms.attribute(model, inputs, method=method)  # imports and caches are not what is weighed
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
before = kilobytes("VmRSS")
axioms.attribute(model, inputs, method=method)
print(kilobytes("VmHWM") - before)
"""


def weigh(method: str, layers: int) -> float:
    """Kilobytes; large tensors are given back at once, so that the second call grows from a clean start."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", WEIGH, method, str(layers)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self")
@pytest.mark.parametrize(("method", "goal"), [("attnlrp", 1.0), ("cp_lrp", 0.7), ("lrp_epsilon", 2.5)])
def test_memory(settings: Any, weigh_row: Any, method: str, goal: float) -> None:
    layers = settings.layers(12)
    weigh_row(f"memory of {method}, BERT-base, sdpa", weigh(method, layers) / weigh("gradient_x_input", layers), goal)
