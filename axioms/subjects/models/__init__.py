"""Models. Importing this imports every file here, which registers them; only `modules` beneath imports torch."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
