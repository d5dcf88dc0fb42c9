"""Another backend of attention, of a model that has it; of any other the rewrite says that there is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from axioms.core.errors import NotApplicable
from axioms.rewrites.backend import eager_attention, sdpa_attention


class Switches(nn.Module):
    """A model of transformers as far as its switch goes: what it obeys, ignores and refuses."""

    def __init__(self, current: str | None, obeys: bool = True, refuses: type[Exception] | None = None) -> None:
        super().__init__()
        self.config = SimpleNamespace(_attn_implementation=current)
        self.obeys, self.refuses = obeys, refuses

    def set_attn_implementation(self, implementation: str) -> None:
        if self.refuses is not None:
            raise self.refuses("too old")
        if self.obeys:
            self.config._attn_implementation = implementation


def test_the_backend_is_switched_to_the_other_one() -> None:
    eager, sdpa = Switches("eager"), Switches("sdpa")
    assert sdpa_attention(eager) is eager
    assert eager.config._attn_implementation == "sdpa"
    assert eager_attention(sdpa) is sdpa
    assert sdpa.config._attn_implementation == "eager"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (nn.Linear(1, 1), "Linear has no `set_attn_implementation`"),
        (Switches(None), "Switches has no `set_attn_implementation`"),
        (Switches("sdpa"), "its attention is 'sdpa' already"),
        (Switches("eager", obeys=False), r"Switches has no 'sdpa' attention\.$"),
        (Switches("eager", refuses=ValueError), "Switches has no 'sdpa' attention: too old"),
        (Switches("eager", refuses=ImportError), "Switches has no 'sdpa' attention: too old"),
    ],
)
def test_a_model_that_cannot_be_switched_says_why(model: nn.Module, said: str) -> None:
    with pytest.raises(NotApplicable, match=said):
        sdpa_attention(model)


def test_a_model_with_a_backend_and_no_switch_cannot_be_switched() -> None:
    model = nn.Linear(1, 1)
    model.config = SimpleNamespace(_attn_implementation="eager")  # type: ignore[assignment]
    with pytest.raises(NotApplicable, match="Linear has no `set_attn_implementation`"):
        sdpa_attention(model)
