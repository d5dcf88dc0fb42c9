"""`axioms assets`: list, fetch and check the real weights and data that specs use."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from axioms.core.bar import Bar
from axioms.core.errors import AssetMissing, SpecError, did_you_mean
from axioms.core.printable import printable
from axioms.subjects.assets import Asset, Store, known_assets, overall

MEGABYTE = 1_000_000


def add_parser(commands: Any) -> None:
    """Add the subcommand to the `axioms` command."""
    parser = commands.add_parser(
        "assets",
        help="list, fetch and check the weights and data that specs use",
        description="Weights and data that specs use, pinned by SHA-256 in fixtures/assets.yaml and kept in the user's "
        "cache directory (AXIOMS_CACHE names another). Checks fetch what they need by themselves, unless "
        "AXIOMS_OFFLINE=1 or --axioms-offline forbids it.",
    )
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "fetch", "check"),
        help="list: what there is and what is cached (default); fetch: download what is missing or corrupted; "
        "check: exit with 1 if what is cached is corrupted, or a named asset is not cached",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="assets; all by default")
    parser.add_argument(
        "--near", type=Path, default=Path(), metavar="PATH", help="look for fixtures/assets.yaml from here upwards (.)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand; return 1 where something is missing or corrupted, 2 where a name or a manifest is wrong."""
    try:
        known = known_assets(options.near)
    except SpecError as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    unknown = [name for name in options.names if name not in known]
    for name in unknown:
        print(f"there is no asset {name!r}.{did_you_mean(name, known)}", file=sys.stderr)
    if unknown:
        return 2
    if not known:
        print("no fixtures/assets.yaml here or in any folder above; name a place with --near.", file=sys.stderr)
        return 2
    store = Store(Bar(), lambda sentence: print(printable(sentence), file=sys.stderr))
    assets = [known[name] for name in options.names or known]
    if options.action == "fetch":
        return _fetch(store, assets)
    if options.action == "check":
        return _check(store, assets, required=bool(options.names))
    _list(store, assets)
    return 0


def _fetch(store: Store, assets: list[Asset]) -> int:
    failed = 0
    for asset in assets:
        try:
            print(f"{asset.name}: {store.locate(asset)}")
        except AssetMissing as error:
            failed = 1
            print(printable(str(error)), file=sys.stderr)
    return failed


def _list(store: Store, assets: list[Asset]) -> None:
    for asset in assets:
        print(printable(f"{_line(asset, store.state(asset), assets)}\n  {asset.about}"))
    print(f"cache: {store.folder}")


def _check(store: Store, assets: list[Asset], *, required: bool) -> int:
    """Read every cached file and return 1 where something is wrong: a missing asset only if it was named."""
    wrong = 0
    for asset in assets:
        states = store.states(asset)
        state = overall(states)
        print(_line(asset, state, assets))
        if state == "corrupted" or (state == "missing" and required):
            wrong += 1
            bad = [f"{name} is {of_file}" for name, of_file in states.items() if of_file != "cached"]
            print(f"{', '.join(bad)}: axioms assets fetch {asset.name}", file=sys.stderr)
    return 1 if wrong else 0


def _line(asset: Asset, state: str, among: list[Asset]) -> str:
    width = max(len(other.name) for other in among)
    return f"{asset.name:<{width}}  {state:<9}  {asset.size / MEGABYTE:6.1f} MB  {asset.licence}"
