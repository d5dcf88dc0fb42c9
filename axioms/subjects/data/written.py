"""Data sources whose numbers are written in the spec itself."""

from __future__ import annotations

from axioms.core.errors import InputError
from axioms.core.registry import data
from axioms.subjects.data.examples import Data


@data("points")
def points(*, values: list[list[float]]) -> Data:
    """Feature vectors written in the spec itself."""
    import torch

    lengths = {len(row) for row in values}
    if len(lengths) != 1:
        raise InputError(f"points must all have the same length; found lengths {sorted(lengths)}.")
    return Data(torch.tensor(values, dtype=torch.float64), names=tuple(str(row) for row in values))


@data("masked-tokens")
def masked_tokens(*, values: list[list[list[float]]]) -> Data:
    """Token vectors written in the spec itself, with an attention mask, so that removing one is masking it."""
    import torch

    if len({(len(row), len(token)) for row in values for token in row}) != 1:
        raise InputError("masked-tokens must all have the same number of tokens, and tokens the same width.")
    tokens = torch.tensor(values, dtype=torch.float64)
    mask = torch.ones(tokens.shape[:2], dtype=torch.int64)
    return Data({"features": tokens, "attention_mask": mask}, names=tuple(str(row) for row in values))


@data("tokens")
def tokens(*, values: list[list[int]]) -> Data:
    """Token ids written in the spec itself; shorter texts are padded with 0 on the right and masked."""
    import torch

    length = max(len(row) for row in values)
    ids = torch.tensor([row + [0] * (length - len(row)) for row in values])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in values])
    return Data({"input_ids": ids, "attention_mask": mask}, names=tuple(str(row) for row in values))
