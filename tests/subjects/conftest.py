"""Stand-ins for the hub and the package index: nothing here leaves the machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from axioms.core.environment import switched_on
from axioms.core.errors import AssetMissing
from axioms.subjects.assets import clients, locate

COMMIT = "a" * 40
FIXTURES = Path(__file__).parents[2] / "fixtures"


class StandIn:
    """A server of files that knows ranges, counts what it is asked for, and can break off."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.cuts: list[int] = []
        """How many bytes each of the next answers stops after."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.requests.append((handler.path, wanted))
        body = self.files.get(unquote(handler.path.partition("?")[0]))
        if body is None:
            handler.send_error(404)
            return
        start = int(re.findall(r"\d+", wanted)[0]) if wanted else 0
        if start >= len(body):
            handler.send_error(416)
            return
        handler.send_response(206 if wanted else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.send_header("Content-Type", "text/html" if handler.path.endswith("/") else "application/octet-stream")
        if "/resolve/" in handler.path:
            handler.send_header("ETag", f'"{sha(body)}"')
            handler.send_header("X-Repo-Commit", COMMIT)
        handler.end_headers()
        if handler.command == "GET":
            stop = start + self.cuts.pop(0) if self.cuts and handler.path.endswith(".whl") else len(body)
            handler.wfile.write(body[start:stop])

    def wheel_requests(self) -> list[str | None]:
        """The ranges that were asked for of wheels."""
        return [wanted for path, wanted in self.requests if path.endswith(".whl")]

    def host(self, name: str, folder: Path, kind: str = "model") -> None:
        """Put a folder on the hub as a repository, under `main`."""
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        for revision in ("main", COMMIT):
            prefix = f"/{name}" if kind == "model" else f"/{kind}s/{name}"
            self.files |= {f"{prefix}/resolve/{revision}/{file}": content for file, content in files.items()}
        listed = [{"type": "file", "path": file, "size": len(files[file]), "oid": sha(files[file])} for file in files]
        info = {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]}
        self.files[f"/api/{kind}s/{name}/revision/main"] = json.dumps(info).encode()
        self.files[f"/api/{kind}s/{name}/tree/{COMMIT}"] = json.dumps(listed).encode()

    def pip(self, command: str, wheel: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What pip says of this index, without starting it."""
        url = f"{self.url}/files/{wheel.replace('==', '-')}-py3-none-any.whl"
        return subprocess.CompletedProcess([], 0, json.dumps({"install": [{"download_info": {"url": url}}]}), "")

    def publish(self, name: str, members: dict[str, bytes]) -> str:
        """Put a wheel on the index; its SHA-256."""
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as wheel:
            for member, content in members.items():
                wheel.writestr(member, content)
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('a wheel must not be imported')")
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", metadata)
            kind = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", kind)  # older versions of pip read it
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
        file = f"{name}-1.0-py3-none-any.whl"
        sha256, described = sha(archive.getvalue()), sha(metadata)
        link = f'<a href="/files/{file}#sha256={sha256}" data-core-metadata="sha256={described}">{file}</a>'
        self.files[f"/simple/{name}/"] = f"<!DOCTYPE html><html><body>{link}</body></html>".encode()
        self.files[f"/files/{file}"] = archive.getvalue()
        self.files[f"/files/{file}.metadata"] = metadata
        return sha256

    def npm(self, command: str, package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What npm says of this registry, without starting it."""
        name, _, version = package.rpartition("@")
        known = json.loads(self.files.get(f"/{name}", b"{}"))
        found = known.get("versions", {}).get(version)
        said = found["dist"]["tarball"] if found else {"error": {"code": "E404", "summary": "No match found\nfor it"}}
        return subprocess.CompletedProcess([], 0 if found else 1, json.dumps(said), "")

    def publish_npm(self, name: str, members: dict[str, bytes]) -> str:
        """Put a package in version 1.0.0 on the registry; the SHA-256 of its tarball."""
        packed = io.BytesIO()
        described = {"name": name, "version": "1.0.0", "scripts": {"install": "exit 1"}}
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for member, content in {"package/package.json": json.dumps(described).encode(), **members}.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        tarball = f"/tarballs/{name}-1.0.0.tgz"
        described["dist"] = {"tarball": self.url + tarball, "shasum": hashlib.sha1(packed.getvalue()).hexdigest()}
        document = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": described}}
        self.files[f"/{name}"] = json.dumps(document).encode()
        self.files[tarball] = packed.getvalue()
        return sha(packed.getvalue())


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def real_pip() -> None:
    """Ask for this where pip itself must find the wheel."""


@pytest.fixture
def real_npm() -> None:
    """Ask for this where npm itself must find the package."""


@pytest.fixture
def outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """The only hub and the only index there is, and a cache of one's own."""
    stand_in = StandIn()
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", f"{stand_in.url}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("npm_config_registry", f"{stand_in.url}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("HF_ENDPOINT", stand_in.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("AXIOMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AXIOMS_OFFLINE", raising=False)
    monkeypatch.delenv("AXIOMS_REQUIRE_ASSETS", raising=False)
    if "real_pip" not in request.fixturenames:  # a process of its own takes a second
        monkeypatch.setattr(clients, "_pip", stand_in.pip)
    if "real_npm" not in request.fixturenames:
        monkeypatch.setattr(clients, "_npm", stand_in.npm)
    yield stand_in
    stand_in.server.shutdown()
    stand_in.server.server_close()


@pytest.fixture(scope="session")
def cached_asset() -> Callable[..., Path]:
    """Return the folder of an asset where it is cached, and skip the test otherwise: tests fetch nothing.

    In CI (AXIOMS_REQUIRE_ASSETS) what is of the smoke tier must be there, and is fetched.
    """

    def locate_cached(name: str, *, is_smoke: bool = False) -> Path:
        if is_smoke and switched_on("AXIOMS_REQUIRE_ASSETS"):
            return locate(name, FIXTURES)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AXIOMS_OFFLINE", "1")
            try:
                return locate(name, FIXTURES)
            except AssetMissing as reason:
                pytest.skip(str(reason))

    return locate_cached
