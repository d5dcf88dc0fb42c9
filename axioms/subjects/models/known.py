"""Subjects with known answers: logic; redundant, conflicting and common evidence; shattered gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.registry import subject

if TYPE_CHECKING:
    from torch import nn

Known = Literal["and", "or", "xor", "duplicates", "saturation", "conflict", "uncertainty"]


@subject("known")
def known(*, values: Known) -> nn.Module:
    """A function of any number of features with known answers, `known: and`; see subjects/models/modules/known.py."""
    from axioms.subjects.models.modules.known import MODELS

    model: nn.Module = MODELS[values]()
    return model


@subject("shattered")
def shattered(*, step: float = 0.1, slope: float = 5.0, teeth: int = 20) -> nn.Module:
    """sum_i g(x_i) with g near the identity and a slope of 1 + slope, 1 - slope, ... in turn: shattered gradients."""
    from axioms.subjects.models.modules.known import Shattered

    if step <= 0 or teeth < 1:
        raise InputError(f"shattered needs a step above 0 and at least one tooth, not {step:g} and {teeth}.")
    return Shattered(step, slope, teeth)
