"""The spec language: what a YAML file may say. Strict, so that a misspelt key is an error and not a silence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

import axioms.checks
import axioms.methods
import axioms.subjects  # noqa: F401  (the three imports fill the registries)
from axioms.checks.sweeps import KINDS as SWEEPS
from axioms.checks.sweeps import SweepKind
from axioms.errors import InputError, UnknownName, did_you_mean
from axioms.registry import AXIOMS, DATA, METHODS, SUBJECTS, Axiom, Registered, Registry
from axioms.report.layouts import LAYOUTS
from axioms.spec.bounds import Bound
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.hub import named_directly
from axioms.subjects.removals import KINDS, Removal
from axioms.subjects.targets import Wanted

Tier = Literal["smoke", "full", "paper"]
TIERS: tuple[Tier, ...] = ("smoke", "full", "paper")
AGGREGATES = ("mean", "max", "min", "median")
SIDES = ("left", "right")
LISTS = ("vector", "curve")
"""Kinds of metrics that are lists."""
Reported = float | list[float]
"""A number that a paper printed, or one for each layer."""


class Strict(BaseModel):
    """No unknown keys, no silent conversions, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def fail(what: str) -> PydanticCustomError:
    """An error whose text is ours, word for word."""
    return PydanticCustomError("spec", "{what}", {"what": what})


def check_options(entry: Registered, options: dict[str, Any]) -> None:
    """The options against the signature of what they are for."""
    model = entry.options_model()
    try:
        model.model_validate(options)
    except ValidationError as error:
        said = []
        for each in error.errors():
            name = str(each["loc"][0]) if each["loc"] else ""
            if each["type"] == "extra_forbidden":
                said.append(f"{entry.name!r} has no option {name!r}.{did_you_mean(name, model.model_fields)}")
            else:
                said.append(f"option {name!r}: {each['msg']}; found {each['input']!r}.")
        raise fail(" ".join(said)) from None


def named_schema(registry: Registry[Any], what: str) -> WithJsonSchema:
    """JSON Schema of `name` or `{name: {options}}`, with the built-in names for completion."""
    name = {"anyOf": [{"enum": list(registry)}, {"type": "string"}]}
    mapping = {"type": "object", "minProperties": 1, "maxProperties": 1}
    return WithJsonSchema({"description": what, "anyOf": [name, mapping]})


def removal_schema() -> WithJsonSchema:
    """JSON Schema of a removal: its kind, or a mapping with it."""
    return WithJsonSchema({"anyOf": [{"enum": list(KINDS)}, Removal.model_json_schema()]})


def split_named(raw: Any, what: str) -> tuple[str, Any]:
    """`name` or `{name: options}` as (name, options)."""
    if isinstance(raw, str):
        return raw, {}
    if isinstance(raw, dict) and len(raw) == 1:
        name, options = next(iter(raw.items()))
        return name, {} if options is None else options
    raise fail(f"a {what} is a name or a mapping {{name: {{option: value}}}}; found {raw!r}")


class MethodRef(Strict):
    """A method with its options, under the label that the rest of the spec uses for it."""

    name: str
    label: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        name, options = split_named(raw, "method")
        if not isinstance(options, dict):
            raise fail(f"the options of {name!r} must be a mapping; found {options!r}")
        options = dict(options)
        label = options.pop("as", name)
        if not isinstance(label, str) or not label:
            raise fail(f"`as` must be a name; found {label!r}")
        _known(METHODS, name)
        check_options(METHODS.get(name), options)
        return {"name": name, "label": label, "options": options}


class AxiomRef(Strict):
    """An axiom with its options."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        name, options = split_named(raw, "axiom")
        _known(AXIOMS, name)
        if not isinstance(options, dict):
            raise fail(f"the options of {name!r} must be a mapping; found {options!r}")
        check_options(AXIOMS.get(name), options)
        return {"name": name, "options": options}


class SubjectRef(Strict):
    """A model by name: registered in Python, or described in a `fixtures/` folder beside the specs."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any, info: ValidationInfo) -> Any:
        return _subject_or_data(raw, info, SUBJECTS, "model")


