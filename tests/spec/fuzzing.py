"""Specs drawn at random: made from the JSON schema itself, or shipped ones with something wrong in them."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.spec.runnable_specs import runnable
from tests.spec.schema_strategies import ALIKE, JUNK, ROOT, SCHEMA, STRINGS, of

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
SHIPPED = [yaml.load(file.read_bytes(), LOADER) for file in sorted((ROOT / "specs").glob("*.yaml"))]


@cache
def documents() -> st.SearchStrategy[Any]:
    """Documents that the schema allows: always with what no spec can be without, and any of its other properties."""
    return of({**SCHEMA, "required": ("claim", "subject", "methods", "checks")})


@cache
def near_misses() -> st.SearchStrategy[Any]:
    """Documents of the schema or of the shipped specs, each with a part exchanged, taken out, renamed or repeated."""
    plain = st.one_of(st.sampled_from(SHIPPED), runnable())
    return st.tuples(plain, st.data()).map(lambda drawn: _changed(*drawn))


def texts() -> st.SearchStrategy[str]:
    """YAML: of a document, or with characters put in, taken out or repeated, as an editor leaves it half-way."""
    plain = st.one_of(documents(), runnable(), near_misses()).map(dump)
    return st.one_of(plain, plain, plain, st.tuples(plain, st.data()).map(lambda drawn: _damaged(*drawn)))


def settled(examples: int, *, is_fixed: bool) -> settings:
    """Return hypothesis' settings: fixed draws in the default run, others in each long one."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=is_fixed,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


def dump(document: Any) -> str:
    return yaml.dump(document, Dumper=DUMPER, allow_unicode=True, sort_keys=False)


def _changed(document: Any, data: st.DataObject) -> Any:
    """Return the document with at most two of its parts changed."""
    changed = copy.deepcopy(document)
    for _ in range(data.draw(st.sampled_from([0, 1, 1, 1, 2]))):
        holder, key = data.draw(st.sampled_from(_places(changed) or [(None, None)]))
        if holder is None:
            return data.draw(JUNK)
        change = data.draw(st.sampled_from(["exchange", "exchange", "take out", "rename", "repeat"]))
        if change == "exchange" or (change in ("rename", "repeat") and isinstance(holder, list)):
            alike = next((values for kind, values in ALIKE.items() if type(holder[key]) is kind), JUNK)
            holder[key] = data.draw(st.one_of(alike, JUNK))
        elif change == "take out":
            del holder[key]
        elif change == "rename":
            holder[data.draw(STRINGS)] = holder.pop(key)
        else:
            holder[data.draw(st.sampled_from([*SCHEMA["properties"]]))] = holder[key]
    return changed


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every part of a document as the list or mapping that holds it, and its place there."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in parts for place in ((value, key), *_places(part))]


def _damaged(text: str, data: st.DataObject) -> str:
    start = data.draw(st.integers(0, len(text)))
    stop = min(len(text), start + data.draw(st.integers(0, 40)))
    piece = data.draw(
        st.one_of(st.text(max_size=4), st.sampled_from(["\t", "&a ", "*a", "- ", "{", "]", "!!python/x "]))
    )
    return text[:start] + data.draw(st.sampled_from([piece, piece + text[start:stop] * 2])) + text[stop:]
