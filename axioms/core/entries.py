"""What can be registered: methods, rules, axioms, rewrites and builders, each a function with options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model

from axioms.core.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Registered:
    """A function under a name; its keyword-only parameters are the options that a spec may set."""

    name: str
    function: Callable[..., Any]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def is_ours(self) -> bool:
        """Whether this package defines it, and not a user."""
        return self.function.__module__.partition(".")[0] == "axioms"

    def options_model(self) -> type[BaseModel]:
        """A strict pydantic model of the options, made from the signature."""
        return _options_model(self.name, self.function)

    @property
    def required(self) -> list[str]:
        """The options that have no default."""
        return [name for name, option in self._options.items() if option.default is inspect.Parameter.empty]

    def takes(self, option: str) -> bool:
        """Whether the function has this keyword-only parameter."""
        return option in self._options

    @property
    def _options(self) -> dict[str, inspect.Parameter]:
        """The keyword-only parameters of the function."""
        parameters = _signature(self.function).parameters
        return {name: each for name, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY}


_signature = cache(inspect.signature)


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    """Return the file and line where a function stands, or where it was made."""
    code = getattr(function, "__code__", None)
    return getattr(function, "__place__", ("", 0) if code is None else (code.co_filename, code.co_firstlineno))


def is_other(known: Callable[..., Any], new: Callable[..., Any]) -> bool:
    """Tell whether a function is another one, and not the same after its module was loaded anew."""
    if (known.__module__, known.__qualname__) != (new.__module__, new.__qualname__):
        return True
    return _place(known)[0] == _place(new)[0] and _place(known)[1] != _place(new)[1]


def place_name(function: Callable[..., Any]) -> str:
    """Return the module and line of a function, for a message."""
    return f"{function.__module__} (line {_place(function)[1]})"


@cache
def _options_model(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    extra: Literal["allow", "forbid"] = "forbid"
    for parameter in _signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            extra = "allow"
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        annotation: Any = parameter.annotation
        if annotation is inspect.Parameter.empty:
            annotation = Any
        elif isinstance(annotation, str):  # `from __future__ import annotations` leaves the source text
            annotation = eval(annotation, function.__globals__)
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (annotation, default)
    return create_model(name, __config__=ConfigDict(extra=extra, strict=True), **fields)


@dataclass(frozen=True)
class Method(Registered):
    """A function from (model, inputs, target) to one relevance per feature."""

    passes: float | None = 1.0
    """Forward-and-backward passes it costs; None where that depends on the input's length."""
    composite: Callable[[], Any] | None = None
    """The rules that it is made of, with its options as they are by default; None where it is made of none."""
    settles: bool = False
    """Whether its own first pass chooses the target, by `target.settle(outputs)`; else the model is run for that."""
    on_modules: bool = False
    """Whether it changes modules alone, by hooks: what is no module it leaves to the plain gradient."""
    validate: Callable[..., Any] | None = None
    """Called with a spec's options; raises where they fit the signature and are wrong all the same."""
    estimate: Callable[[Any, Any], Any] | None = None
    """Its own way from what a tap caught to what a patch would take, `estimate(tap, patch) -> effects`; by default the
    gradient under its rules times the difference."""

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise where an option is not the function's, or one that it needs is missing."""
        parameters = _signature(self.function).parameters
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
        unknown = [name for name in options if name not in parameters and not takes_any]
        if unknown:
            raise InputError(f"{self.name!r} has no option {unknown[0]!r}.{did_you_mean(unknown[0], self._options)}")
        missing = [name for name in self.required if name not in options]
        if missing:
            raise InputError(
                f"{self.name!r} needs the option {missing[0]!r}; `axioms list methods {self.name}` says what for."
            )


@dataclass(frozen=True)
class Rule(Registered):
    """How relevance crosses one operation: `function(operation, *, options) -> value` with another backward pass."""

    on: tuple[str, ...] = ()
    """The kinds of operations that it is for."""
    explicit: Callable[..., Any] | None = None
    """The same rule as a share of relevance, `explicit(step, *, options) -> value`; None where it has no such form."""
    absorbs: Callable[..., Any] | None = None
    """What it keeps back, in closed form: `absorbs(operation, value, options) -> {category: coefficients}`."""


@dataclass(frozen=True)
class Metric:
    """One number (or list) that an axiom measures."""

    about: str
    kind: str = "per_example"
    """`per_example` (n values, aggregated), `scalar`, `vector` (compared as a whole), or `curve` (one for each example
    on a common grid, of removed shares or of layers, of which the mean stands for all)."""
    rounding: bool = False
    """Zero in exact arithmetic, so that a bound on it cannot be tighter than the dtype's rounding."""
    moves: tuple[float, float] | None = None
    """By how much it may differ from a baseline, absolutely and relatively, where a spec states no tolerance; None for
    the default of the run's dtype."""
    derive: Callable[[Mapping[str, Any]], Any] | None = None
    """Of a scalar that is computed from the axiom's other metrics, when those of all examples are there."""

    @property
    def adds_up(self) -> bool:
        """Whether that of all examples is known from that of some and of the others."""
        return self.kind in ("per_example", "curve") or self.derive is not None


@dataclass(frozen=True)
class Axiom(Registered):
    """A property with metrics. `scope` says whether it looks at a pair or at each side by itself."""

    scope: str = "side"
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    expect: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The bounds that hold where a spec states none."""
    methodless: bool = False
    """Looks at the models only (forward equivalence): one check per spec, not one per method."""
    timed: bool = False
    """Measures time, so that what an earlier run measured says nothing about this one."""
    once: bool = False
    """Looks at the models, at the data as a whole (`side.data`) and at the first examples only: measured once, not for
    all examples."""

    @property
    def adds_up(self) -> bool:
        """Whether it can be measured on some of the examples at a time."""
        return all(metric.adds_up for metric in self.metrics.values())


@dataclass(frozen=True)
class Rewrite(Registered):
    """A change that keeps the function: of a model (which is a copy of the caller's), of the inputs, or of both."""

    of: Literal["model", "inputs", "units"] = "model"
    """`units` changes what the input's numbers mean, and the model with them: that is another question than whether two
    implementations are told apart, so that `rewrites: all` leaves it out."""
