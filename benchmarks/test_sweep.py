"""A sweep over layers beside each of its settings on its own: one call of AttnLRP with the softmax bypassed in them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from axioms.engine.handlers.sweep import distinct, sweep
from axioms.methods.lrp import attnlrp, attnlrp_composite
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose

KINDS = ("single", "front_to_back", "back_to_front")


@pytest.mark.parametrize(("layers", "width"), [(6, 384), (12, 768)], ids=["6-layers", "12-layers"])
def test_sweep(bert: Any, texts: Any, compare: Any, settings: Any, layers: int, width: int) -> None:
    """Settings that are equal, such as the first layer alone and the first from the front, count once."""
    module = bert(layers, width, attention="eager")
    model, inputs = Model(module), read_inputs(module, texts(8, 32))
    wanted = distinct(KINDS, range(1, settings.layers(layers) + 1))
    with model.at_rest():
        with torch.no_grad():
            target = choose("predicted", model(inputs))

        def one_by_one() -> None:
            for bypassed in wanted:
                attnlrp(model, inputs, target, bypass={"softmax": sorted(bypassed)})

        compare(
            f"sweep, {layers} layers x {width}, {len(wanted)} settings",
            lambda: sweep(model, inputs, target, attnlrp_composite(0.0), KINDS),
            one_by_one,
            of="each setting on its own",
            goal=0.45,
            rounds=3,
        )
