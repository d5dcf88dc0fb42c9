"""Assets: real weights and data, verified, without running anyone's code. Importing this does not import torch."""

from __future__ import annotations

from pathlib import Path

from axioms.core.bar import Bar
from axioms.subjects.assets.download import Report
from axioms.subjects.assets.manifest import Asset, find_asset, known_assets
from axioms.subjects.assets.store import OFFLINE, Store, cache_folder, overall

__all__ = [
    "OFFLINE",
    "Asset",
    "Report",
    "Store",
    "cache_folder",
    "find_asset",
    "known_assets",
    "locate",
    "overall",
]


def locate(name: str, near: Path, report: Report | None = None) -> Path:
    """Return the folder with all verified files of an asset, fetched where needed, or raise `AssetMissing`.

    `near` is the spec, or any path whose folder or a folder above it has a `fixtures/assets.yaml`.
    """
    return Store(report or Bar()).locate(find_asset(name, near))
