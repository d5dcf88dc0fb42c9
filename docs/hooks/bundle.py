"""What the site needs from elsewhere, bundled, so that it works without a network once it is built."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """A file out of a package of npm's, pinned by its digest."""

    package: str
    member: str
    sha256: str


MATHJAX = Script(
    "mathjax@3.2.2",
    "package/es5/tex-svg.js",
    "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882",
)
"""MathJax with its fonts in one file."""
IFRAME_WORKER = Script(
    "iframe-worker@1.0.4",
    "package/shim/index.js",
    "e8e412dbcfea9b7e31b5ffa288d7b6035915e714c542f4176a0cdbe262fc9609",
)
"""What lets the search run from disk; the theme would load it from another site."""
ELSEWHERE = "https://unpkg.com/iframe-worker/shim"


def read(script: Script, cache: Path) -> bytes:
    """Return a script: from the cache, else once by npm, which is the only step of a build that needs a network."""
    file = cache / f"{script.package}.js"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_packed(script))
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != script.sha256:
        raise ValueError(f"{file} is not {script.package}: delete it, and build again to fetch it anew.")
    return content


def _packed(script: Script) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = ["npm", "pack", "--silent", script.package]
            name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            said = f"`npm pack {script.package}` failed: {error}. Install npm, and build the site online once."
            raise RuntimeError(said) from None
        with tarfile.open(Path(folder) / name) as archive:
            member = archive.extractfile(script.member)
            assert member is not None, f"{script.package} has no {script.member}"
            return member.read()
