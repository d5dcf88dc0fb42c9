"""What the tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.figure  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch
import torch._dynamo  # noqa: F401
from hypothesis import HealthCheck, settings

# Imported here, because pytester drops what an inner run imports, and none of these can be imported twice.
import axioms.propagate.engine
import axioms.run  # noqa: F401

settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

ROOT = Path(__file__).parent.parent

GOOD_SPEC = """
claim: A sum is a sum.
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: [[1, 1], [2, 5]]}
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - axiom: conservation
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests measure everything anew: what they change in the running program is in no digest."""
    monkeypatch.setenv("AXIOMS_FRESH", "1")


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def good_spec() -> str:
    """A spec with nothing wrong, to break."""
    return GOOD_SPEC


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., Path]:
    """Write a spec under `specs/` of a temporary folder."""

    def write(text: str = GOOD_SPEC, name: str = "mine.yaml") -> Path:
        file = tmp_path / "specs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    return write
