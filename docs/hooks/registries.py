"""Pages of what is registered: axioms, methods, rules, rewrites, subjects and data."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import yaml
from prose import cell, escape, fenced, paragraphs, table

import axioms  # noqa: F401  (fills the registries)
from axioms.core.entries import Axiom, Metric, Registered
from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, RULES, SUBJECTS, Registry
from axioms.core.suite import suite_fixtures

FORMULAS = Path(__file__).with_name("formulas.yaml")
NOTE = "*Generated from the registry when this site was built; `axioms list {kind} NAME` prints the same.*\n"


def formulas(kind: str, registry: Registry[Any]) -> dict[str, dict[str, str]]:
    """Return the formulas and sources of one kind; one for a name that is not registered is an error."""
    known = yaml.safe_load(FORMULAS.read_text(encoding="utf-8"))[kind]
    unknown = sorted(set(known) - set(registry))
    if unknown:
        raise ValueError(f"{FORMULAS.name} has formulas for {kind} that are not registered: {', '.join(unknown)}")
    return known


def options_table(entry: Registered) -> str:
    """Return the options of an entry with types and defaults; nothing where it has none."""
    rows = []
    for name, field in entry.options_model().model_fields.items():
        kind = str(getattr(field.annotation, "__name__", field.annotation)).replace("typing.", "")
        rows.append(
            [f"`{name}`", f"`{kind}`".replace("|", "\\|"), "needed" if field.is_required() else f"`{field.default!r}`"]
        )
    return "\n" + table(["option", "type", "default"], rows) if rows else ""


def _source(entry: Registered) -> str:
    module = entry.function.__module__.replace(".", "/")
    return f"`{module}.py`"


def _maths(known: dict[str, dict[str, str]], name: str) -> str:
    formula = known.get(name, {}).get("formula")
    return f"\n$$\n{formula.strip()}\n$$\n" if formula else ""


def axioms_page() -> str:
    """Return every axiom with its formula, source, metrics and own bound."""
    known = formulas("axioms", AXIOMS)
    parts = ["# Axioms\n", NOTE.format(kind="axioms")]
    for name in AXIOMS:
        entry = AXIOMS.get(name)
        parts += [f"## `{name}` {{#{name}}}\n", paragraphs(inspect.getdoc(entry.function) or ""), _maths(known, name)]
        source = known.get(name, {}).get("source")
        parts += [f"Source: {escape(source)}\n"] if source else []
        parts += [f"Looks at {_scope(entry)}. Defined in {_source(entry)}.\n"]
        parts += [
            table(["metric", "what it is", "kind"], [_metric(key, metric) for key, metric in entry.metrics.items()])
        ]
        bounds = ", ".join(f"`{metric}: {bound}`".replace("'", "") for metric, bound in entry.expect.items())
        parts += [
            f"\nExpected unless a spec says otherwise: {bounds}.\n"
            if bounds
            else "\nNo bound of its own: a spec says what to `expect` or to `record`.\n"
        ]
        parts += [options_table(entry)]
    return "\n".join(parts)


def _scope(entry: Axiom) -> str:
    if entry.methodless:
        return "the models alone, without a method"
    return "both models of a pair" if entry.scope == "pair" else "each model by itself"


def _metric(name: str, metric: Metric) -> list[str]:
    kinds = {
        "per_example": "one for each example",
        "scalar": "one number",
        "vector": "a list, compared as a whole",
        "curve": "a curve for each example",
    }
    return [f"`{name}`", cell(metric.about), kinds[metric.kind]]


def methods_page() -> str:
    """Return every method with its source, cost, options and rules."""
    from axioms.run.records import method_records

    known = formulas("methods", METHODS)
    records = method_records(METHODS)
    parts = ["# Methods\n", NOTE.format(kind="methods")]
    parts += ["Methods of captum and zennit are named by a prefix: see [Other packages](../howto/other_packages.md).\n"]
    for name in METHODS:
        entry = METHODS.get(name)
        parts += [f"## `{name}` {{#{name}}}\n", paragraphs(inspect.getdoc(entry.function) or ""), _maths(known, name)]
        passes = "depends on the input" if entry.passes is None else f"{entry.passes:g} forward and backward"
        parts += [f"Passes: {passes}. Defined in {_source(entry)}.\n"]
        rules = records[name].rules
        if rules:
            parts += [table(["operation", "rule"], [[kind, _rule(rule)] for kind, rule in rules.items()])]
        parts += [options_table(entry)]
    return "\n".join(parts)


def _rule(rule: Any) -> str:
    if rule is None:
        return "some modules only"
    options = ", ".join(f"{key} = {value}" for key, value in rule.options.items())
    return f"[`{rule.name}`](rules.md#{rule.name})" + (f" ({options})" if options else "")


def rules_page() -> str:
    """Return every rule with the operations that it is for, and in which of the three languages it is written."""
    parts = ["# Rules\n", NOTE.format(kind="rules")]
    parts += [
        "A rule returns the value of its operation with another backward pass; `axioms rules` prints who uses which.\n"
    ]
    for name in RULES:
        entry = RULES.get(name)
        parts += [f"## `{name}` {{#{name}}}\n", paragraphs(inspect.getdoc(entry.function) or "")]
        both = [
            what
            for what, form in (
                ("an explicit form", entry.explicit),
                ("a closed form of what it absorbs", entry.absorbs),
            )
            if form
        ]
        parts += [
            f"\nFor {', '.join(entry.on)} operations. It has {' and '.join(both) or 'its fast form alone'}.\n",
            options_table(entry),
        ]
    return "\n".join(parts)


def rewrites_page() -> str:
    """Return every rewrite with the identity that makes it one."""
    parts = ["# Rewrites\n", NOTE.format(kind="rewrites")]
    parts += [
        "Each makes a pair out of any model in which its pattern occurs; that outputs are the same is checked first.\n"
    ]
    for name in REWRITES:
        entry = REWRITES.get(name)
        identity, _, rest = (inspect.getdoc(entry.function) or "").partition("\n\n")
        parts += [f"## `{name}` {{#{name}}}\n", fenced(identity, "text"), paragraphs(rest)]
        parts += [f"\nA rewrite of the {entry.of}. Defined in {_source(entry)}.\n", options_table(entry)]
    return "\n".join(parts)


def subjects_page() -> str:
    """Return every model, data source and fixture that a spec may name."""
    parts = ["# Subjects, data and fixtures\n", NOTE.format(kind="subjects")]
    for title, registry in (("Models", SUBJECTS), ("Data", DATA)):
        parts += [f"## {title}\n"]
        for name in registry:
            entry = registry.get(name)
            parts += [
                f"### `{name}` {{#{title.lower()}-{name}}}\n",
                paragraphs(inspect.getdoc(entry.function) or ""),
                options_table(entry),
            ]
    parts += [
        "## Fixtures\n",
        "Files beside the specs that name a model or data with its weights; they come with the package.\n",
    ]
    for file in sorted(suite_fixtures().glob("*.yaml")):
        if file.stem != "assets":
            parts += [f"### `{file.stem}` {{#fixture-{file.stem}}}\n", fenced(file.read_text(encoding="utf-8"), "yaml")]
    return "\n".join(parts)
