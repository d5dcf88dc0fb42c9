"""Attribution methods. Importing this imports every file here, which registers them, and does not import torch."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
