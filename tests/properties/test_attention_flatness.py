"""The entropy of a layer that has several attentions, and of batches one after the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from axioms.core.errors import InputError
from axioms.engine.handlers import observe as observing
from axioms.engine.handlers.observe import Attention
from axioms.model.inputs import Inputs
from axioms.properties.attention_flatness import entropies, normalized_entropy
from tests.properties.sides import Three, make_side

SHARES = [0.5, 0.1, 0.25, 0.9, 0.05, 0.3]


def entropy(share: float) -> float:
    return float(-(share * np.log2(share) + (1 - share) * np.log2(1 - share)))


def attention(path: str, shares: list[float]) -> Attention:
    """One head and one query a row, which sees two keys."""
    weights = torch.tensor([[[[share, 1 - share]]] for share in shares], dtype=torch.float64)
    return Attention(path, weights, torch.ones_like(weights, dtype=torch.bool))


def test_a_layer_is_the_mean_of_its_attentions_and_examples_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []

    def observe(model: Any, batch: Inputs) -> Any:
        places = batch.features[:, 0].long().tolist()
        rows.append(len(places))
        shares = [SHARES[place] for place in places]
        return SimpleNamespace(
            attentions=[
                attention("layers.0.self", shares),
                attention("layers.1.self", [share / 2 for share in shares]),
                attention("layers.0.cross", [share / 3 for share in shares]),
                attention("elsewhere", [0.5] * len(shares)),
            ]
        )

    monkeypatch.setattr(observing, "observe", observe)
    features = torch.zeros(3, 4, dtype=torch.float64)
    features[:, 0] = torch.arange(3)
    side, _ = make_side(Three(), Inputs(features), batch_size=2)
    found = entropies(side, (2, 1))
    assert rows == [2, 1]
    wanted = [[entropy(s / 2), (entropy(s) + entropy(s / 3)) / 2] for s in SHARES[:3]]
    np.testing.assert_allclose(found, wanted)
    with pytest.raises(InputError, match="no attention weights in layer 3"):
        entropies(side, (1, 3))


def test_entropy_is_a_mean_over_heads_and_queries_that_have_a_choice() -> None:
    """Two heads; the second query of the second head sees one key, and a query of a mask of another length counts."""
    shares = torch.tensor([[[0.5, 0.2], [0.1, 1.0]]], dtype=torch.float64)
    weights = torch.stack([shares, 1 - shares], dim=-1)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    allowed[0, 1, 1, 1] = False
    seen = Attention("", weights, allowed)
    three = np.mean([entropy(0.5), entropy(0.2), entropy(0.1)])
    found = normalized_entropy(seen, Inputs(torch.zeros(1, 2, 1)))
    np.testing.assert_allclose(found.numpy(), [three])
    longer = Inputs(torch.zeros(1, 2, 1), {"attention_mask": torch.tensor([[1, 0, 0]])})
    np.testing.assert_allclose(normalized_entropy(seen, longer).numpy(), [three])
    first = Inputs(torch.zeros(1, 2, 1), {"attention_mask": torch.tensor([[1, 0]])})
    np.testing.assert_allclose(normalized_entropy(seen, first).numpy(), [(entropy(0.5) + entropy(0.1)) / 2])
