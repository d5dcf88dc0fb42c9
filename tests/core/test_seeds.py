"""Seeds of seeds."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from axioms.core.seeds import combine_seeds

SEEDS = st.integers(-(2**70), 2**70)


@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_torch_takes_any(seeds: list[int]) -> None:
    torch.Generator().manual_seed(combine_seeds(*seeds))


@given(st.integers(0, 2**20), st.integers(0, 10**6), st.integers(0, 10**6))
def test_other_numbers_are_another_seed(seed: int, one: int, other: int) -> None:
    assert (combine_seeds(seed, one) == combine_seeds(seed, other)) == (one == other)
    assert combine_seeds(seed) == seed
