"""Another implementation of attention is chosen, or it is said why there is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from axioms.core.errors import NotApplicable
from axioms.rewrites.backend import switch_attention


class Switching(nn.Module):
    """A model with transformers' switch, which knows some implementations and only logs that it lacks others."""

    def __init__(self, current: str | None, known: tuple[str, ...] = ("eager", "sdpa")) -> None:
        super().__init__()
        self.config, self.known = SimpleNamespace(_attn_implementation=current), known

    def set_attn_implementation(self, name: str) -> None:
        if name == "impossible":
            raise ValueError("no such code")
        if name in self.known:
            self.config._attn_implementation = name


@pytest.mark.parametrize(("current", "wanted"), [("eager", "sdpa"), ("sdpa", "eager")])
def test_the_model_comes_back_with_the_other_implementation(current: str, wanted: str) -> None:
    model = Switching(current)
    assert switch_attention(model, wanted) is model
    assert model.config._attn_implementation == wanted


@pytest.mark.parametrize(
    ("model", "wanted", "reason"),
    [
        (nn.Linear(1, 1), "eager", "Linear has no `set_attn_implementation`"),
        (Switching(None), "eager", "Switching has no `set_attn_implementation`"),
        (Switching("eager"), "eager", "its attention is 'eager' already"),
        (Switching("eager"), "impossible", "no 'impossible' attention: no such code"),
        (Switching("eager", known=("eager",)), "sdpa", "Switching has no 'sdpa' attention"),
    ],
)
def test_a_model_that_cannot_switch_is_refused(model: nn.Module, wanted: str, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        switch_attention(model, wanted)
