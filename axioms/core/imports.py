"""Loading a user's modules, which register methods, rules and everything else; what goes wrong is one sentence."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from axioms.core.environment import NO_CODE, switched_on
from axioms.core.errors import AxiomsError, InputError, display_path, said

REFUSED = f"importing it runs its code, which --axioms-no-code ({NO_CODE}=1) forbids"


def import_modules(modules: Iterable[str], folder: Path | None = None) -> None:
    """Import modules by name, also those that lie in the folder: the working directory unless another is named."""
    folder = folder or Path.cwd()
    for module in modules:
        _import(module, folder)


def _import(module: str, folder: Path) -> None:
    if switched_on(NO_CODE):
        raise InputError(f"cannot import {module!r}: {REFUSED}. Leave that out if you trust the module.")
    if "/" in module or module.endswith(".py"):
        name = Path(module).with_suffix("").as_posix().lstrip("./").replace("/", ".")
        raise InputError(f"cannot import {module!r}: it is a path, and the name of a module is needed; write {name!r}.")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            what = f"there is no such module in {folder} or among the installed packages"
        else:
            what = f"it needs {error.name!r}, which is not installed"
        raise InputError(f"cannot import {module!r}: {what}.") from None
    except SyntaxError as error:
        place = f"{display_path(Path(error.filename or module))}, line {error.lineno}"
        raise InputError(f"cannot import {module!r}: {error.msg} ({place}).") from None
    except AxiomsError as error:
        raise InputError(f"cannot import {module!r}: {error}") from None
    except Exception as error:
        raise InputError(f"cannot import {module!r}: it raised {said(error)}.") from error
