"""Data sources. Importing this imports every file here, which registers them, and does not import torch."""

from importlib import import_module
from pkgutil import iter_modules

from axioms.subjects.data.examples import Data
from axioms.subjects.data.random import random_images, random_points, random_tokens

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Data", "random_images", "random_points", "random_tokens"]
