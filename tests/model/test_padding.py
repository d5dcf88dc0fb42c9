"""More padding at one end: everything that is per token grows with it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from axioms.core.errors import NotDefined
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.padding import padded
from axioms.subjects.models.tiny import tiny

IDS = torch.tensor([[5, 9, 13, 4], [7, 8, 30, 21]])


@pytest.mark.parametrize("by", [1, 3])
@pytest.mark.parametrize("side", ["right", "left"])
def test_what_is_per_token_grows(side: str, by: int) -> None:
    module: Any = tiny(architecture="bert")
    given = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS), "token_type_ids": IDS % 2}
    inputs = read_inputs(module, given, {"kind": "resample", "draws": 2})
    found = padded(module, inputs, by, side)
    at = slice(0, 4) if side == "right" else slice(by, by + 4)
    new = slice(4, 4 + by) if side == "right" else slice(0, by)
    pad = module.config.pad_token_id
    assert found.features.shape[:2] == (2, 4 + by)
    assert torch.equal(found.features[:, at], inputs.features)
    embedding = module.get_input_embeddings().weight[pad].detach()
    assert torch.equal(found.features[:, new], embedding.expand(2, by, -1))
    for name, filled in (("input_ids", pad), ("attention_mask", 0), ("token_type_ids", 0)):
        assert torch.equal(found.fixed[name][:, at], given[name])
        assert bool((found.fixed[name][:, new] == filled).all())
    assert found.candidates is not None
    assert bool(found.candidates[:, at].all())
    assert not bool(found.candidates[:, new].any())
    assert found.drawn is not None
    assert inputs.drawn is not None
    assert torch.equal(found.drawn[:, :, at], inputs.drawn)
    assert found.position is not None
    assert found.position.tolist() == [3 + (by if side == "left" else 0)] * 2


def test_what_cannot_be_padded() -> None:
    module = tiny(architecture="bert")
    inputs = read_inputs(module, {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)})
    for other in (
        Inputs(torch.ones(1, 2)),
        Inputs(inputs.features, {"input_ids": IDS}, inputs.slot),
        Inputs(inputs.features, {"input_ids": IDS, "attention_mask": torch.ones(2, 1, 4, 4)}, inputs.slot),
    ):
        with pytest.raises(NotDefined, match="of batch x tokens"):
            padded(module, other, 1, "right")
