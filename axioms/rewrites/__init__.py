"""Function-preserving rewrites, one a file. Importing this registers them all, and does not import torch."""

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    if not _found.ispkg:  # `patterns` is what they share, and imports torch
        import_module(f"{__name__}.{_found.name}")
