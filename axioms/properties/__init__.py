"""Axioms, one a file. Importing this imports every file here, which registers them, and does not import torch."""

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
