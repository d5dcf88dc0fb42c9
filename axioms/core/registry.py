"""Names to things: methods, axioms, subjects, data sources, rewrites. A spec needs the name and nothing else.

Importing this module, and every module that registers something in it, must not import torch: specs are
validated without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, create_model

from axioms.core.errors import NameTaken, UnknownName, did_you_mean

Entry = TypeVar("Entry", bound="Registered")


@dataclass(frozen=True)
class Registered:
    """A function under a name; its keyword-only parameters are the options that a spec may set."""

    name: str
    function: Callable[..., Any]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    def options_model(self) -> type[BaseModel]:
        """A strict pydantic model of the options, made from the signature."""
        return _options_model(self.name, self.function)

    @property
    def required(self) -> list[str]:
        """The options that have no default."""
        parameters = _signature(self.function).parameters.values()
        keywords = [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
        return [each.name for each in keywords if each.default is inspect.Parameter.empty]

    def takes(self, option: str) -> bool:
        """Whether the function has this keyword-only parameter."""
        parameter = _signature(self.function).parameters.get(option)
        return parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY


_signature = cache(inspect.signature)


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    """Return the file and line where a function stands, or where it was made."""
    code = getattr(function, "__code__", None)
    return getattr(function, "__place__", ("", 0) if code is None else (code.co_filename, code.co_firstlineno))


def _is_other(known: Callable[..., Any], new: Callable[..., Any]) -> bool:
    """Tell whether a function is another one, and not the same after its module was loaded anew."""
    if (known.__module__, known.__qualname__) != (new.__module__, new.__qualname__):
        return True
    return _place(known)[0] == _place(new)[0] and _place(known)[1] != _place(new)[1]


def _place_name(function: Callable[..., Any]) -> str:
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


@dataclass(frozen=True)
class Rewrite(Registered):
    """A change that keeps the function: of a model (which is a copy of the caller's), or of the inputs."""

    of: Literal["model", "inputs"] = "model"


class Registry(Generic[Entry]):
    """A mapping of names that answers an unknown one with a suggestion."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._entries: dict[str, Entry] = {}
        self.resolvers: dict[str, Callable[[str], Entry]] = {}
        """Prefix to what finds the rest of a name when it is asked for: `captum:Saliency`."""

    def add(self, entry: Entry) -> None:
        """Register; a name that is taken by another function is an error, since silence would change results.

        The same function again takes its own place: its module was loaded anew.
        """
        known = self._entries.get(entry.name)
        if known is not None and _is_other(known.function, entry.function):
            raise NameTaken(
                f"{self.what} {entry.name!r} is already registered by {_place_name(known.function)}, so "
                f"{_place_name(entry.function)} cannot register it; give yours another name."
            )
        self._entries[entry.name] = entry

    def get(self, name: str) -> Entry:
        """The entry, or `UnknownName` with a suggestion."""
        if name in self._entries:
            return self._entries[name]
        prefix, colon, member = name.partition(":")
        if colon and prefix in self.resolvers:
            return self.resolvers[prefix](member)
        suggestion = did_you_mean(prefix, self.resolvers) if colon and self.resolvers else ""
        raise UnknownName(f"unknown {self.what} {name!r}.{suggestion or did_you_mean(name, self._entries)}")

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))


METHODS: Registry[Method] = Registry("method")
AXIOMS: Registry[Axiom] = Registry("axiom")
SUBJECTS: Registry[Registered] = Registry("subject")
DATA: Registry[Registered] = Registry("data source")
REWRITES: Registry[Rewrite] = Registry("rewrite")
RULES: Registry[Rule] = Registry("rule")
TABLES: dict[str, Any] = {}
"""The papers' tables by name (axioms/papers), so that a spec can say which of them it feeds."""

Function = TypeVar("Function", bound=Callable[..., Any])


def method(
    name: str, *, passes: float | None = 1.0, composite: Callable[[], Any] | None = None
) -> Callable[[Function], Function]:
    """Register an attribution method: `function(model, inputs, target, *, options) -> scores`.

    `model(inputs)` gives the outputs, `target(outputs)` the number to explain per example, and
    `inputs.features` is what to attribute to. The scores have the shape of the features, or batch x features.
    `composite` gives the rules of a method that is made of them, for the table of methods.
    """

    def register(function: Function) -> Function:
        METHODS.add(Method(name, function, passes=passes, composite=composite))
        return function

    return register


def rule(
    name: str,
    *,
    on: str | Sequence[str],
    explicit: Callable[..., Any] | None = None,
    absorbs: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """Register a rule: `function(operation, *, options) -> value`, the same value with another backward pass.

    `on` names the kinds of operations that it is for. Without `explicit` the engine-agreement check says that it is not
    defined for the rule; without `absorbs` the ledger's unexplained remainder shows what the rule keeps back.
    """
    known = (on,) if isinstance(on, str) else tuple(on)

    def register(function: Function) -> Function:
        RULES.add(Rule(name, function, known, explicit, absorbs))
        return function

    return register


def axiom(
    name: str,
    *,
    metrics: Mapping[str, Metric | str],
    scope: str = "side",
    expect: Mapping[str, Mapping[str, Any]] | None = None,
    methodless: bool = False,
    timed: bool = False,
) -> Callable[[Function], Function]:
    """Register an axiom: `function(side_or_pair, *, options) -> {metric: values}`.

    `metrics` says what it measures; `expect` is the bound that applies where a spec states none.
    """
    if scope not in ("side", "pair"):
        raise ValueError(f"scope must be 'side' or 'pair', not {scope!r}")
    declared = {key: Metric(value) if isinstance(value, str) else value for key, value in metrics.items()}

    def register(function: Function) -> Function:
        AXIOMS.add(Axiom(name, function, scope, declared, expect or {}, methodless, timed))
        return function

    return register


def subject(name: str) -> Callable[[Function], Function]:
    """Register a model builder: `function(*, options) -> torch.nn.Module`."""

    def register(function: Function) -> Function:
        SUBJECTS.add(Registered(name, function))
        return function

    return register


def data(name: str) -> Callable[[Function], Function]:
    """Register a data source: `function(*, options) -> axioms.subjects.Data`."""

    def register(function: Function) -> Function:
        DATA.add(Registered(name, function))
        return function

    return register


def rewrite(name: str) -> Callable[[Function], Function]:
    """Register a rewrite of models: `function(model, *, options) -> model` computes the same function.

    The model is a copy that the rewrite may change; it raises `NotApplicable` where its pattern does not occur.
    """

    def register(function: Function) -> Function:
        REWRITES.add(Rewrite(name, function, "model"))
        return function

    return register


def rewrite_inputs(name: str) -> Callable[[Function], Function]:
    """Register a rewrite of inputs: `function(model, inputs, *, options) -> axioms.subjects.built.Moved`."""

    def register(function: Function) -> Function:
        REWRITES.add(Rewrite(name, function, "inputs"))
        return function

    return register
