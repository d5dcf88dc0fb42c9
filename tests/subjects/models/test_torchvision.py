"""torchvision's models: built by name, random in every parameter or from a file, and a sentence for what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

import axioms
from axioms.core.errors import InputError, MissingPackage
from axioms.core.registry import SUBJECTS
from axioms.subjects.load import load_model
from axioms.subjects.models.modules.images import ImageClassifier
from axioms.subjects.models.torchvision import import_torchvision

SMALL = {
    "image_size": 8,
    "patch_size": 4,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "mlp_dim": 24,
    "num_classes": 3,
}


def build(**options: Any) -> ImageClassifier:
    model = SUBJECTS.get("torchvision").function(**options)
    assert isinstance(model, ImageClassifier)
    return model


def small_vit(**options: Any) -> ImageClassifier:
    return build(name="VisionTransformer", options=SMALL, **options)


class Seen(torch.nn.Module):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images


@given(side=st.integers(1, 20), is_gray=st.booleans())
def test_rows_of_pixels_are_the_images_that_they_were(side: int, is_gray: bool) -> None:
    images = torch.randn(2, 1 if is_gray else 3, side, side)
    seen = ImageClassifier(Seen())(images.flatten(1))
    assert torch.equal(seen, images.expand(-1, 3, -1, -1))
    assert torch.equal(ImageClassifier(Seen())(images), images)


def test_a_row_that_is_no_image() -> None:
    with pytest.raises(InputError, match="101 pixels are no square image"):
        ImageClassifier(Seen())(torch.randn(2, 101))
    with pytest.raises(InputError, match=r"takes images of 8 x 8; the data has 10 x 10"):
        small_vit()(torch.randn(2, 100))


@pytest.mark.parametrize(("name", "options"), [("VisionTransformer", SMALL), ("resnet18", {"num_classes": 3})])
def test_every_number_of_a_random_model_is_random(name: str, options: dict[str, Any]) -> None:
    state = build(name=name, options=options).state_dict()
    trivial = [key for key, value in state.items() if value.is_floating_point() and float(value.std()) == 0]
    assert not trivial
    again, other = build(name=name, options=options, seed=0), build(name=name, options=options, seed=1)
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in state.items())
    assert not torch.equal(next(iter(state.values())), next(iter(other.state_dict().values())))


def test_a_function_of_torchvision_is_its_model() -> None:
    model = build(name="resnet18", options={"num_classes": 4}).model
    assert type(model).__name__ == "ResNet"
    assert model(torch.randn(1, 3, 32, 32)).shape == (1, 4)


def test_weights_come_from_a_file_beside_the_spec(tmp_path: Path) -> None:
    model = small_vit(seed=5)
    save_file(model.model.state_dict(), tmp_path / "vit.safetensors")
    options = {"name": "VisionTransformer", "options": SMALL, "weights": "vit.safetensors"}
    loaded = load_model("torchvision", options, tmp_path / "spec.yaml").module
    images = torch.randn(2, 3, 8, 8)
    assert torch.equal(loaded(images), model(images))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "vit_b_61"}, "torchvision has no classifier 'vit_b_61'. Did you mean 'vit_b_16'?"),
        ({"name": "resnet18", "options": {"classes": 3}}, "torchvision's resnet18 cannot be built with the options"),
        ({"name": "resnet18", "weights": "absent.safetensors"}, "cannot be read as a safetensors file"),
    ],
)
def test_what_is_wrong_is_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        build(**options)
    assert sentence in str(error.value)


def test_weights_of_another_model(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "x.safetensors")
    with pytest.raises(
        InputError, match=r"does not hold the state of torchvision's VisionTransformer: Missing key"
    ) as error:
        small_vit(weights=str(tmp_path / "x.safetensors"))
    assert len(str(error.value).partition("Missing key")[2]) < 120


def test_gradients_reach_every_pixel() -> None:
    pixels = torch.randn(2, 192, dtype=torch.float64)
    scores = axioms.attribute(small_vit().double(), pixels, method="gradient_x_input").scores
    assert scores.shape == pixels.shape
    assert bool((scores != 0).all())


def test_a_torchvision_that_does_not_fit_torch_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "torchvision" / "__init__.py"
    package.parent.mkdir()
    package.write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackage, match=r"nms does not exist.*pip install torch torchvision from the same index"):
        import_torchvision()


def test_no_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(MissingPackage, match="torchvision is not installed: pip install torchvision"):
        import_torchvision()
