"""Rewrites that keep a model's function, one file for each thing that they touch; importing this registers them all.

A file added here is found by itself. None imports torch before it is used: `patterns` does, and is imported inside.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
