"""The cache of assets: each file is verified, and fetched where it is missing, by one process at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from axioms.core.environment import switched_on
from axioms.core.errors import AssetMissing, SubjectWarning
from axioms.subjects.assets.download import FetchFailed, Report, sha256_of
from axioms.subjects.assets.fetch import fetch
from axioms.subjects.assets.manifest import Asset

State = Literal["cached", "missing", "corrupted"]
OFFLINE = "AXIOMS_OFFLINE"
CACHE = "AXIOMS_CACHE"


def cache_folder() -> Path:
    """Return `$AXIOMS_CACHE`, else `pytest-axioms` in the user's cache directory."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE]).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(base).expanduser() / "pytest-axioms"


def warn(sentence: str) -> None:
    """Warn the user: pytest shows warnings at the end, also those of xdist's workers."""
    warnings.warn(sentence, SubjectWarning, stacklevel=2)


class Store:
    """Assets in one cache folder."""

    def __init__(self, report: Report, notify: Callable[[str], None] = warn, folder: Path | None = None) -> None:
        self._report = report
        self._notify = notify
        self.folder = folder or cache_folder()

    def path(self, asset: Asset) -> Path:
        """The folder of the asset's files."""
        return self.folder / "assets" / asset.folder_name

    def states(self, asset: Asset) -> dict[str, State]:
        """Return the state of each file, which is read and compared with its SHA-256."""
        return {name: self._state(self.path(asset) / name, file.sha256) for name, file in asset.files.items()}

    def state(self, asset: Asset) -> State:
        """Return the state of the whole asset: corrupted if any file is, cached if all are."""
        return overall(self.states(asset))

    def locate(self, asset: Asset) -> Path:
        """Return the folder with every file verified, fetched where needed, or raise `AssetMissing`."""
        from filelock import FileLock

        if self.state(asset) == "cached":  # the usual case needs no lock, and a cache that cannot be written to
            return self.path(asset)
        try:
            self.path(asset).mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / f"{asset.folder_name}.lock"):
                self._complete(asset)  # another process may have fetched it while this one waited
        except OSError as error:
            raise AssetMissing(
                f"asset {asset.name!r} cannot be kept in {self.folder}: {error.strerror or error}. "
                f"Make room there, or name another folder with {CACHE}.",
                asset.name,
            ) from None
        return self.path(asset)

    def _complete(self, asset: Asset) -> None:
        states = self.states(asset)
        missing = [name for name, state in states.items() if state != "cached"]
        corrupted = [name for name in missing if states[name] == "corrupted"]
        if not missing:
            return
        if switched_on(OFFLINE):
            raise AssetMissing(_reason(asset, corrupted, f"{OFFLINE} forbids fetching it"), asset.name)
        for name in corrupted:
            self._notify(
                f"{name} of asset {asset.name!r} in the cache is corrupted (its SHA-256 is wrong); it is fetched again."
            )
        failures = []
        for source in asset.sources:
            wanted = [name for name in missing if source.has(name)]
            if not wanted:
                continue
            try:
                fetch(source, asset, wanted, self.path(asset), self.folder / "tmp", self._report)
            except FetchFailed as error:
                failures.append(f"the {source} {error}")
            missing = [name for name in missing if self.states(asset)[name] != "cached"]
            if not missing:
                return
        raise AssetMissing(_reason(asset, corrupted, "; ".join(failures)), asset.name)

    @staticmethod
    def _state(file: Path, sha256: str) -> State:
        if not file.is_file():
            return "missing"
        return "cached" if sha256_of(file) == sha256 else "corrupted"


def overall(states: Mapping[str, State]) -> State:
    """Return the state of an asset from those of its files: the worst of them."""
    worst_first: tuple[State, ...] = ("corrupted", "missing")
    return next((state for state in worst_first if state in states.values()), "cached")


def _reason(asset: Asset, corrupted: list[str], why: str) -> str:
    what = f"is corrupted in the cache ({', '.join(corrupted)})" if corrupted else "is not in the cache"
    return f"asset {asset.name!r} {what}, and {why}. With a network: axioms assets fetch {asset.name}"
