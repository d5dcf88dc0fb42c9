"""Archives with absolute or climbing paths, links, bombs or damage: a sentence, and nothing outside of the folder."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.subjects.assets import fetch
from axioms.subjects.assets.download import FetchFailed
from axioms.subjects.assets.fetch import extract
from axioms.subjects.assets.manifest import read_manifest

MEMBER = "pkg/model.safetensors"
OUTSIDE = ("/tmp/axioms-absolute", "../climbed", "pkg/../../climbed", "..\\climbed", "C:\\climbed")


def tarred(folder: Path, *members: tarfile.TarInfo) -> Path:
    file = folder / "a.tar.gz"
    with tarfile.open(file, "w:gz") as packed:
        for member in members:
            packed.addfile(member, io.BytesIO(b"x" * member.size))
    return file


def member(name: str, size: int = 1, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = size, kind, link
    return made


def unpack(archive: Path, folder: Path) -> Path:
    """Extract the member into a folder of its own, and see that it is the only file that is written."""
    target = folder / "into" / "deep" / "model.safetensors"
    target.parent.mkdir(parents=True)
    try:
        extract(archive, {MEMBER: target})
    finally:
        files = {file for file in folder.rglob("*") if not file.is_dir()}
        assert files <= {archive, target}
        assert not any(Path(name).exists() for name in OUTSIDE if name.startswith("/"))
        assert not target.is_symlink()
    return target


def test_members_that_point_outside_are_not_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as zipped:
        for name in (MEMBER, *OUTSIDE):
            zipped.writestr(name, name)
    assert unpack(tmp_path / "a.whl", tmp_path).read_text() == MEMBER
    (tmp_path / "tar").mkdir()
    archive = tarred(tmp_path / "tar", member(MEMBER), *(member(name) for name in OUTSIDE))
    assert unpack(archive, tmp_path / "tar").read_text() == "x"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_is_no_member(tmp_path: Path, kind: bytes) -> None:
    archive = tarred(tmp_path, member(MEMBER, 0, kind, "/etc/passwd"))
    with pytest.raises(FetchFailed, match=f"has no member {MEMBER}"):
        unpack(archive, tmp_path)


def test_a_link_in_a_zip_is_a_file_with_its_target_as_text(tmp_path: Path) -> None:
    """A zip keeps a link as a member of that mode: it is never made one, so nothing is read or written through it."""
    linked = tmp_path / "linked"
    linked.mkdir()
    parent, leaf = zipfile.ZipInfo("pkg"), zipfile.ZipInfo(MEMBER)
    for link in (parent, leaf):
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as zipped:
        zipped.writestr(parent, str(linked))
        zipped.writestr(leaf, "/etc/passwd")
    target = unpack(tmp_path / "a.whl", tmp_path)
    assert target.read_text() == "/etc/passwd", "which has another digest than the file that is asked for"
    assert not list(linked.iterdir())


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_bomb_is_cut_off(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "LEAST", 2**20)
    size = 8 * 2**20
    if kind == "zip":
        archive = tmp_path / "a.whl"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr(MEMBER, bytes(size))
    else:
        archive = tarred(tmp_path, member(MEMBER, size))
    assert archive.stat().st_size < size / 200
    with pytest.raises(FetchFailed, match="unpacks to more than"):
        unpack(archive, tmp_path)
    assert (tmp_path / "into/deep/model.safetensors").stat().st_size <= max(2**20, 100 * archive.stat().st_size)


@pytest.mark.parametrize("cut", [10, 60, -30])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_damaged_archive_is_a_sentence(tmp_path: Path, kind: str, cut: int) -> None:
    if kind == "zip":
        archive = tmp_path / "a.whl"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr(MEMBER, bytes(range(256)) * 9)
    else:
        archive = tarred(tmp_path, member(MEMBER, 2000))
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(FetchFailed, match=r"is not a readable archive|has no member"):
        unpack(archive, tmp_path)


@pytest.mark.parametrize("name", ["../../climbs", "/absolute", ".", "a b", ""])
def test_an_asset_whose_name_is_a_path_is_refused(tmp_path: Path, name: str) -> None:
    listed = "{a.json: {size: 1, sha256: " + "0" * 64 + "}}"
    (tmp_path / "assets.yaml").write_text(
        f'"{name}": {{about: a, licence: CC0, files: {listed}, sources: [{{hub: a/b, revision: main}}]}}\n'
    )
    with pytest.raises(SpecError, match=r"assets\.yaml:1"):
        read_manifest(tmp_path / "assets.yaml")
