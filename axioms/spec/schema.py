"""The spec language: what a YAML file may say. Strict, so that a misspelt key is an error and not a silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from axioms.core.errors import did_you_mean
from axioms.core.registry import AXIOMS, METHODS, TABLES
from axioms.core.seeds import Seed
from axioms.core.sweeps import KINDS as SWEEPS
from axioms.core.sweeps import SweepKind
from axioms.model.removals import Removal
from axioms.spec.bounds import Bound
from axioms.spec.claim import ClaimSpec
from axioms.spec.metrics import (
    Reported,
    bound_problem,
    metric_problem,
    qualified_problem,
    reported_problem,
    split_metric,
)
from axioms.spec.references import AxiomRef, MethodRef, Strict, check_options, fail, named_schema
from axioms.spec.subject import Subject, removal_schema
from axioms.spec.tolerance import Tolerance, pattern_problem

Tier = Literal["smoke", "full", "paper"]
TIERS: tuple[Tier, ...] = ("smoke", "full", "paper")


class Run(Strict):
    """How it is computed."""

    dtype: Literal["float64", "float32", "float16", "bfloat16"] = "float32"
    device: str = Field("auto", description="`auto` is CUDA where there is one, else the CPU.")
    seed: Seed = 0
    batch_size: int = Field(64, gt=0, lt=2**31)
    confidence: float = Field(0.95, gt=0.5, lt=1, description="Of the bootstrap intervals.")


class Claims(Strict):
    """What is claimed about methods that do not keep an axiom."""

    violated_by: dict[str, dict[str, Bound]] = Field(
        {}, description="Methods that are claimed to violate `expect`, with bounds that the violation itself satisfies."
    )
    refused_by: list[str] = Field(
        [], description="Methods that are claimed to have no rule for an operation here, and to say so."
    )
    because: str | None = Field(None, description="Why, in one line; shown in the report.")


class CheckSpec(Claims):
    """One axiom for some of the methods."""

    axiom: Annotated[AxiomRef, named_schema(AXIOMS, "an axiom")]
    methods: list[str] | None = Field(None, description="Labels of the methods it is for; all of them by default.")
    expect: dict[str, Bound] = Field({}, description="Bounds by metric, for example `relative_gap.max: {le: 1e-9}`.")
    rewrites: list[str] | None = Field(None, description="Rewrites of the pair it is for; all of them by default.")
    on: dict[str, Claims] = Field({}, description="Claims that are made for one rewrite only, by its name.")
    record: list[str] = Field([], description="Metrics that are measured and reported, not judged.")
    remove: list[Annotated[Removal, removal_schema()]] | None = Field(
        None, min_length=1, description="Removals, each in the place of the subject's; one check for each of them."
    )

    def is_for(self, method: str) -> bool:
        """Whether the method with this label is checked."""
        return self.methods is None or method in self.methods

    @model_validator(mode="after")
    def _metrics_exist(self) -> CheckSpec:
        axiom = AXIOMS.get(self.axiom.name)
        claims = [bounds for claim in (self, *self.on.values()) for bounds in claim.violated_by.values()]
        bounds = [*self.expect.items(), *(item for claim in claims for item in claim.items())]
        problems = [metric_problem(axiom, name, aggregated=True) for name in (*dict(bounds), *self.record)]
        problems += [bound_problem(axiom, name, bound) for name, bound in bounds]
        _fail_if_any(problems)
        if not self.expect and not axiom.expect:
            if claims:
                raise fail("`violated_by` needs an `expect` that is violated")
            if not self.record:
                raise fail(f"{axiom.name!r} has no bound of its own: say what to `expect` or what to `record`")
        return self


class NotDefinedSpec(Strict):
    """Combinations that do not exist on this subject; each is tried, and must say so."""

    axiom: Annotated[AxiomRef, named_schema(AXIOMS, "an axiom")] | None = Field(
        None, description="With the options that it is meant with; every axiom by default."
    )
    methods: list[str] | None = Field(None, description="Labels of methods; all of them by default.")
    because: str = Field(min_length=1, description="Why, in one line; shown in the report.")

    def matches(self, axiom: AxiomRef, method: str) -> bool:
        """Whether a check is meant."""
        if self.methods is not None and method not in self.methods:
            return False
        wanted = self.axiom
        return wanted is None or (wanted.name == axiom.name and wanted.options.items() <= axiom.options.items())


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

    name: str = Field(description="For example `table-2`.", json_schema_extra={"enum": list(TABLES)})
    block: str = Field("", description="The heading of its rows or its panel, for example `SST`.")

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        if name not in TABLES:
            raise fail(f"there is no table {name!r}.{did_you_mean(name, TABLES)}")
        return name


class Spec(ClaimSpec):
    """One claim, what it is about, and the checks that decide it."""

    claims: list[ClaimSpec] = Field([], description="Further claims, which checks of this spec decide.")
    source: str | None = Field(None, description="Where the claim comes from.")
    note: str | None = Field(None, description="What a reader of the report should know, for example choices of ours.")
    tier: Tier = "smoke"
    subject: Subject
    run: Run = Run()
    methods: list[Annotated[MethodRef, named_schema(METHODS, "a method")]] = Field(min_length=1)
    sweep: SweepSpec | None = None
    checks: list[CheckSpec] = Field(min_length=1)
    not_defined: list[NotDefinedSpec] = Field(
        [],
        description="Methods or axioms that do not exist for this subject: each must refuse, and the report says why.",
    )
    compare: list[CompareSpec] = Field([])
    reported: dict[str, dict[str, Reported]] = Field(
        {}, description="What the paper printed, by method and metric; shown beside ours, never judged."
    )
    table: TableRef | None = Field(None, description="The table of the paper that the numbers go into.")
    tolerance: dict[str, Tolerance] = Field(
        {},
        description="How far metrics may move from a baseline, by patterns of `axiom.metric` such as "
        "`loo_correlation.*`, or of one method, `attnlrp/loo_correlation.*`; the first that matches counts, and the "
        "defaults depend on the dtype.",
    )

    @field_validator("tolerance")
    @classmethod
    def _tolerance(cls, tolerance: dict[str, Tolerance]) -> dict[str, Tolerance]:
        _fail_if_any(map(pattern_problem, tolerance))
        return tolerance

    @field_validator("reported")
    @classmethod
    def _reported(cls, reported: dict[str, dict[str, Reported]]) -> dict[str, dict[str, Reported]]:
        _fail_if_any(reported_problem(*item) for metrics in reported.values() for item in metrics.items())
        return reported


def _fail_if_any(problems: Iterable[str | None]) -> None:
    """Raise one error with all problems, each said once."""
    said = list(dict.fromkeys(problem for problem in problems if problem))
    if said:
        raise fail(" ".join(said))


def options_in_checks(spec: Spec, axiom: str) -> list[dict[str, Any]]:
    """Return the different options that the checks of a spec give to an axiom; no options where no check has it."""
    options: list[dict[str, Any]] = []
    for check in spec.checks:
        if check.axiom.name == axiom and check.axiom.options not in options:
            options.append(check.axiom.options)
    return options or [{}]
