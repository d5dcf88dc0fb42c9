"""Which modules are layers, and what becomes random in one of them."""

from __future__ import annotations

import torch
from torch import nn

from axioms.properties.helpers.layers import layers_of, randomize


class Nested(nn.Module):
    """A weight of its own, an embedding, and a layer inside."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(3, 2)
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 6.0]))
        self.shift = nn.Parameter(torch.tensor([[4.0, 8.0]]))
        self.inside = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))


def test_layers_are_modules_with_parameters_of_their_own_the_last_first() -> None:
    module = nn.Sequential(Nested(), nn.ReLU(), nn.LayerNorm(1))
    assert layers_of(module) == ["2", "0.inside.2", "0.inside.0", "0"]


def test_only_a_modules_own_parameters_become_noise_of_their_mean_and_deviation() -> None:
    module = Nested()
    inside = [weight.detach().clone() for weight in (*module.inside.parameters(), *module.table.parameters())]
    randomize(module, 5)
    draw = torch.Generator().manual_seed(5)
    noise = [torch.randn(shape, generator=draw, dtype=torch.float64).float() for shape in ((3,), (1, 2))]
    torch.testing.assert_close(module.scale.data, 3.0 + (14 / 3) ** 0.5 * noise[0])  # 4 + 1 + 9 over three
    torch.testing.assert_close(module.shift.data, 6.0 + 2.0 * noise[1])
    after = [*module.inside.parameters(), *module.table.parameters()]
    assert all(torch.equal(old, new) for old, new in zip(inside, after, strict=True))
    again = Nested()
    randomize(again, 6)
    assert not torch.equal(again.scale, module.scale)