class DataRef(Strict):
    """Data by name: registered in Python (`points: [[2, 3, 4]]`), or described in a `fixtures/` folder."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any, info: ValidationInfo) -> Any:
        return _subject_or_data(raw, info, DATA, "data")


def _known(registry: Registry[Any], name: str) -> None:
    try:
        registry.get(name)
    except UnknownName as error:
        raise fail(str(error)) from None


def _subject_or_data(raw: Any, info: ValidationInfo, registry: Registry[Registered], kind: str) -> dict[str, Any]:
    name, options = split_named(raw, kind)
    if not isinstance(options, dict):
        options = {"values": options}  # `points: [[2, 3, 4]]` is short for `points: {values: [[2, 3, 4]]}`
    file = (info.context or {}).get("file")
    descriptor = find_descriptor(name, file) if file is not None else None
    if descriptor is not None:
        if descriptor.kind != kind:
            raise fail(f"{name!r} is a {descriptor.kind} fixture, and a {kind} fixture is wanted here")
        entry = registry.get(descriptor.build)
        check_options(entry, descriptor.build_options(options))
    elif name in registry:
        check_options(registry.get(name), options)
    elif kind == "model" and "/" in name:
        _check_hub_model(name, options)
    else:
        hint = did_you_mean(name, registry)
        raise fail(f"there is no {kind} {name!r}: not registered, and no fixtures/{name}.yaml beside the spec.{hint}")
    return {"name": name, "options": options}


def _check_hub_model(name: str, options: dict[str, Any]) -> None:
    """`owner/model` and `./folder` need not be registered; whether they exist is asked when a check runs."""
    try:
        named = named_directly(name, options)
    except InputError as error:
        raise fail(str(error)) from None
    assert named is not None
    check_options(SUBJECTS.get(named[0]), named[1])


class Pair(Strict):
    """Two functionally equivalent models. Left-associative is (QK')V, right-associative is Q(K'V)."""

    left: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")]
    right: Annotated[SubjectRef, named_schema(SUBJECTS, "a model")]


class Subject(Strict):
    """What is attributed: a model or a pair, with its inputs and target."""

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


class Run(Strict):
    """How it is computed."""

    dtype: Literal["float64", "float32", "float16", "bfloat16"] = "float32"
    device: str = Field("auto", description="`auto` is CUDA where there is one, else the CPU.")
    seed: int = 0
    batch_size: int = Field(64, gt=0)
    confidence: float = Field(0.95, gt=0.5, lt=1, description="Of the bootstrap intervals.")


class CheckSpec(Strict):
    """One axiom for some of the methods."""

    axiom: Annotated[AxiomRef, named_schema(AXIOMS, "an axiom")]
    methods: list[str] | None = Field(None, description="Labels of the methods it is for; all of them by default.")
    expect: dict[str, Bound] = Field({}, description="Bounds by metric, for example `relative_gap.max: {le: 1e-9}`.")
    violated_by: dict[str, dict[str, Bound]] = Field(
        {}, description="Methods that are claimed to violate `expect`, with bounds that the violation itself satisfies."
    )
    record: list[str] = Field([], description="Metrics that are measured and reported, not judged.")
    remove: list[Annotated[Removal, removal_schema()]] | None = Field(
        None, min_length=1, description="Removals, each in the place of the subject's; one check for each of them."
    )

    @model_validator(mode="after")
    def _metrics_exist(self) -> CheckSpec:
        axiom = AXIOMS.get(self.axiom.name)
        bounds = [*self.expect.items(), *(item for claim in self.violated_by.values() for item in claim.items())]
        said = [metric_problem(axiom, name, aggregated=True) for name in (*dict(bounds), *self.record)]
        said += [bound_problem(axiom, name, bound) for name, bound in bounds]
        problems = list(dict.fromkeys(each for each in said if each))
        if problems:
            raise fail(" ".join(problems))
        if not self.expect and not axiom.expect:
            if self.violated_by:
                raise fail("`violated_by` needs an `expect` that is violated")
            if not self.record:
                raise fail(f"{axiom.name!r} has no bound of its own: say what to `expect` or what to `record`")
        return self


class CompareSpec(Strict):
    """A paired comparison of two methods on one metric: `better - than`, example by example."""

    metric: str = Field(description="Axiom and metric, for example `loo_correlation.pearson`.")
    better: str
    than: str
    by: Bound = Field(default_factory=lambda: Bound(gt=0.0))
    confidence: float = Field(
        0.95, gt=0.5, lt=1, description="Of the interval; one minus it is the level of the paired test."
    )
    options: dict[str, Any] | None = Field(
        None, description="Of the axiom; by default those that the checks of this spec give it."
    )
    record: bool = Field(False, description="Measured, tested and reported, not judged: a question, not a claim.")
    remove: list[Annotated[Removal, removal_schema()]] | None = Field(
        None, min_length=1, description="Removals, each in the place of the subject's; one comparison for each of them."
    )

    @model_validator(mode="after")
    def _options(self) -> CompareSpec:
        if self.options is not None:
            check_options(AXIOMS.get(self.metric.partition(".")[0]), self.options)
        if self.by.equals is not None:
            raise fail("`equals` is for lists; a mean difference is a number")
        return self

    @field_validator("metric")
    @classmethod
    def _metric(cls, metric: str) -> str:
        problem = qualified_problem(metric)
        if problem:
            raise fail(problem)
        axiom_name, _, name = metric.partition(".")
        axiom = AXIOMS.get(axiom_name)
        if axiom.metrics[split_metric(axiom, name)[1]].kind != "per_example":
            raise fail(f"{metric!r} is not measured per example, so it cannot be compared in pairs")
        return metric


class SweepSpec(Strict):
    """Settings in which some layers are treated otherwise; for the axioms that look at all of them (`bypass_gain`)."""

    bypass: Literal["softmax"] = Field("softmax", description="What is bypassed in these layers, as CP-LRP does.")
    layers: list[SweepKind] = Field(
        list(SWEEPS), min_length=1, description="Layer k alone, the first k, or from k to the last; for every k."
    )


class TableRef(Strict):
    """Which table of the paper this spec feeds, and which part of it."""

    name: str = Field(description="For example `table-2`.", json_schema_extra={"enum": list(LAYOUTS)})
    block: str = Field("", description="The heading of its rows or its panel, for example `SST`.")

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        if name not in LAYOUTS:
            raise fail(f"there is no table {name!r}.{did_you_mean(name, LAYOUTS)}")
        return name


class Spec(Strict):
    """One claim, what it is about, and the checks that decide it."""

    claim: str = Field(min_length=1, description="One sentence that the checks decide.")
    source: str | None = Field(None, description="Where the claim comes from.")
    note: str | None = Field(None, description="What a reader of the report should know, for example choices of ours.")
    tier: Tier = "smoke"
    subject: Subject
    run: Run = Run()
    methods: list[Annotated[MethodRef, named_schema(METHODS, "a method")]] = Field(min_length=1)
    sweep: SweepSpec | None = None
    checks: list[CheckSpec] = Field(min_length=1)
    compare: list[CompareSpec] = []
    reported: dict[str, dict[str, Reported]] = Field(
        {}, description="What the paper printed, by method and metric; shown beside ours, never judged."
    )
    table: TableRef | None = Field(None, description="The table of the paper that the numbers go into.")

    @field_validator("reported")
    @classmethod
    def _reported(cls, reported: dict[str, dict[str, Reported]]) -> dict[str, dict[str, Reported]]:
        problems = [reported_problem(*item) for metrics in reported.values() for item in metrics.items()]
        said = list(dict.fromkeys(each for each in problems if each))
        if said:
            raise fail(" ".join(said))
        return reported


def split_metric(axiom: Axiom, name: str) -> tuple[str | None, str, str | None]:
    """`left.pearson.mean` as (side, metric, aggregate). A bare side means the axiom's first metric."""
    parts = name.split(".")
    side = parts.pop(0) if parts[0] in SIDES else None
    aggregate = parts.pop() if parts and parts[-1] in AGGREGATES else None
    return side, ".".join(parts) or next(iter(axiom.metrics)), aggregate


