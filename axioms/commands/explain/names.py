"""Outputs by name: the classes of a classifier, the tokens of a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError, did_you_mean
from axioms.model.targets import Difference, Probability, Target

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.models.language import LanguageModel

RESERVED = ("predicted", "label", "forms")
"""What a target may say that is no name of an output."""


@dataclass(frozen=True)
class Names:
    """The names of a model's outputs, of which there are `count`."""

    model: LanguageModel
    count: int

    def numbered(self, target: Any) -> Any:
        """Return a target with numbers in place of names."""
        if isinstance(target, Mapping):
            return {kind: self.numbered(value) for kind, value in target.items()}
        if isinstance(target, list | tuple):
            return [self.numbered(value) for value in target]
        return self._number(target) if isinstance(target, str) and target not in RESERVED else target

    def described(self, target: Target, outputs: Tensor) -> str:
        """Return what is explained, in words: `logit of 'positive' (class 1), which is predicted`."""
        number = int(target.index[0])
        if isinstance(target, Difference):
            return f"logit of {self._name(number)} minus logit of {self._name(int(target.other[0]))}"
        kind = "probability" if isinstance(target, Probability) else "logit"
        predicted = ", which is predicted" if number == int(outputs[0].argmax()) else ""
        return f"{kind} of {self._name(number)}{predicted}"

    @property
    def _labels(self) -> dict[int, str] | None:
        """The names of a classifier's classes; None where each output is a token."""
        given = getattr(getattr(self.model.module, "config", None), "id2label", None) or {}
        if self.count == len(given):
            return {int(number): str(label) for number, label in given.items()}
        return None if self.count >= len(self.model.tokenizer) else {}

    def _name(self, number: int) -> str:
        if self._labels is None:
            return f"{self.model.tokenizer.decode([number])!r} (token {number})"
        label = self._labels.get(number, f"LABEL_{number}")
        return f"class {number}" if label == f"LABEL_{number}" else f"{label!r} (class {number})"

    def _number(self, name: str) -> int:
        if self._labels is None:
            return self._token(name)
        for number, label in self._labels.items():
            if label.casefold() == name.casefold():
                return number
        raise InputError(
            f"the model has no class {name!r}: a target is predicted, a class by its number or its name, "
            f"{{probability: class}} or {{logit_difference: [class, class]}}."
            f"{did_you_mean(name, self._labels.values())}"
        )

    def _token(self, name: str) -> int:
        # A word that goes on a sentence has a space before it in most vocabularies.
        for text in (f" {name}", name):
            ids = self.model.tokenizer.encode(text, add_special_tokens=False)
            if len(ids) == 1 and ids[0] != self.model.tokenizer.unk_token_id:
                return int(ids[0])
        raise InputError(
            f"{name!r} is not one token of this model: a target is predicted, a token or its number, "
            "{probability: token} or {logit_difference: [token, token]}."
        )
