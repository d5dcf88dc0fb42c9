"""Shares of a linear map: equation (1) with s = R / z, as often as it is asked."""

from __future__ import annotations

import torch

from axioms.engine.step import contributions, sign


def test_every_input_gets_its_share_of_every_output_again_and_again() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y, unused = (torch.randn(3, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3))
    weight = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    share = contributions(weight @ x + 2 * (weight @ y), [x, y, unused])
    for quotient in (torch.tensor([1.0, 0.0]).double(), torch.tensor([0.5, -2.0]).double()):
        of_x, of_y, of_unused = share(quotient)
        torch.testing.assert_close(of_x, x.detach() * (quotient @ weight))
        torch.testing.assert_close(of_y, 2 * y.detach() * (quotient @ weight))
        assert of_unused.tolist() == [0.0, 0.0, 0.0]


def test_a_masked_number_contributes_nothing() -> None:
    x = torch.tensor([-torch.inf, 2.0]).requires_grad_()
    (share,) = contributions((x * torch.tensor([0.0, 3.0]))[1:], [x])(torch.tensor([1.0]))
    assert share.tolist() == [0.0, 6.0]


def test_the_sign_of_nothing_is_positive() -> None:
    assert sign(torch.tensor([-2.0, -0.0, 0.0, 3.0])).tolist() == [-1.0, 1.0, 1.0, 1.0]
    assert sign(torch.zeros(1, dtype=torch.float16)).dtype == torch.float16
