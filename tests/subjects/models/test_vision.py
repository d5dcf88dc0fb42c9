"""The ViT over patches: what it takes, what removing a patch means, and the trained one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

import axioms
from axioms.core.errors import InputError, MissingPackage
from axioms.core.registry import DATA
from axioms.subjects.data import Data
from axioms.subjects.data.images import cut_into_patches
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.load import load_data, load_model
from axioms.subjects.models.modules.images import PatchClassifier, put_together
from axioms.subjects.models.vision import vit

SMALL: dict[str, Any] = {"image": 6, "patch": 2, "width": 8, "layers": 2, "heads": 2, "mlp": 12, "classes": 3}


def small(**options: Any) -> PatchClassifier:
    torch.manual_seed(0)
    model = vit(**SMALL, **options)
    assert isinstance(model, PatchClassifier)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.double()


def tokens(count: int = 2) -> dict[str, Tensor]:
    patches = torch.randn(count, 10, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return {"patches": patches, "attention_mask": torch.ones(count, 10, dtype=torch.long)}


@given(side=st.integers(1, 5), patch=st.integers(1, 4))
def test_patches_put_together_are_the_image(side: int, patch: int) -> None:
    images = torch.randn(2, side * patch, side * patch)
    patches = cut_into_patches(images, patch)
    assert patches.shape == (2, side * side, patch * patch)
    assert torch.equal(put_together(patches, patch)[:, 0], images)


def test_patches_are_in_rows() -> None:
    image = torch.arange(16.0).reshape(1, 4, 4)
    assert cut_into_patches(image, 2)[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


def test_what_is_no_image_is_a_sentence() -> None:
    with pytest.raises(InputError, match="8 patches of 4 pixels are no square image"):
        put_together(torch.zeros(1, 8, 4), 2)
    with pytest.raises(InputError, match="no square image of 3 x 3 patches"):
        put_together(torch.zeros(1, 9, 4), 3)


def test_a_removed_patch_is_a_key_that_nobody_sees() -> None:
    """Its pixels no longer matter to the others, as long as [CLS] is read."""
    model, given = small(), tokens()
    given["attention_mask"][:, 4] = 0
    other = {**given, "patches": given["patches"].clone()}
    other["patches"][:, 4] += 1
    with torch.no_grad():
        torch.testing.assert_close(model(**given), model(**other), rtol=1e-12, atol=1e-12)
        assert (model(**given) - model(**tokens())).abs().max() > 1e-3


def test_leave_one_out_and_gates_look_at_the_same_token() -> None:
    """Each score by a mask with one zero; the gates' slope by a small step, one [CLS] before the patches."""
    model, given = small(), tokens()
    loo = axioms.attribute(model, given, 1, "loo", remove="attention_mask").scores
    with torch.no_grad():
        there = model(**given)[:, 1]
        for token in range(10):
            mask = given["attention_mask"].clone()
            mask[:, token] = 0
            torch.testing.assert_close(loo[:, token], there - model(given["patches"], mask)[:, 1])
    exact = axioms.attribute(model, given, 1, "removal_taylor", remove="attention_mask", order="exact_block").scores
    assert all(torch.corrcoef(torch.stack(rows))[0, 1] > 0.8 for rows in zip(loo, exact, strict=True))


def test_special_tokens_keep_leaves_cls_alone(tmp_path: Path) -> None:
    data = patches_of(tmp_path, torch.randint(0, 255, (2, 6, 6), dtype=torch.uint8), patch=2)
    assert isinstance(data.inputs, dict)
    removal = {"kind": "attention_mask", "special_tokens": "keep"}
    scores = axioms.attribute(small(), data.inputs, 0, "loo", remove=removal).scores
    assert not scores[:, 0].any()
    assert scores[:, 1:].abs().min() > 0


def patches_of(folder: Path, images: Tensor, patch: int) -> Data:
    file = folder / "digits.safetensors"
    save_file({"images": images, "labels": torch.arange(len(images)).to(torch.uint8)}, file)
    data = DATA.get("image-patches").function(files={"test": str(file)}, patch=patch, mean=0.5, std=2.0)
    assert isinstance(data, Data)
    return data


def test_the_data_has_an_empty_token_and_standardized_patches(tmp_path: Path) -> None:
    images = torch.randint(0, 255, (3, 4, 4), dtype=torch.uint8)
    data = patches_of(tmp_path, images, patch=2)
    assert isinstance(data.inputs, dict)
    assert data.inputs["patches"].shape == (3, 5, 4)
    assert not data.inputs["patches"][:, 0].any()
    torch.testing.assert_close(data.inputs["patches"][:, 2], (images[:, :2, 2:].flatten(1).double() / 255 - 0.5) / 2)
    assert data.inputs["special_tokens_mask"][0].tolist() == [1, 0, 0, 0, 0]
    assert data.count == 3
    with pytest.raises(InputError, match="4 x 4 do not divide into patches of 3"):
        patches_of(tmp_path, images, patch=3)


def test_a_vit_without_a_mask_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the mask and ignore it."""
    import transformers

    class Old(transformers.ViTForImageClassification):
        def forward(self, pixel_values: Tensor, **keywords: Any) -> Any:
            return super().forward(pixel_values, **keywords)

    monkeypatch.setattr(transformers, "ViTForImageClassification", Old)
    with pytest.raises(MissingPackage, match="takes no attention mask"):
        vit(**SMALL)


def test_the_committed_vit(root: Path) -> None:
    """It recognizes the committed digits about as well as the script says of all test digits."""
    spec = root / "specs" / "full" / "remedies_minilm.yaml"
    descriptor = find_descriptor("mnist-vit", spec)
    assert descriptor is not None
    assert descriptor.weights_file is not None
    assert descriptor.weights_file.stat().st_size < 1_000_000
    data, model = load_data("mnist28", {}, spec, None), load_model("mnist-vit", {}, spec).module
    assert isinstance(data.inputs, dict)
    assert data.labels is not None
    with torch.no_grad():
        predicted = model(data.inputs["patches"].float(), data.inputs["attention_mask"]).argmax(1)
    assert (predicted == data.labels).double().mean() >= 0.97
