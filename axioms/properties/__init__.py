"""Axioms, one a file; what several of them need is in `helpers`.

Importing this package imports every file beside this one, which registers the axioms, and does not import torch.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
