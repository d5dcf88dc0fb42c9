"""A composite of zennit's rules."""

from zennit.composites import LayerMapComposite
from zennit.rules import Gamma
from zennit.types import Linear

SHARE = 0.5


class GammaLinear(LayerMapComposite):
    """The gamma rule on every linear layer, the plain gradient on everything else."""

    def __init__(self, *, gamma: float = SHARE):
        super().__init__([(Linear, Gamma(gamma=gamma))])
