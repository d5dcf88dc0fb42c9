"""The models of a worker: loaded once for subjects that follow each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from axioms.spec.references import SubjectRef
from axioms.subjects.assets import Report
from axioms.subjects.built import Placement
from axioms.subjects.load import load_model
from axioms.subjects.models.language import LanguageModel

MOST = 2
"""Models that are remembered until others are asked for: both of a pair."""


class Models:
    """Loads models and remembers the last ones.

    Methods leave a model as they find it, so that subjects which differ in their data or their removal share one. After
    one that did not, `Cases.rebuild` starts anew.
    """

    def __init__(self) -> None:
        self._recent: dict[Any, LanguageModel] = {}

    def load(
        self, reference: SubjectRef, seed: int, place: Placement, spec_file: Path, report: Report | None
    ) -> LanguageModel:
        """Return the model that a spec names, on this device and in this dtype."""
        options = json.dumps(reference.options, sort_keys=True, default=str)
        key = (reference.name, options, spec_file.parent, seed, place)
        model = self._recent.pop(key, None)
        if model is None:
            model = load_model(reference.name, reference.options, spec_file, seed, report)
            model.module.to(place.device, place.dtype)
        self._recent[key] = model  # the most recent comes last
        while len(self._recent) > MOST:
            del self._recent[next(iter(self._recent))]
        return model
