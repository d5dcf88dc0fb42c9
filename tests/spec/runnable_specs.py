"""Specs about subjects that take no time, each drawn with any of the sections of the language."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from axioms.core.registry import AXIOMS, METHODS, REWRITES
from axioms.spec.merge import label_of
from axioms.spec.metrics import LISTS
from tests.spec.schema_strategies import SCHEMA, of, with_options

TINY: tuple[dict[str, Any], ...] = (
    {"model": {"linear": {"weight": [[3, -1], [1, 2]]}}, "data": {"points": [[2, 5], [1, 1]]}},
    {"model": {"expression": {"inputs": ["a", "b"], "values": "a * b + relu(a)"}}, "data": {"points": [[2, 3]]}},
    {"pair": {"left": "product-left", "right": "product-right"}, "data": {"points": [[2, 3, 4]]}},
    {"model": {"tiny": {"architecture": "bert"}}, "data": {"random-tokens": {"n": 2, "length": 5}}},
    {"model": {"tiny": {"architecture": "llama"}}, "data": {"random-tokens": {"n": 2, "length": 5}}},
    {"pair": {"model": {"tiny": {"architecture": "gpt2"}}}, "data": {"random-tokens": {"n": 1, "length": 4}}},
    {"model": {"linear": {"weight": [[3, -1]]}}, "data": {"points": [[2, 5, 7]]}},
    {"model": {"tiny": {"architecture": "bert"}}, "data": {"points": [[2, 3]]}},
)
"""Subjects that take no time, two of them with data that does not fit the model."""
BASES = {
    "_points.yaml": """claim: A sum is a sum.
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [loo, attnlrp]
checks: [{axiom: conservation, violated_by: {loo: {}}}, {axiom: relevance, record: [scores]}]
tolerance: {"conservation.ratio": {abs: 1}}
""",
    "_tokens.yaml": """claim: A transformer is one.
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 3, length: 5}}}
methods: [loo, cp_lrp]
checks: [{axiom: loo_correlation, record: [pearson.mean]}]
table: {name: table-1}
""",
}
"""Specs that those drawn here extend, by name."""
SECTIONS = 3
"""How many of the optional sections a document has at most: each is one more that can be wrong."""
SHARES = st.floats(0.6, 0.99)
RUNS = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["float64", "float64", "float32", "float16", "bfloat16"]),
        "seed": st.sampled_from([0, 1, 2**31, 2**63 - 1]),
        "batch_size": st.sampled_from([1, 2, 64, 2**31 - 1]),
        "confidence": SHARES,
    },
)


def write_bases(folder: Path) -> None:
    """Put the specs that the drawn ones extend beside them."""
    for name, text in BASES.items():
        (folder / name).write_text(text, encoding="utf-8")


@cache
def runnable() -> st.SearchStrategy[Any]:
    """Documents about a tiny subject: methods, axioms and metrics by their names, everything else by the schema."""
    return _runnable()


@st.composite
def _runnable(draw: st.DrawFn) -> dict[str, Any]:
    parts = SCHEMA["properties"]
    methods = draw(st.lists(_methods(), min_size=1, max_size=2, unique_by=label_of))
    labels = st.sampled_from([label_of(method) or "" for method in methods])
    subject = draw(_subjects(draw(st.sampled_from(["model", "model", "pair"]))))
    axioms = draw(st.lists(st.sampled_from(_axioms(subject)), min_size=1, max_size=2))
    document = {
        "claim": "Drawn.",
        "subject": subject,
        "methods": methods,
        "checks": [draw(_check(axiom, labels)) for axiom in axioms],
    }
    optional = {
        "run": usually(RUNS, parts["run"]),
        "sweep": of(parts["sweep"]),
        "table": of(SCHEMA["$defs"]["TableRef"]),
        "tolerance": st.dictionaries(_patterns(axioms), _tolerances(), max_size=2),
        "compare": st.lists(_comparison(axioms, labels), min_size=1, max_size=2),
        "subjects": st.lists(_entry("pair" if "pair" in subject else "model"), min_size=1, max_size=2),
    }
    for name in draw(st.lists(st.sampled_from(list(optional)), max_size=SECTIONS, unique=True)):
        document[name] = draw(optional[name])
    if "model" in subject and draw(st.sampled_from([True, False, False, False])):
        return dict(draw(_extending(document)))
    return document


def _axioms(subject: dict[str, Any]) -> list[str]:
    """Return the axioms that fit a subject: of two models where it is a pair, and no others where a rewrite made it."""
    if "pair" not in subject:
        return [name for name in AXIOMS if AXIOMS.get(name).scope != "pair"]
    of_two = [name for name in AXIOMS if AXIOMS.get(name).scope == "pair" and not AXIOMS.get(name).methodless]
    return of_two if "model" in subject["pair"] else [*AXIOMS, *of_two * 5]


def usually(values: st.SearchStrategy[Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return these values, and one time in twelve what the schema allows, which is often refused for another reason."""
    return st.sampled_from([values] * 11 + [of(schema)]).flatmap(lambda drawn: drawn)


@cache
def _methods() -> st.SearchStrategy[Any]:
    names = st.sampled_from(list(METHODS))
    return usually(st.one_of(names, names.flatmap(with_options)), SCHEMA["properties"]["methods"]["items"])


