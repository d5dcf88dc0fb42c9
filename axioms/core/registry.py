"""Names to things: methods, axioms, subjects, data sources, rewrites. A spec needs the name and nothing else.

Importing this module, and every module that registers something in it, must not import torch: specs are
validated without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from axioms.core.entries import Axiom, Method, Metric, Registered, Rewrite, Rule, is_other, place_name
from axioms.core.errors import NameTaken, UnknownName, did_you_mean

Entry = TypeVar("Entry", bound=Registered)
OWN = (
    " If it is yours, load its module: --axioms-import MODULE for pytest, --import MODULE for a command, or "
    "axioms_import in pytest's settings for both."
)


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
        if known is not None and is_other(known.function, entry.function):
            raise NameTaken(
                f"{self.what} {entry.name!r} is already registered by {place_name(known.function)}, so "
                f"{place_name(entry.function)} cannot register it; give yours another name."
            )
        self._entries[entry.name] = entry

    def get(self, name: str) -> Entry:
        """The entry, or `UnknownName` with a suggestion."""
        if name in self._entries:
            return self._entries[name]
        prefix, colon, member = name.partition(":")
        if colon and prefix in self.resolvers:
            return self.resolvers[prefix](member)
        if colon and self.resolvers:
            raise UnknownName(f"unknown {self.what} {name!r}.{did_you_mean(prefix, self.resolvers)}")
        suggestion, known, names = did_you_mean(name, self._entries).partition(" Known:")
        raise UnknownName(f"unknown {self.what} {name!r}.{suggestion}{OWN}{known}{names}")

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
CLAIMS: dict[str, dict[str, Any]] = {}
"""The papers' claims by paper and row (axioms/papers), so that a spec can say which of them it tests."""

Function = TypeVar("Function", bound=Callable[..., Any])


def method(
    name: str,
    *,
    passes: float | None = 1.0,
    composite: Callable[[], Any] | None = None,
    validate: Callable[..., Any] | None = None,
    settles: bool = False,
    estimate: Callable[[Any, Any], Any] | None = None,
) -> Callable[[Function], Function]:
    """Register an attribution method: `function(model, inputs, target, *, options) -> scores`.

    `model(inputs)` gives the outputs, `target(outputs)` the number to explain per example, and
    `inputs.features` is what to attribute to. The scores have the shape of the features, or batch x features.
    `composite` gives the rules of a method that is made of them, for the table of methods; `validate` is called
    with the options that a spec sets, and raises where they are wrong. A method that `settles` runs the
    model on the inputs as they are before it reads the target, and tells it so by `target.settle(outputs)`:
    `axioms.attribute` then needs no forward pass of its own to choose it. `estimate` is what the method says of a patch
    inside the model (axioms/methods/patching.py).
    """

    def register(function: Function) -> Function:
        METHODS.add(
            Method(
                name,
                function,
                passes=passes,
                composite=composite,
                validate=validate,
                settles=settles,
                estimate=estimate,
            )
        )
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
    once: bool = False,
) -> Callable[[Function], Function]:
    """Register an axiom: `function(side_or_pair, *, options) -> {metric: values}`.

    `metrics` says what it measures; `expect` is the bound that applies where a spec states none. An axiom whose metrics
    are all per example is called for some examples at a time; one with a scalar or a vector, for all at once.
    """
    if scope not in ("side", "pair"):
        raise ValueError(f"scope must be 'side' or 'pair', not {scope!r}")
    declared = {key: Metric(value) if isinstance(value, str) else value for key, value in metrics.items()}

    def register(function: Function) -> Function:
        AXIOMS.add(Axiom(name, function, scope, declared, expect or {}, methodless, timed, once))
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


def rewrite_units(name: str) -> Callable[[Function], Function]:
    """Register a rewrite of the units of the input: `function(model, inputs, *, options) -> (model, Moved)`."""

    def register(function: Function) -> Function:
        REWRITES.add(Rewrite(name, function, "units"))
        return function

    return register


def rewrites_of_all() -> list[str]:
    """Return what `rewrites: all` stands for: every rewrite that leaves the meaning of the input's numbers alone."""
    return [name for name in REWRITES if REWRITES.get(name).of != "units"]
