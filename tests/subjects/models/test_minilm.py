"""The script that trained `minilm-sentiment`, on a small random BERT: what it leaves out, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForSequenceClassification

from axioms.subjects.data.overlap import overlapping
from axioms.subjects.data.splits import VALIDATION, digest, is_held_out, part
from axioms.subjects.models.accuracy import accuracy
from axioms.subjects.models.lora import lora_classifier


@pytest.fixture(scope="module")
def train(script: Callable[[str], Any]) -> Any:
    return script("minilm/train.py")


def command(base: Path, reviews: Path, output: Path, *more: str) -> list[str]:
    given = {"--base": base, "--reviews": reviews, "--output": output, "--epochs": 8, "--rank": 4, "--rate": 1e-2}
    return [*(str(word) for pair in given.items() for word in pair), "--batch", "8", *more]


def test_an_interrupted_run_ends_where_an_unbroken_one_does(
    train: Any,
    base: Path,
    reviews: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    apart = tmp_path / "dev.tsv"
    apart.write_text("no such sentence anywhere\t1\n")
    whole, broken = tmp_path / "whole" / "a.safetensors", tmp_path / "broken" / "a.safetensors"
    for file in (whole, broken):
        file.parent.mkdir()
    train.main(command(base, reviews, whole, "--evaluate", str(apart)))

    epoch = train.Run.epoch

    def interrupted(self: Any, number: int, *rest: Any) -> None:
        if number == 2:
            raise KeyboardInterrupt
        epoch(self, number, *rest)

    monkeypatch.setattr(train.Run, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train.main(command(base, reviews, broken, "--evaluate", str(apart)))
    monkeypatch.setattr(train.Run, "epoch", epoch)
    assert not broken.exists()
    with pytest.raises(SystemExit, match="other settings"):
        train.main(command(base, reviews, broken, "--seed", "1"))
    train.main(command(base, reviews, broken))  # the overlap as listed by the first try
    assert "going on after epoch 1" in capsys.readouterr().out
    one, two = load_file(whole), load_file(broken)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert {tensor.dtype for tensor in one.values()} == {torch.float16}
    assert sorted(file.name for file in broken.parent.iterdir()) == ["a.safetensors", "overlap.txt"]

    rows = train.locate_reviews(reviews)
    model = lora_classifier(asset=str(base), files={"difference": str(whole)})
    assert accuracy(model, [row.text for row in rows], [row.label for row in rows]).share > 0.9  # it learned


def test_nothing_that_is_left_out_or_overlaps_it_is_trained_on(train: Any, reviews: Path, tmp_path: Path) -> None:
    rows = train.locate_reviews(reviews)
    assert len(rows) == 120
    held = next(row for row in rows if is_held_out(row.text))
    seen = [row for row in rows if not is_held_out(row.text) and part(row.text) != VALIDATION]
    twin = next(text for number in range(99) if part(text := f"{held.text} , more or less {number}") > VALIDATION)
    evaluate = tmp_path / "dev.tsv"
    evaluate.write_text(f"sentence\tlabel\n{seen[0].text.replace(' ', '  ')} .\t1\n")
    overlap = train.overlap_with(rows, evaluate, tmp_path / "overlap.txt")
    assert digest(seen[0].text) in overlap
    assert train.overlap_with(rows, None, tmp_path / "overlap.txt") == overlap
    chosen, validation = train.training_rows([*rows, rows[0]._replace(text=twin)], overlap)
    texts = {row.text for row in chosen}
    assert texts
    assert validation
    assert seen[0].text not in texts
    assert twin not in texts
    assert not any(is_held_out(text) or part(text) == VALIDATION for text in texts)
    assert not any(overlapping(sorted(texts), [row.text for row in rows if is_held_out(row.text)]))


def test_without_a_list_the_script_says_what_to_give(train: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--evaluate PATH"):
        train.overlap_with([], None, tmp_path / "overlap.txt")


def test_every_adapted_matrix_and_no_other_is_trained(train: Any, base: Path) -> None:
    model = BertForSequenceClassification.from_pretrained(base, num_labels=2)
    settings = train.Settings(rank=2, alpha=4.0, rate=1e-3, epochs=1, batch=8, max_length=64, seed=0)
    trained = train.adapt(model, settings)
    assert len(trained) == 2 * 6 * 2 + 4
    assert {id(p) for p in trained.values()} == {id(p) for p in model.parameters() if p.requires_grad}
