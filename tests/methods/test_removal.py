"""Leave-one-out asks of every unit there is once, and of nothing else."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from axioms.methods.removal import loo
from axioms.model import probe as probing
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny


@pytest.mark.parametrize(
    ("remove", "wanted"),
    [
        ("zero_embedding", [(0, unit) for unit in range(6)] + [(1, unit) for unit in range(4)]),
        ({"kind": "zero_embedding", "chunk": 4}, [(0, 0), (0, 1), (1, 0)]),
    ],
)
def test_a_unit_is_left_out_once_and_padding_never(
    remove: Any, wanted: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = tiny(architecture="bert")
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(6) < torch.tensor([[6], [4]])).long()
    inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": mask}, remove)
    ask = Mock(wraps=probing.probe)
    monkeypatch.setattr(probing, "probe", ask)
    model = Model(bert)
    with model.at_rest():
        scores = loo(model, inputs, Target(torch.zeros(2, dtype=torch.long)))
    _, _, _, example, removed = ask.call_args.args
    units = inputs.units()
    assert units is not None
    asked = [(row, int(units[row][gone].unique())) for row, gone in zip(example.tolist(), removed, strict=True)]
    assert asked == wanted
    assert bool(scores.isfinite().all())
    assert not bool(scores[1, 4:].any())


def test_where_every_feature_is_a_unit_no_number_is_looked_at() -> None:
    """So that what it costs can be found out by shapes alone, on the meta device."""
    with torch.device("meta"):
        model, inputs = Model(nn.Linear(3, 2)), Inputs(torch.zeros(4, 3))
        target = Target(torch.zeros(4, dtype=torch.long))
    with model.at_rest():
        scores = loo(model, inputs, target)
    assert scores.is_meta
    assert scores.shape == (4, 3)
