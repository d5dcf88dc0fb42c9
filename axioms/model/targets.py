"""Which number of the model's output is explained: a logit, a probability, or a difference of two logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from axioms.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Class = Literal["predicted", "label"] | int
"""A class of each example: the predicted one, the data's label, or a number."""


class ProbabilityOf(BaseModel):
    """`{probability: predicted}`: the softmax over the outputs is part of what is explained."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    probability: Class


class LogitDifference(BaseModel):
    """`{logit_difference: [1, 0]}` is logit 1 minus logit 0; `predicted` is the largest minus the runner-up.

    `forms` is the verb form that agrees minus the other one, of each example of the agreement benchmark.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    logit_difference: Literal["predicted", "forms"] | Annotated[list[int], Field(min_length=2, max_length=2)]


Wanted = Class | ProbabilityOf | LogitDifference
"""What a spec may write under `target`."""


@dataclass(frozen=True)
class Target:
    """One output per example; `target(outputs)` picks it."""

    index: Tensor

    def __call__(self, outputs: Tensor) -> Tensor:
        """Return the chosen output of every example: batch x outputs to batch."""
        return outputs.gather(1, self.index.unsqueeze(1)).squeeze(1)

    def settle(self, outputs: Tensor) -> None:
        """Hear that these are the model's outputs for the inputs as they are.

        A target that is still to be chosen (model/deferred.py) is chosen from them; all others ignore it.
        """

    def reconsider(self) -> None:
        """Hear that what was last settled from were not the model's outputs after all."""

    def rows(self, start: int, stop: int) -> Target:
        """Return the target of some of the examples."""
        return self._map(slice(start, stop))

    def select(self, index: Tensor) -> Target:
        """Return the target of the examples at `index`."""
        return self._map(index)

    def start(self, outputs: Tensor) -> Tensor:
        """Return the relevance of each output that propagation starts from: the output times the target's gradient.

        For a logit that is the logit itself. For a difference it is the two logits, one with a minus; for a probability
        p_c it is p_c (1[k = c] - p_k) z_k, which does not sum to p_c: no rule distributes relevance over this softmax.
        """
        import torch

        leaf = outputs.detach().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(self(leaf).sum(), leaf)
        return leaf.detach() * gradient

    def _map(self, part: Any) -> Target:
        return type(self)(*(getattr(self, field.name)[part] for field in fields(self)))


@dataclass(frozen=True)
class Probability(Target):
    """The softmax probability of the chosen class."""

    def __call__(self, outputs: Tensor) -> Tensor:
        """Return the probability of the chosen class of every example."""
        return super().__call__(outputs.softmax(dim=1))


@dataclass(frozen=True)
class Difference(Target):
    """The chosen output minus another."""

    other: Tensor

    def __call__(self, outputs: Tensor) -> Tensor:
        """Return the difference of every example."""
        return super().__call__(outputs) - Target(self.other)(outputs)


def choose(
    wanted: str | int | Tensor | Mapping[str, Any] | BaseModel,
    outputs: Tensor,
    labels: Tensor | None = None,
    forms: tuple[Tensor, Tensor] | None = None,
) -> Target:
    """Return what a spec or a caller asks for as a `Target`.

    That is a class (`predicted`, `label`, a number, or a tensor with one number per example), or one of the mappings
    `{probability: class}` and `{logit_difference: [number, number]}` or `{logit_difference: predicted}`; or
    `{logit_difference: forms}`, the two of each example in `forms`.
    """
    if isinstance(wanted, BaseModel):
        wanted = wanted.model_dump()
    if not isinstance(wanted, Mapping):
        return Target(class_of(wanted, outputs, labels))
    kind, value = next(iter(wanted.items())) if len(wanted) == 1 else ("", None)
    if kind == "probability":
        _needs_two(kind, outputs)
        return Probability(class_of(value, outputs, labels))
    if kind == "logit_difference" and value == "predicted":
        _needs_two(kind, outputs)
        top = outputs.topk(2, dim=1).indices
        return Difference(top[:, 0], top[:, 1])
    if kind == "logit_difference" and value == "forms":
        if forms is None:
            raise InputError("target `logit_difference: forms` needs sentences of the agreement benchmark.")
        value = forms
    if kind == "logit_difference" and isinstance(value, list | tuple) and len(value) == 2:
        return Difference(*(class_of(index, outputs, labels) for index in value))
    raise InputError(
        "a target is a class, {probability: class}, {logit_difference: [class, class]} or "
        f"{{logit_difference: predicted}}, not {dict(wanted)!r}."
    )


def class_of(wanted: Any, outputs: Tensor, labels: Tensor | None) -> Tensor:
    """Return `predicted`, `label`, a class number, or a tensor of class numbers as one class per example."""
    import torch

    count = outputs.shape[1]
    if isinstance(wanted, torch.Tensor):
        index = wanted.to(outputs.device)
    elif wanted == "predicted":
        return outputs.argmax(dim=1)
    elif wanted == "label":
        if labels is None:
            raise InputError("target 'label' needs data with labels.")
        index = labels.to(outputs.device)
    elif isinstance(wanted, int) and not isinstance(wanted, bool):
        if not 0 <= wanted < count:
            raise InputError(_out_of_range(count))
        index = torch.full((outputs.shape[0],), wanted, device=outputs.device)
    else:
        raise InputError(f"target must be 'predicted', 'label', a class number or a tensor of them, not {wanted!r}.")
    if index.shape != outputs.shape[:1]:
        raise InputError(f"target needs one class per example ({outputs.shape[0]}); got {tuple(index.shape)}.")
    if not index.is_meta and (int(index.min()) < 0 or int(index.max()) >= count):
        raise InputError(_out_of_range(count))
    return index


def _out_of_range(count: int) -> str:
    return f"target class out of range: the model has {count} outputs, numbered from 0."


def _needs_two(kind: str, outputs: Tensor) -> None:
    if outputs.shape[1] < 2:
        raise InputError(f"target `{kind}` needs a model with at least two outputs; this one has one.")
