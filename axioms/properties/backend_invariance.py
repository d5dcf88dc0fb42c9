"""Which code computes attention must not change the attribution: eager = sdpa."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Metric
from axioms.core.errors import InputError, NotDefined
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.views import GAP, SideView

if TYPE_CHECKING:
    from torch import nn

OTHER = {"eager": "sdpa", "sdpa": "eager"}


@axiom(
    "backend_invariance",
    metrics={"relative_gap": Metric(GAP.format(a="eager", b="sdpa"), rounding=True)},
    expect={"relative_gap.max": {"le": 1e-9}},
)
def backend_invariance(side: SideView) -> dict[str, Values]:
    """The gap between the relevance with the model's attention implementation and with the other of the two."""
    side.bench.attribution()  # before the switch: this may be the first check that needs it
    with other_attention(side.model.module):
        switched = side.rerun()
    return {"relative_gap": side.gap_to(switched)}


@contextmanager
def other_attention(module: nn.Module) -> Iterator[None]:
    """Give the module `sdpa` instead of `eager` attention, or the other way round, until exit."""
    config: Any = getattr(module, "config", None)
    now = getattr(config, "_attn_implementation", None)
    switch: Any = getattr(module, "set_attn_implementation", None)
    name = type(module).__name__
    if switch is None:
        raise InputError(f"backend_invariance needs a model with `set_attn_implementation`, and {name} has none.")
    if now not in OTHER:
        raise InputError(f"backend_invariance compares eager with sdpa attention, and {name} runs {now!r}.")
    before = implementations(config)
    try:
        try:
            switch(OTHER[now])
        except (ValueError, ImportError) as error:
            raise NotDefined(f"{name} has no {OTHER[now]!r} attention to compare with {now!r}: {error}") from None
        if config._attn_implementation != OTHER[now]:  # transformers only logs that it could not
            raise NotDefined(f"{name} has no {OTHER[now]!r} attention to compare with {now!r}.")
        yield
    finally:
        switch(before)


def implementations(config: Any) -> Any:
    """Return the implementations of a configuration and of those inside it, as `set_attn_implementation` takes them."""
    inner = {key: getattr(config, key, None) for key in getattr(config, "sub_configs", {})}
    named = {key: implementations(part) for key, part in inner.items() if part is not None}
    return {"": config._attn_implementation, **named} if named else config._attn_implementation
