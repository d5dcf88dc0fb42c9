"""Layer-wise relevance propagation: each method is a composite of rules."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from axioms.core.entries import Method
from axioms.core.errors import InputError, UnknownName, did_you_mean
from axioms.core.registry import METHODS, RULES, method
from axioms.engine import rules as _rules  # noqa: F401  (registers them)
from axioms.engine.composite import Composite, Entry, RuleRef

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


Layers = list[int]
"""Layer numbers, 1-based."""
Engine = Literal["fast", "explicit"] | Annotated[dict[Literal["explicit"], float], Field(min_length=1)]
"""`explicit` carries relevance itself through literal equations, slowly; it is there to be compared with.

`{explicit: 1e-6}` stabilizes each of its divisions by that epsilon, and not by 1e-12, where a rule has none of its own.
"""


def rule_problem(entry: Entry) -> str | None:
    """Return what is wrong with an entry of a composite: its rule, the kind of operation or an option; else None."""
    name = entry.rule.name
    try:
        known = RULES.get(name)
    except UnknownName as error:
        return str(error)
    if entry.kind not in known.on:
        return (
            f"rule {name!r} is for {' and '.join(known.on)} operations, not for {entry.kind!r}; for that there are: "
            + ", ".join(other for other in RULES if entry.kind in RULES.get(other).on)
        )
    try:
        known.options_model().model_validate(dict(entry.rule.options))
    except ValidationError as error:
        detail = error.errors()[0]
        option, options = str(detail["loc"][0]) if detail["loc"] else "", known.options_model().model_fields
        if detail["type"] == "extra_forbidden":
            return f"rule {name!r} has no option {option!r}.{did_you_mean(option, options)}"
        return f"rule {name!r}, option {option!r}: {detail['msg']}; found {detail['input']!r}."
    return None


class RuleSpec(BaseModel):
    """One entry of a composite, as a spec writes it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    on: Literal["linear", "sum", "product", "softmax", "norm", "normalizer", "activation", "gate"]
    rule: str | dict[str, dict[str, Any]]
    layers: Layers = []
    modules: str = "*"
    functions: list[str] = []

    @model_validator(mode="after")
    def _known(self) -> Self:
        if isinstance(self.rule, dict) and len(self.rule) != 1:
            raise ValueError(f"a rule is a name or {{name: {{option: value}}}}, not {self.rule!r}")
        wrong = rule_problem(self.entry())
        if wrong is not None:
            raise ValueError(wrong)
        return self

    def entry(self) -> Entry:
        """The entry of a composite that it stands for."""
        name, options = (self.rule, {}) if isinstance(self.rule, str) else next(iter(self.rule.items()))
        return Entry(self.on, RuleRef(name, options), frozenset(self.functions), self.modules, frozenset(self.layers))


SELECTIVE_SCAN = (
    Entry("gate", RuleRef("stop"), owning="A_log"),
    Entry("product", RuleRef("scan_product"), owning="A_log"),
)
"""MambaLRP: in a selective scan its parameters are constants (the rule `scan_product`).

A module is one if it has the logarithm of a state matrix, as in Mamba, Mamba-2, Falcon-Mamba and Jamba."""

WRITTEN_SWISH = Entry("gate", RuleRef("stop"), frozenset(("sigmoid",)), owning="gate_up_proj")
"""The experts of GPT-OSS write their activation out, g * sigmoid(alpha g): with the sigmoid constant its rule is the
identity, which is what the activation has as one function. A sigmoid anywhere else has no rule."""


@cache
def attnlrp_composite(epsilon: float = 0.0) -> Composite:
    """The rules of AttnLRP."""
    stabilized = {"epsilon": epsilon}
    return Composite.of(
        {
            "linear": RuleRef("epsilon", stabilized),
            "product": RuleRef("uniform", stabilized),
            "softmax": RuleRef("taylor"),
            "norm": RuleRef("norm_as_linear"),
            "normalizer": RuleRef("stop"),
            "activation": RuleRef("identity"),
        }
    ).then(*SELECTIVE_SCAN, WRITTEN_SWISH)


@cache
def cp_lrp_composite(epsilon: float = 0.0) -> Composite:
    """The rules of CP-LRP."""
    constant = Composite.of({"product": RuleRef("signal_take_all"), "softmax": RuleRef("stop")})
    return Composite((*attnlrp_composite(epsilon).entries, *constant.entries)).then(*SELECTIVE_SCAN, WRITTEN_SWISH)


@cache
def epsilon_composite(epsilon: float = 1e-6) -> Composite:
    """AttnLRP's rules with the epsilon rule in sums too."""
    return attnlrp_composite(epsilon).then(Entry("sum", RuleRef("epsilon", {"epsilon": epsilon})))


@cache
def gamma_composite(gamma: float = 0.25) -> Composite:
    """AttnLRP's rules with the gamma rule in linear maps."""
    return attnlrp_composite().then(Entry("linear", RuleRef("gamma", {"gamma": gamma})))


@cache
def alpha1_beta0_composite() -> Composite:
    """AttnLRP's rules with positive contributions only in linear maps."""
    return attnlrp_composite().then(Entry("linear", RuleRef("alpha1_beta0")))


