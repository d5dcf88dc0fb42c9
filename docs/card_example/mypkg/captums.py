"""A method with captum's interface."""

from captum.attr import InputXGradient

SHARE = 0.5


class Blended(InputXGradient):
    """Gradient x Input, blended with its absolute value."""

    def attribute(self, inputs, target=None, share: float = SHARE):
        """Return a share of the scores, and the rest by their size."""
        scores = super().attribute(inputs, target=target)
        return share * scores + (1 - share) * scores.abs()
