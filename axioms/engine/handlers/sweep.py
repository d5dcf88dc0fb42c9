"""A sweep: AttnLRP with the softmax bypassed in one layer, in the first k or in the last k, for every k.

All settings of a batch share one forward pass. The backward pass is cut where the hidden states enter a layer, and goes
down from cut to cut; settings that agree in every layer above a cut share everything down to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from axioms.core.errors import InputError
from axioms.engine.composite import Composite, layer_number
from axioms.engine.facts import variables
from axioms.engine.handlers.propagate import forward
from axioms.engine.handlers.switch import Layers, Switch, SwitchedPropagation
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target

NONE: Layers = frozenset()
Progress = Callable[[int, int], None]


def settings(kind: str, layers: Sequence[int]) -> list[Layers]:
    """Return the layers that are bypassed in each setting of a kind, one setting per layer, in the order of the layers.

    `single` bypasses layer k alone, `front_to_back` the first up to k, `back_to_front` those from k to the last.
    """
    return {
        "single": [frozenset((layer,)) for layer in layers],
        "front_to_back": [frozenset(layers[: place + 1]) for place in range(len(layers))],
        "back_to_front": [frozenset(layers[place:]) for place in range(len(layers))],
    }[kind]


def distinct(kinds: Iterable[str], layers: Sequence[int]) -> list[Layers]:
    """Return every setting of these kinds, with none and all layers bypassed, each once."""
    every = [NONE, frozenset(layers), *(setting for kind in kinds for setting in settings(kind, layers))]
    return list(dict.fromkeys(every))


@dataclass(frozen=True)
class Sweep:
    """The relevance under every setting."""

    layers: tuple[int, ...]
    """Those that have a softmax, by number."""
    scores: Mapping[Layers, Tensor]
    """By the layers that are bypassed: examples x features."""


def sweep(
    model: Model,
    inputs: Inputs,
    target: Target,
    composite: Composite,
    kinds: Iterable[str],
    *,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Return the relevance of every feature under each setting of these kinds, and with no and all layers bypassed."""
    kinds, size = list(kinds), batch_size or len(inputs)
    layers: tuple[int, ...] = ()
    parts: list[Mapping[Layers, Tensor]] = []
    with torch.enable_grad(), model.at_rest():
        for start in range(0, len(inputs), size):
            rows, goal = inputs.rows(start, start + size), target.rows(start, start + size)
            layers, scores = _sweep_batch(model, rows, goal, composite, kinds)
            parts.append(scores)
            if progress is not None:
                progress(min(start + size, len(inputs)), len(inputs))
    return Sweep(layers, {setting: torch.cat([part[setting] for part in parts]) for setting in parts[0]})


def _sweep_batch(
    model: Model, inputs: Inputs, target: Target, composite: Composite, kinds: list[str]
) -> tuple[tuple[int, ...], Mapping[Layers, Tensor]]:
    features = inputs.features.detach().requires_grad_()
    switch = Switch()
    with entering(model.module) as edges:
        make = partial(SwitchedPropagation, switch=switch)
        outputs = forward(model, inputs.with_features(features), composite, make=make)
    layers = tuple(sorted(switch.seen))
    if not layers:
        raise InputError("a sweep over layers needs layers with a softmax in them, and this model has none.")
    output = target(outputs).sum()
    segments = cut(get_gradient_edge(output), edges, get_gradient_edge(features))
    scores: dict[Layers, Tensor] = {}
    for setting, gradient in descend(segments, switch, torch.ones_like(output), distinct(kinds, layers)):
        relevance = inputs.features * (torch.zeros_like(features) if gradient is None else gradient)
        scores[setting] = relevance.flatten(2).sum(2) if relevance.dim() > 2 else relevance
    return layers, scores


@contextmanager
def entering(module: nn.Module) -> Iterator[list[GradientEdge]]:
    """Note where the hidden states enter each layer, in the order of the calls; a layer's path ends in its number."""
    edges: list[GradientEdge] = []

    def note(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hidden = next(iter(variables((*args, *kwargs.values()))), None)
        if hidden is not None:
            edges.append(get_gradient_edge(hidden))

    numbered = [
        layer
        for path, layer in module.named_modules()
        if path.rpartition(".")[2].isdigit() and layer_number(path) == int(path.rpartition(".")[2]) + 1
    ]
    handles = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in numbered]
    try:
        yield edges
    finally:
        for handle in handles:
            handle.remove()


class Segment(NamedTuple):
    """A stretch of the graph between two cuts, and the layers whose switches lie in it."""

    upper: GradientEdge
    lower: GradientEdge
    layers: Layers


def cut(output: GradientEdge, edges: Iterable[GradientEdge], features: GradientEdge) -> list[Segment]:
    """Return the graph from the output to the features, cut at those edges that everything passes, from the top.

    An edge that something bypasses, because another tensor that depends on the input enters the layer beside the
    hidden states, is no cut; in the worst case the whole graph is one segment.
    """
    segments, upper = [], output
    for edge in [*reversed(list(dict.fromkeys(edges))), features]:
        if edge in (output, upper):
            continue
        layers = between(upper, edge, features)
        if layers is not None:
            segments.append(Segment(upper, edge, layers))
            upper = edge
    return segments


def between(upper: GradientEdge, lower: GradientEdge, features: GradientEdge) -> Layers | None:
    """Return the layers whose switches lie between two edges; None where a way to the features avoids the lower one."""
    seen: set[Node] = {upper.node}
    open_nodes = [upper.node]
    layers: set[int] = set()
    while open_nodes:
        node = open_nodes.pop()
        layers |= getattr(node, "layers", NONE)
        for following, number in node.next_functions:
            if following is None or (following, number) == (lower.node, lower.output_nr):
                continue
            if following in (lower.node, features.node):
                return None
            if following not in seen:
                seen.add(following)
                open_nodes.append(following)
    return frozenset(layers)


def descend(
    segments: list[Segment], switch: Switch, gradient: Tensor | None, wanted: Sequence[Layers]
) -> Iterator[tuple[Layers, Tensor | None]]:
    """Yield the gradient of the features under each setting, None where nothing arrives; shared parts run once."""
    if not segments or gradient is None:
        yield from ((setting, gradient) for setting in wanted)
        return
    first, *rest = segments
    groups: dict[Layers, list[Layers]] = {}
    for setting in wanted:
        groups.setdefault(setting & first.layers, []).append(setting)
    for bypassed, group in groups.items():
        switch.bypassed = bypassed
        (lower,) = torch.autograd.grad([first.upper], [first.lower], [gradient], retain_graph=True, allow_unused=True)
        yield from descend(rest, switch, lower, group)
