"""Encoders of texts with a head that compares a text with descriptions of classes."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from axioms.subjects.models.modules.wrapped import Wrapped


def mean_token(encoder: nn.Module, attention_mask: Tensor, **given: Any) -> Tensor:
    """Return the mean of the last hidden states of the tokens that are attended to: batch x width."""
    states = encoder(attention_mask=attention_mask, **given).last_hidden_state
    there = attention_mask.unsqueeze(-1).to(states.dtype)
    return (states * there).sum(dim=1) / there.sum(dim=1)


class Similarity(Wrapped):
    """An encoder whose mean token is compared with one direction for each class: a linear head that nobody trained."""

    def __init__(self, encoder: nn.Module, directions: Tensor) -> None:
        super().__init__(encoder)
        self.directions = nn.Parameter(directions, requires_grad=False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, **kwargs: Any
    ) -> Tensor:
        """Return batch x classes."""
        kinds = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        text = mean_token(self.inner, attention_mask, input_ids=input_ids, **kinds, **kwargs)
        return F.linear(text, self.directions)
