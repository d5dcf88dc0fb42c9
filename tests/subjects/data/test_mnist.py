"""MNIST: torchvision's files first, read from a local stand-in in its raw format; else the asset."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from axioms.core.errors import AssetMissing
from axioms.core.registry import DATA
from axioms.subjects import Data
from axioms.subjects.data import mnist
from axioms.subjects.data.mnist import read_mnist, resize

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

DIGITS = torch.arange(5 * 28 * 28).reshape(5, 28, 28).remainder(251).to(torch.uint8)
LABELS = torch.tensor([7, 2, 1, 0, 4], dtype=torch.uint8)
KINDS = ("train", "t10k")


def raw_files() -> dict[str, bytes]:
    """What torchvision keeps: big-endian sizes behind a magic number, then bytes."""
    images = struct.pack(">IIII", 2051, *DIGITS.shape) + DIGITS.numpy().tobytes()
    labels = struct.pack(">II", 2049, len(LABELS)) + LABELS.numpy().tobytes()
    files = {f"{kind}-images-idx3-ubyte": images for kind in KINDS}
    return files | {f"{kind}-labels-idx1-ubyte": labels for kind in KINDS}


def load(**options: Any) -> Data:
    loaded = DATA.get("mnist").function(**options)
    assert isinstance(loaded, Data)
    return loaded


@pytest.fixture(autouse=True)
def new_process() -> None:
    """What a process tries once is tried again in each test."""
    mnist._download.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    raw = tmp_path / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in raw_files().items():
        (raw / name).write_bytes(content)
    return tmp_path / "data"


@pytest.fixture
def servers(outside: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """torchvision's servers, which have the stand-in until a test takes it away."""
    from torchvision.datasets import MNIST

    packed = {f"{name}.gz": gzip.compress(content) for name, content in raw_files().items()}
    outside.files |= {f"/mnist/{name}": content for name, content in packed.items()}
    resources = [(name, hashlib.md5(content).hexdigest()) for name, content in packed.items()]
    monkeypatch.setattr(MNIST, "mirrors", [f"{outside.url}/mnist/"])
    monkeypatch.setattr(MNIST, "resources", resources)
    return outside


@pytest.fixture
def asset(outside: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The asset `mnist`, with two digits only."""
    header = b"label," + b",".join(b"p%d" % pixel for pixel in range(784))
    rows = [b",".join(b"%d" % value for value in [int(LABELS[i]), *DIGITS[i].flatten().tolist()]) for i in range(2)]
    content = b"\n".join([header, *rows]) + b"\n"
    files = {f"mnist_{split}.csv": content for split in ("train", "test")}
    sha256 = outside.publish("digits", {f"digits/{name}": content for name, content in files.items()})
    listed = "".join(
        f"    {name}: {{size: {len(content)}, sha256: {hashlib.sha256(content).hexdigest()}}}\n" for name in files
    )
    fixtures = tmp_path / "project" / "fixtures"
    fixtures.mkdir(parents=True)
    (fixtures / "assets.yaml").write_text(
        f"mnist:\n  about: Two digits.\n  licence: CC0\n  files:\n{listed}"
        f"  sources: [{{wheel: digits==1.0, sha256: {sha256}, folder: digits}}]\n"
    )
    monkeypatch.chdir(fixtures.parent)


def test_files_of_torchvision_are_read_where_they_are(folder: Path, outside: StandIn) -> None:
    loaded = load(root=str(folder), n=2, start=1, mean=0.5, std=2.0)
    wanted = (DIGITS[1:3].flatten(1).double() / 255 - 0.5) / 2
    assert isinstance(loaded.inputs, torch.Tensor)
    torch.testing.assert_close(loaded.inputs, wanted, rtol=0, atol=1e-15)
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [2, 1]
    assert loaded.names == ("a 2", "a 1")
    assert loaded.shape == (28, 28)
    assert not outside.requests


def test_what_torchvision_downloads_is_kept(servers: StandIn, tmp_path: Path) -> None:
    assert torch.equal(read_mnist("train")[0], DIGITS)
    before = len(servers.requests)
    assert before >= 4
    mnist._download.cache_clear()
    assert read_mnist("test")[1].tolist() == LABELS.tolist()
    assert len(servers.requests) == before
    assert (tmp_path / "cache" / "torchvision" / "MNIST" / "raw").is_dir()


@pytest.mark.usefixtures("asset")
def test_the_asset_where_the_servers_have_nothing_and_they_are_asked_once(servers: StandIn) -> None:
    for name in [name for name in servers.files if name.startswith("/mnist/")]:
        del servers.files[name]
    for split in ("train", "test"):
        images, labels = read_mnist(split)
        assert torch.equal(images, DIGITS[:2])
        assert labels.tolist() == LABELS[:2].tolist()
    assert sum(path.startswith("/mnist/") for path, _ in servers.requests) == 1


def test_nothing_is_fetched_offline(servers: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    with pytest.raises(AssetMissing, match=r"torchvision has no MNIST in .*, and asset 'mnist' is not in the cache"):
        read_mnist("test")
    assert not servers.requests


def test_resizing_is_that_of_the_committed_digits() -> None:
    """Independently: 8 bits of torch's antialiased bilinear interpolation."""
    wanted = torch.nn.functional.interpolate(DIGITS[:, None].float(), (14, 14), mode="bilinear", antialias=True)
    assert torch.equal(resize(DIGITS, 14), wanted[:, 0].round().to(torch.uint8))
    assert resize(DIGITS, 28) is DIGITS
