"""What a worker elsewhere needs before it can compute: the user's code, and where the specs lie."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from axioms.core.imports import import_modules
from axioms.core.suite import suite_specs
from axioms.run.address import Address

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Setup:
    """The session as its workers must know it."""

    folder: Path
    """Where pytest was started. A worker on a machine that has no such folder is sent its files."""
    modules: tuple[str, ...] = ()
    """The user's, which register methods and everything else."""
    conftests: tuple[Path, ...] = ()
    path: tuple[str, ...] = ()
    """Where the session finds modules."""
    suite: Path = field(default_factory=suite_specs)
    threads: int = 1
    """That torch takes."""
    environment: Mapping[str, str] | None = None
    """Variables that the session sets."""

    def apply(self) -> None:
        """Make this process a worker of the session. What is wrong with the user's code is one sentence."""
        import torch

        torch.set_num_threads(self.threads)
        os.environ.update(self.environment or {})
        folder = self.located(self.folder)
        os.chdir(folder)
        sys.path[:0] = [entry for entry in self.path if entry not in sys.path and Path(entry).is_dir()]
        for number, file in enumerate(self.conftests):
            _run_file(f"axioms_conftest_{number}", self.located(file))
        import_modules(self.modules, folder)

    def located(self, file: Path) -> Path:
        """Return where a file of the session is on this machine: in the same place, or where Ray has put its copy."""
        if file.exists():
            return file
        for there, here in ((self.folder, Path.cwd()), (self.suite, suite_specs())):
            if file.is_relative_to(there):
                return here / file.relative_to(there)
        return file

    def located_address(self, address: Address) -> Address:
        """Return where a subject is found on this machine."""
        file = self.located(address.file)
        return address if file == address.file else replace(address, file=file)


def loaded_conftests() -> tuple[Path, ...]:
    """Return the `conftest.py` files that this process has loaded: they may register something."""
    files = {Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    return tuple(sorted(file for file in files if file.name == "conftest.py" and "site-packages" not in file.parts))


def package_digest() -> str:
    """Return a digest of this package's source, the same wherever it is installed."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(file.relative_to(PACKAGE).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def _run_file(name: str, file: Path) -> None:
    """Load a module from its file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
