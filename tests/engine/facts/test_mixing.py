"""What is written into a part of a tensor is known of that part."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

import axioms
from axioms.engine import facts
from axioms.engine.facts import Facts


def test_a_view_tells_the_tensor_that_it_is_of() -> None:
    whole = facts.vary(torch.zeros(2, 3))
    facts.put(whole[1], Facts(degree=2))
    assert facts.of(whole[1]) == Facts(degree=2)
    assert facts.of(whole[0]) == Facts(varies=True)


class Turned(nn.Module):
    """Multiplies pairs of numbers by a phase, as rotary positions do, and reads the real parts."""

    def __init__(self, pair: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.pair = nn.Linear(4, 6).double(), nn.Linear(3, 2).double(), pair

    def forward(self, x: Tensor) -> Tensor:
        left, right = self.first(x).chunk(2, dim=-1)
        angles = torch.arange(3, dtype=torch.float64)
        return self.last((self.pair(left, right) * torch.polar(torch.ones_like(angles), angles)).real)


def written_apart(left: Tensor, right: Tensor) -> Tensor:
    """Write the parts of a complex number through a view whose numbers are real: half as wide, and twice as many."""
    number = torch.zeros(left.shape, dtype=torch.complex128)
    parts = torch.view_as_real(number)
    parts[..., 0], parts[..., 1] = left, right
    return number


def test_complex_numbers_may_be_written_part_by_part() -> None:
    x = torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    wanted = axioms.attribute(Turned(torch.complex), x, method="gradient_x_input").scores
    for method in ("gradient_x_input", "attnlrp"):
        found = axioms.attribute(Turned(written_apart), x, method=method).scores
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
