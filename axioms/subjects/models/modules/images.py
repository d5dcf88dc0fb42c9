"""A classifier of images that also takes their pixels in a row."""

from __future__ import annotations

import math

from torch import Tensor, nn

from axioms.core.errors import InputError

CHANNELS = 3


class ImageClassifier(nn.Module):
    """Gives a model its images, batch x 3 x height x width, whichever way the data holds them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Return the logits of images, or of rows of pixels: red, green and blue, or gray for all three."""
        images = pixel_values if pixel_values.dim() == 4 else _as_images(pixel_values)
        size = getattr(self.model, "image_size", None)
        if size is not None and images.shape[-2:] != (size, size):
            given = " x ".join(map(str, images.shape[-2:]))
            raise InputError(f"this model takes images of {size} x {size}; the data has {given}. Set its `image_size`.")
        return self.model(images)


def _as_images(pixels: Tensor) -> Tensor:
    count = pixels.shape[1]
    channels = 1 if math.isqrt(count) ** 2 == count else CHANNELS  # three times a square is never a square
    side = math.isqrt(count // channels)
    if channels * side * side != count:
        raise InputError(f"{count} pixels are no square image, neither in gray nor in {CHANNELS} colours.")
    return pixels.unflatten(1, (channels, side, side)).expand(-1, CHANNELS, -1, -1)


class PatchClassifier(nn.Module):
    """A ViT that takes its tokens as features: a place for [CLS], whose content is the model's own, then patches.

    So that a patch can be removed by the attention mask, as a token of a text is.
    """

    def __init__(self, model: nn.Module, patch: int) -> None:
        super().__init__()
        self.model = model
        self.patch = patch

    def forward(self, patches: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return the logits of images given as batch x (1 + patches) x pixels of a patch."""
        images = put_together(patches[:, 1:], self.patch)
        logits: Tensor = self.model(pixel_values=images, attention_mask=attention_mask).logits
        return logits


def put_together(patches: Tensor, patch: int) -> Tensor:
    """Return square gray images (batch x 1 x side x side) of their patches (batch x patches x pixels)."""
    side = math.isqrt(patches.shape[1])
    if side * side != patches.shape[1] or patch * patch != patches.shape[2]:
        raise InputError(
            f"{patches.shape[1]} patches of {patches.shape[2]} pixels are no square image of {patch} x {patch} patches."
        )
    squares = patches.unflatten(2, (patch, patch)).unflatten(1, (side, side))
    return squares.transpose(2, 3).flatten(3, 4).flatten(1, 2).unsqueeze(1)
