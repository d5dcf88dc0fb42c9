"""Fixtures beside specs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from axioms.core.errors import InputError, SpecError
from axioms.core.registry import DATA
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.load import load_model

MODEL = "kind: model\nbuild: linear\noptions: {weight: [[1, 2]]}\nweights: w.safetensors\nsource: s\nlicence: l\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "specs" / "deep").mkdir(parents=True)
    return tmp_path / "specs" / "deep" / "mine.yaml"


def test_the_nearest_folder_wins_and_weights_are_loaded(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "fixtures" / "mine.yaml").write_text(MODEL)
    save_file({"weight": torch.tensor([[5.0, 6.0]])}, tmp_path / "fixtures" / "w.safetensors")
    assert load_model("mine", {}, spec).module.get_parameter("weight").tolist() == [[5.0, 6.0]]
    nearer = spec.parent / "fixtures"
    nearer.mkdir()
    (nearer / "mine.yaml").write_text(MODEL.replace("weights: w.safetensors\n", ""))
    assert load_model("mine", {}, spec).module.get_parameter("weight").tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("name", ["../mine", "/mine", "textattack/bert", "nothing"])
def test_what_is_no_fixture(spec: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.yaml").write_text(MODEL)
    assert find_descriptor(name, spec) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("build: linear", "build: linaer", 2, "unknown subject 'linaer'. Did you mean 'linear'?"),
        ("licence: l", "license: l", 6, "Did you mean 'licence'?"),
        ("kind: model", "kind: modle", 1, "Input should be 'model' or 'data'"),
        ("", "", 4, "there is no file 'w.safetensors' beside this fixture"),
    ],
)
def test_a_bad_fixture_says_where(spec: Path, tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    (tmp_path / "fixtures" / "mine.yaml").write_text(MODEL.replace(old, new))
    with pytest.raises(SpecError) as error:
        find_descriptor("mine", spec)
    assert f"mine.yaml:{line}: " in str(error.value)
    assert what in str(error.value)


def test_images(tmp_path: Path) -> None:
    file = tmp_path / "d.safetensors"
    pixels = torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4)
    save_file({"images": pixels, "labels": torch.tensor([7, 8, 9], dtype=torch.uint8)}, file)
    images = DATA.get("images").function
    loaded = images(files={"test": str(file)}, n=2, start=1, mean=0.5, std=2.0)
    torch.testing.assert_close(loaded.inputs, (pixels[1:].flatten(1).double() / 255 - 0.5) / 2)
    assert loaded.labels.tolist() == [8, 9]
    assert loaded.name(1) == "a 9"
    with pytest.raises(InputError, match="this data has 3"):
        images(files={"test": str(file)}, n=4)
    with pytest.raises(InputError, match="there is no split 'train'"):
        images(files={"test": str(file)}, split="train")


def test_the_committed_mnist_pair(root: Path) -> None:
    """The weights recognize the committed digits about as well as the script says of all test digits."""
    spec = root / "specs" / "linear_attention.yaml"
    descriptor = find_descriptor("mnist14", spec)
    assert descriptor is not None
    data = DATA.get("images").function(**descriptor.build_options({}))
    left, right = (
        load_model("mnist-linear-attention", {"order": order}, spec).module.double() for order in ("left", "right")
    )
    with torch.no_grad():
        torch.testing.assert_close(left(data.inputs), right(data.inputs), rtol=1e-10, atol=1e-10)
        assert (left(data.inputs).argmax(1) == data.labels).double().mean() > 0.85
