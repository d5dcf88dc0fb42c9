"""A float64 run stays float64, whatever a model casts to."""

from __future__ import annotations

import pytest
import torch

from axioms.core.dtypes import KeepFloat64, keep_float64


@pytest.mark.parametrize("cast", [torch.Tensor.float, torch.Tensor.half, lambda x: x.to(torch.float32)])
def test_a_cast_down_is_no_cast(cast: object) -> None:
    value = torch.ones(2, dtype=torch.float64)
    with KeepFloat64():
        assert cast(value) is value  # type: ignore[operator]


def test_positions_meet_frequencies_in_float64() -> None:
    positions, frequencies = torch.arange(3).view(1, 3), torch.rand(3, 1, dtype=torch.float64)
    with KeepFloat64():
        assert (positions.float() @ frequencies.float()).dtype == torch.float64
    assert positions.float().dtype == torch.float32


def test_masks_and_float32_runs_are_left_alone() -> None:
    with KeepFloat64():
        assert torch.ones(2, dtype=torch.bool).float().dtype == torch.float32
    with keep_float64(torch.ones(1)):
        assert torch.arange(3).float().dtype == torch.float32
