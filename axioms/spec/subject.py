"""What is attributed, as a spec writes it: a model or a pair, with inputs, target and removal."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from axioms.core.registry import DATA, REWRITES, SUBJECTS, rewrites_of_all
from axioms.model.removals import KINDS, Removal
from axioms.model.targets import Wanted
from axioms.spec.references import ALL_OR_SOME, DataRef, RewriteRef, Strict, SubjectRef, fail, known, named_schema


def removal_schema() -> WithJsonSchema:
    """Return the JSON Schema of a removal: its kind, or a mapping with it."""
    return WithJsonSchema({"anyOf": [{"enum": list(KINDS)}, Removal.model_json_schema()]})


class Pair(Strict):
    """Two functionally equivalent models: `left` and `right`, or a `model` and what `rewrites` make of it.

    Left-associative is (QK')V, right-associative is Q(K'V).
    """

    left: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")] | None = None
    right: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")] | None = None
    model: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")] | None = None
    rewrite: Annotated[RewriteRef, named_schema(REWRITES, "a rewrite")] | None = None
    rewrites: Annotated[list[RewriteRef], ALL_OR_SOME] = Field(
        [], description="One pair for each: `all`, or a list. Those of `all` that do not apply are skipped."
    )
    not_applicable: list[str] = Field(
        [], description="Rewrites that are claimed not to apply to the model; `all` means the others then."
    )

    @model_validator(mode="before")
    @classmethod
    def _all(cls, raw: Any) -> Any:
        if not isinstance(raw, dict) or raw.get("rewrites") != "all":
            return raw
        named = raw.get("not_applicable")
        left_out = named if isinstance(named, list) else []
        every = [name for name in rewrites_of_all() if name not in left_out]
        refs = [RewriteRef.model_construct(name=name, options={}, optional=not left_out) for name in every]
        return {**raw, "rewrites": refs}

    @model_validator(mode="after")
    def _one_kind(self) -> Pair:
        two = self.left is not None and self.right is not None
        made = self.model is not None and (self.rewrite is not None or bool(self.rewrites))
        if two == made or (two and self.model is not None) or (made and (self.left or self.right)):
            raise fail("a pair is {left: ..., right: ...}, or {model: ..., rewrite: NAME} with one, a list, or all")
        if self.rewrite is not None and self.rewrites:
            raise fail("give `rewrite` or `rewrites`, not both")
        for name in self.not_applicable:
            known(REWRITES, name)
        return self

    @property
    def rewritten(self) -> list[RewriteRef]:
        """The rewrites; none where both models are given."""
        return [self.rewrite] if self.rewrite is not None else self.rewrites


class Subject(Strict):
    """What is attributed: a model or a pair, with its inputs and target."""

    name: str | None = Field(None, min_length=1, exclude=True, description="What a scorecard calls it: `MiniLM`.")
    model: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")] | None = None
    pair: Pair | None = None
    data: Annotated[DataRef, named_schema(DATA, "the inputs")]
    target: Wanted = Field(
        "predicted",
        description="What is explained: the logit of the predicted class, of the data's label or of a class number; "
        "{probability: any of these}; {logit_difference: [number, number]} or {logit_difference: predicted}; "
        "{logit_difference: forms} for sentences of the agreement benchmark.",
    )
    remove: Annotated[Removal, removal_schema()] | None = Field(
        None, description="What removing a feature means; by default the attention mask where there is one, else zero."
    )

    @field_validator("target", mode="wrap")
    @classmethod
    def _target(cls, raw: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(raw)
        except ValidationError:
            raise fail(
                "a target is predicted, label, a class number, {probability: one of these}, "
                f"{{logit_difference: [number, number]}} or {{logit_difference: predicted}}; found {raw!r}"
            ) from None

    @model_validator(mode="after")
    def _model_or_pair(self) -> Subject:
        if (self.model is None) == (self.pair is None):
            raise fail("give either `model` or `pair`")
        return self
