"""Two linear layers with an activation between them, named or in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm

from axioms.engine.where import is_activation
from axioms.rewrites.patterns.layers import CONVOLUTIONS, Map, at_least_one, attribute, is_linear, oriented

NAMED = (
    (("gate_proj", "up_proj"), "down_proj"),
    (("c_fc",), "c_proj"),
    (("fc1",), "fc2"),
    (("lin1",), "lin2"),
    (("dense_h_to_4h",), "dense_4h_to_h"),
    (("wi",), "wo"),
    (("wi_0", "wi_1"), "wo"),
    (("intermediate.dense",), "output.dense"),
)
FUSED = (("gate_up_proj", "down_proj"), ("Wi", "Wo"))
"""One layer whose outputs are the gate's and then the other's, or the other way round."""
ACTIVATION = ("act", "act_fn", "activation", "activation_fn", "intermediate.intermediate_act_fn")


@dataclass(frozen=True)
class Mlp:
    """y = W_2 g(W_1 x); with a gate there are two maps in front."""

    first: tuple[Map, ...]
    last: Map
    activation: nn.Module | None
    norm: Any = None
    """A BatchNorm between the first map and the activation."""

    @property
    def neurons(self) -> int:
        """The number of hidden units (or channels)."""
        return len(self.first[0].rows)


def mlps(model: nn.Module) -> list[Mlp]:
    """Return every MLP, or raise `NotApplicable`."""
    matches = [mlp for module in model.modules() for mlp in (*_named(module), *_in_a_row(module))]
    return at_least_one(matches, "two linear layers with an activation between them")


def _named(module: nn.Module) -> list[Mlp]:
    activation = next((attribute(module, name) for name in ACTIVATION if attribute(module, name) is not None), None)
    for names, last in NAMED:
        layers = [attribute(module, name) for name in (*names, last)]
        if all(is_linear(layer) for layer in layers):
            *first, second = (Map.whole(layer) for layer in layers)
            if oriented(second.layer).shape[1] == len(first[0].rows):
                return [Mlp(tuple(first), second, activation)]
    for name, last in FUSED:
        fused, second = attribute(module, name), attribute(module, last)
        if is_linear(fused) and is_linear(second) and len(oriented(fused)) == 2 * oriented(second).shape[1]:
            whole = Map.whole(fused)
            return [Mlp((whole.part(0, 2), whole.part(1, 2)), Map.whole(second), activation)]
    return []


def _in_a_row(module: nn.Module) -> list[Mlp]:
    if not isinstance(module, nn.Sequential):
        return []
    layers, matches = list(module), []
    for place, layer in enumerate(layers):
        rest = layers[place + 1 :]
        norm = rest.pop(0) if rest and isinstance(rest[0], BatchNorm) else None
        if len(rest) < 2 or not is_activation(rest[0]):
            continue
        both_linear = is_linear(layer) and is_linear(rest[1])
        if both_linear or (is_convolution(layer) and is_convolution(rest[1])):
            matches.append(Mlp((Map.whole(layer),), Map.whole(rest[1]), rest[0], norm))
    return matches


def is_convolution(module: object) -> bool:
    """Whether a module is a convolution whose outputs each read all inputs."""
    return isinstance(module, CONVOLUTIONS) and module.groups == 1