def metric_problem(axiom: Axiom, name: str, *, aggregated: bool) -> str | None:
    """What is wrong with a metric's name, if anything."""
    side, metric, aggregate = split_metric(axiom, name)
    if metric not in axiom.metrics:
        return f"{axiom.name!r} measures no {metric!r}.{did_you_mean(metric, axiom.metrics)}"
    if side is not None and axiom.scope == "pair":
        return f"{axiom.name!r} looks at both sides at once; write {metric!r} without {side!r}."
    if axiom.metrics[metric].kind == "per_example":
        if aggregated and aggregate is None:
            return f"{name!r} has a value for each example; write {name}.mean, .max, .min or .median."
    elif aggregate is not None:
        return f"{metric!r} is one value; write it without .{aggregate}."
    return None


def bound_problem(axiom: Axiom, name: str, bound: Bound) -> str | None:
    """`equals` is for lists, and lists are for `equals`."""
    metric = axiom.metrics.get(split_metric(axiom, name)[1])
    if metric is None or (metric.kind in LISTS) == (bound.equals is not None):
        return None
    return (
        f"{name!r} is a list; use `equals`."
        if bound.equals is None
        else f"{name!r} is a number; `equals` is for lists."
    )


def reported_problem(name: str, value: Reported) -> str | None:
    """What is wrong with a reported number: its name, or a list where the metric is a number."""
    problem = qualified_problem(name)
    if problem is not None:
        return problem
    axiom = AXIOMS.get(name.partition(".")[0])
    kind = axiom.metrics[split_metric(axiom, name.partition(".")[2])[1]].kind
    one = kind in ("per_example", "scalar")
    if one != isinstance(value, list):
        return None
    return f"{name!r} is {'one number' if one else 'a list'}; write what the paper printed as one."


def options_in_checks(spec: Spec, axiom: str) -> list[dict[str, Any]]:
    """The different options that the checks of a spec give to an axiom; no options where no check has it."""
    found: list[dict[str, Any]] = []
    for check in spec.checks:
        if check.axiom.name == axiom and check.axiom.options not in found:
            found.append(check.axiom.options)
    return found or [{}]


def qualified_problem(name: str) -> str | None:
    """What is wrong with `axiom.metric`, if anything."""
    axiom_name, _, metric = name.partition(".")
    if axiom_name not in AXIOMS:
        return f"unknown axiom {axiom_name!r} in {name!r}.{did_you_mean(axiom_name, AXIOMS)}"
    if not metric:
        return f"{name!r} names an axiom; write `axiom.metric`."
    return metric_problem(AXIOMS.get(axiom_name), metric, aggregated=False)