@method("attnlrp", composite=attnlrp_composite, settles=True)
def attnlrp(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    epsilon: float = 0.0,
    bypass: dict[Literal["softmax"], Layers] | None = None,
    engine: Engine = "fast",
) -> Tensor:
    """AttnLRP (Achtibat et al. 2024): products split in half (3, 4), softmax by its Taylor expansion (5).

    `bypass: {softmax: [6, 10]}` treats the softmax of these layers as CP-LRP does.
    """
    layers = frozenset((bypass or {}).get("softmax", ()))
    composite = attnlrp_composite(epsilon)
    if layers:
        composite = composite.then(Entry("softmax", RuleRef("stop"), layers=layers))
    return _relevance(model, inputs, target, composite, engine)


@method("cp_lrp", composite=cp_lrp_composite, settles=True)
def cp_lrp(model: Model, inputs: Inputs, target: Target, *, epsilon: float = 0.0, engine: Engine = "fast") -> Tensor:
    """CP-LRP (Ali et al. 2022): the softmax is a constant, so that O = A V passes relevance to V alone.

    So is the gate of a gated MLP. Where a product has neither before it, its last factor is the signal that takes all:
    in linear attention that is V, however the product is grouped.
    """
    return _relevance(model, inputs, target, cp_lrp_composite(epsilon), engine)


@method("lrp_epsilon", composite=epsilon_composite, settles=True)
def lrp_epsilon(
    model: Model, inputs: Inputs, target: Target, *, epsilon: float = 1e-6, engine: Engine = "fast"
) -> Tensor:
    """The epsilon rule everywhere, sums included; products split in half, softmax by its Taylor expansion."""
    return _relevance(model, inputs, target, epsilon_composite(epsilon), engine)


@method("lrp_gamma", composite=gamma_composite, settles=True)
def lrp_gamma(model: Model, inputs: Inputs, target: Target, *, gamma: float = 0.25, engine: Engine = "fast") -> Tensor:
    """AttnLRP with the gamma rule in linear maps: contributions with the output's sign count more."""
    return _relevance(model, inputs, target, gamma_composite(gamma), engine)


@method("lrp_alpha1_beta0", composite=alpha1_beta0_composite, settles=True)
def lrp_alpha1_beta0(model: Model, inputs: Inputs, target: Target, *, engine: Engine = "fast") -> Tensor:
    """AttnLRP with positive contributions only in linear maps (Bach et al. 2015)."""
    return _relevance(model, inputs, target, alpha1_beta0_composite(), engine)


@method("lrp", settles=True)
def lrp(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    rules: list[RuleSpec],
    base: Literal["attnlrp", "cp_lrp", "plain"] = "attnlrp",
    engine: Engine = "fast",
) -> Tensor:
    """Any mixture of rules per kind of operation, module, layer and head, on top of a known composite.

    `rules: [{on: softmax, rule: stop, layers: [6, 10]}, {on: linear, rule: {gamma: {gamma: 0.5}}, modules: "*.mlp.*"}]`
    """
    bases = {"attnlrp": attnlrp_composite(), "cp_lrp": cp_lrp_composite(), "plain": Composite(())}
    entries = [RuleSpec.model_validate(rule).entry() for rule in rules]
    return _relevance(model, inputs, target, bases[base].then(*entries), engine)


def composite_of(name: str, **options: Any) -> Composite:
    """Return the rules that a registered method is made of, to build on: `composite_of("attnlrp").then(entry)`."""
    known = METHODS.get(name)
    if known.composite is None:
        raise InputError(f"method {name!r} is not made of rules, so it has no composite to build on.")
    composite: Composite = known.composite(**options)
    return composite


def composite_method(name: str, composite: Composite | Callable[..., Composite]) -> Method:
    """Register a method that propagates relevance by the rules of a composite, and return it.

    A function in the place of the composite makes one out of its keyword-only parameters, which become the method's
    options.
    """
    build: Callable[..., Composite] = composite if callable(composite) else lambda: composite

    def propagate_composite(
        model: Model, inputs: Inputs, target: Target, *, engine: Engine = "fast", **options: Any
    ) -> Tensor:
        return _relevance(model, inputs, target, build(**options), engine)

    def validate(*, engine: Engine = "fast", **options: Any) -> None:
        wrong = [problem for entry in build(**options).entries if (problem := rule_problem(entry)) is not None]
        if wrong:
            raise InputError(f"method {name!r}: {wrong[0]}")

    signature = inspect.signature(propagate_composite)
    fixed = list(signature.parameters.values())[:-1]
    parameters = inspect.signature(build, eval_str=True).parameters.values()
    options = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    function: Any = propagate_composite
    function.__signature__ = signature.replace(parameters=[*fixed, *options])
    function.__doc__ = inspect.getdoc(composite) if callable(composite) else f"The rules of {name!r}."
    caller = sys._getframe(1)
    function.__module__, function.__qualname__ = caller.f_globals.get("__name__", ""), name
    function.__place__ = (caller.f_code.co_filename, caller.f_lineno)
    method(name, composite=build, validate=validate, settles=True)(function)
    return METHODS.get(name)


def _relevance(model: Model, inputs: Inputs, target: Target, composite: Composite, engine: Engine) -> Tensor:
    if engine != "fast":
        from axioms.engine.handlers.explicit import propagate_explicit

        epsilon = 1e-12 if engine == "explicit" else engine["explicit"]
        return propagate_explicit(model, inputs, target, composite, epsilon=epsilon)
    from axioms.engine.handlers.propagate import propagate

    return propagate(model, inputs, target, composite)
