"""What is declared beside a function is a promise: its defaults, what its metrics mean, and when it is measured.

A spec that names no option has these, so that a changed one changes numbers without a line of the spec changing. Where
one is meant to change, `python -m tests.core.test_declared` writes the file anew, and the changelog says so.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import axioms  # noqa: F401  (fills the registries)
from axioms.core.entries import Metric, Registered
from axioms.core.registry import AXIOMS, METHODS, REWRITES, RULES, Registry

DECLARED = Path(__file__).parents[1] / "golden" / "declared.yaml"
KINDS: dict[str, Registry[Any]] = {"methods": METHODS, "axioms": AXIOMS, "rewrites": REWRITES, "rules": RULES}


def declaration(entry: Registered) -> dict[str, Any]:
    """Return what an entry declares, as plain data; what is the default of its kind goes without saying."""
    keywords = {
        name: _plain(parameter.default)
        for name, parameter in inspect.signature(entry.function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty
    }
    declared = {"options": keywords} | {
        field.name: _plain(getattr(entry, field.name))
        for field in dataclasses.fields(entry)
        if field.name not in ("name", "function")
    }
    # That a method's passes depend on the input is said: by default it has one.
    return {name: value for name, value in declared.items() if name == "passes" or value not in (None, False, {})}


def _plain(value: Any) -> Any:
    """Return a declared value as YAML reads it, a function as its name."""
    if callable(value):
        return value.__name__
    if isinstance(value, Metric):
        said = {name: _plain(getattr(value, name)) for name in ("kind", "rounding", "moves", "derive")}
        return {name: one for name, one in said.items() if one not in (None, False, "per_example")}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, tuple | list) else value


def ours(registry: Registry[Any]) -> dict[str, Any]:
    return {name: declaration(registry.get(name)) for name in registry if registry.get(name).is_ours}


def broken(promised: Any, declared: Any, place: str) -> list[str]:
    """Return where something that was promised is gone or another; what is new breaks nothing."""
    if isinstance(promised, dict) and isinstance(declared, dict):
        return [line for name in promised for line in broken(promised[name], declared.get(name), f"{place}.{name}")]
    return [] if promised == declared else [f"{place} was {promised!r} and is {declared!r}"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_declared_is_as_promised(kind: str) -> None:
    promised = yaml.safe_load(DECLARED.read_text())[kind]
    assert broken(promised, ours(KINDS[kind]), kind) == [], "if meant so, run: python -m tests.core.test_declared"


@pytest.mark.parametrize("name", sorted(AXIOMS))
def test_a_metric_that_must_be_zero_may_round(name: str) -> None:
    """A default bound of 1e-9, say, asks for zero, which no float32 gives; one of 0 counts something."""
    for metric, bound in AXIOMS.get(name).expect.items():
        asks_for_zero = 0 < bound["le"] < 1e-3
        assert AXIOMS.get(name).metrics[metric.rpartition(".")[0]].rounding or not asks_for_zero


if __name__ == "__main__":
    declared = {kind: ours(registry) for kind, registry in KINDS.items()}
    DECLARED.write_text(yaml.safe_dump(declared, default_flow_style=None, width=120))