@cache
def _subjects(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return subjects of one kind, `model` or `pair`."""
    subject = SCHEMA["$defs"]["Subject"]["properties"]
    targets = usually(st.sampled_from(["predicted", 0, {"probability": "predicted"}]), subject["target"])
    removals = usually(st.sampled_from(["zero", "attention_mask", "delete", "resample"]), subject["remove"])
    rest = st.fixed_dictionaries({}, optional={"target": targets, "remove": removals})
    names = st.sampled_from(list(REWRITES))
    rewrites = usually(names, SCHEMA["$defs"]["Pair"]["properties"]["rewrite"])
    tiny = st.sampled_from([one for one in TINY if kind in one])
    return st.tuples(tiny, rest, rewrites).map(lambda drawn: _subject(*drawn))


def _subject(tiny: dict[str, Any], rest: dict[str, Any], rewrite: Any) -> dict[str, Any]:
    """Return a subject; a pair that has one model gets the rewrite that makes the other."""
    subject = copy.deepcopy(tiny) | rest
    if "model" in subject.get("pair", {}):
        subject["pair"]["rewrite"] = rewrite
    return subject


@cache
def _entry(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return an entry of `subjects`: another subject of that kind, or one more thing that is said of the same one."""
    named = st.fixed_dictionaries({"as": st.text("abcdefgh", min_size=3, max_size=5)})
    changes = st.sampled_from([{}, {"target": 0}, {"run": {"seed": 1}}])
    both = st.tuples(named, st.one_of(_subjects(kind), changes))
    return both.map(lambda drawn: drawn[0] | copy.deepcopy(drawn[1]))


def _bounds(axiom: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return bounds on one metric of an axiom."""
    return _metrics(axiom).flatmap(lambda name: _bound(axiom, name).map(lambda bound: {name: bound}))


@cache
def _bound(axiom: str, name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return bounds on a metric: `equals` for a list, one side for a number."""
    metric = AXIOMS.get(axiom).metrics.get(name)
    if metric is not None and metric.kind in LISTS:
        return usually(st.just({"equals": [1, 2], "abs": 1}), SCHEMA["$defs"]["Bound"])
    one_sided = st.dictionaries(st.sampled_from(["lt", "le", "gt", "ge"]), st.floats(-2, 2), min_size=1, max_size=1)
    return usually(one_sided, SCHEMA["$defs"]["Bound"])


@cache
def _tolerances() -> st.SearchStrategy[dict[str, Any]]:
    either = st.dictionaries(st.sampled_from(["abs", "rel"]), st.floats(0, 1e9), min_size=1)
    return usually(either, SCHEMA["$defs"]["Tolerance"])


@cache
def _metrics(axiom: str) -> st.SearchStrategy[str]:
    """Return names of an axiom's metrics as bounds need them, aggregated where there are several; some with a side."""
    metrics = AXIOMS.get(axiom).metrics
    ends = {name: (".mean", ".max", ".min") if one.kind == "per_example" else ("",) for name, one in metrics.items()}
    names = st.sampled_from([f"{name}{end}" for name in metrics for end in ends[name]])
    return st.sampled_from([names] * 19 + [names.map("left.{}".format)]).flatmap(lambda drawn: drawn)


@st.composite
def _check(draw: st.DrawFn, axiom: str, labels: st.SearchStrategy[str]) -> dict[str, Any]:
    measured = {"expect": _bounds(axiom), "record": st.lists(_metrics(axiom), min_size=1, max_size=2)}
    needed = draw(st.sampled_from(list(measured)))
    named = st.one_of(st.just(axiom), st.just(axiom), with_options(axiom))
    optional = {**measured, "methods": st.lists(labels, min_size=1, max_size=2)}
    check = draw(st.fixed_dictionaries({"axiom": named, needed: optional.pop(needed)}, optional=optional))
    claim = draw(st.sampled_from(["none", "none", "violated_by", "refused_by"]))
    if claim == "violated_by":
        check.setdefault("expect", draw(_bounds(axiom)))
        check["violated_by"] = draw(st.dictionaries(labels, _bounds(axiom), min_size=1, max_size=1))
    elif claim == "refused_by":
        check["refused_by"] = [draw(labels)]
    return check


def _patterns(axioms: list[str]) -> st.SearchStrategy[str]:
    """Return patterns of metrics, as `tolerance` has them."""
    metrics = st.sampled_from(axioms).flatmap(lambda axiom: _metrics(axiom).map(f"{axiom}.{{}}".format))
    return st.one_of(metrics, st.sampled_from(["*", "loo/*", *(f"{axiom}.*" for axiom in axioms)]))


@st.composite
def _comparison(draw: st.DrawFn, axioms: list[str], labels: st.SearchStrategy[str]) -> dict[str, Any]:
    axiom = draw(st.sampled_from([*axioms, "loo_correlation"]))
    metrics = AXIOMS.get(axiom).metrics
    metric = draw(st.sampled_from([name for name in metrics if metrics[name].kind == "per_example"] or list(metrics)))
    schema = SCHEMA["$defs"]["CompareSpec"]["properties"]
    rest = {"confidence": SHARES, "record": st.booleans(), "by": _bound(axiom, metric), "remove": of(schema["remove"])}
    compared = {"metric": f"{axiom}.{metric}", "better": draw(labels), "than": draw(labels)}
    return compared | draw(st.fixed_dictionaries({}, optional=rest))


@st.composite
def _extending(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """Return a document that extends another spec: some sections are that one's, some are added to it."""
    added = draw(st.lists(st.sampled_from(["methods", "checks", "compare"]), unique=True, max_size=3))
    left_out = [*added, *draw(st.lists(st.just("subject"), max_size=1))]
    sections = {name: value for name, value in document.items() if name not in left_out}
    if any(name in document for name in added):
        sections["add"] = {name: document[name] for name in added if name in document}
    return {"extends": draw(st.sampled_from(list(BASES))), **sections}
