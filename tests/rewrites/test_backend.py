"""Another implementation of attention is switched to, or it is said why not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from axioms.core.errors import NotApplicable
from axioms.rewrites.backend import switch_attention
from axioms.subjects.models.tiny import tiny


def test_a_model_of_transformers_is_switched_and_switched_back() -> None:
    model: Any = tiny(architecture="bert")
    before = model.config._attn_implementation
    other = "sdpa" if before == "eager" else "eager"
    assert switch_attention(model, other) is model
    assert model.config._attn_implementation == other
    with pytest.raises(NotApplicable, match=f"its attention is '{other}' already"):
        switch_attention(model, other)
    assert switch_attention(model, before).config._attn_implementation == before  # type: ignore[union-attr]


def test_what_cannot_be_switched_says_so() -> None:
    with pytest.raises(NotApplicable, match="Linear has no `set_attn_implementation`"):
        switch_attention(nn.Linear(1, 1), "sdpa")

    class Stubborn(nn.Module):
        """Logs and stays as it is, or refuses."""

        def __init__(self, current: str | None, error: Exception | None = None) -> None:
            super().__init__()
            self.config, self.error = SimpleNamespace(_attn_implementation=current), error

        def set_attn_implementation(self, name: str) -> None:
            if self.error is not None:
                raise self.error

    with pytest.raises(NotApplicable, match="Stubborn has no `set_attn_implementation`"):
        switch_attention(Stubborn(None), "sdpa")
    with pytest.raises(NotApplicable, match=r"Stubborn has no 'sdpa' attention\.$"):
        switch_attention(Stubborn("eager"), "sdpa")
    for error in (ValueError("not here"), ImportError("not here")):
        with pytest.raises(NotApplicable, match="Stubborn has no 'sdpa' attention: not here"):
            switch_attention(Stubborn("eager", error), "sdpa")
