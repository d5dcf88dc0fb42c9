"""What is this package's own: its numbers depend on nothing but what their digest covers.

The code of a user's method, rule, operation, axiom, rewrite or model may read files and variables, and import modules
when it is called, which no digest can know before. What an earlier run measured by it is used only where the user says
so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from axioms.core.registry import AXIOMS, METHODS, REWRITES, RULES, SUBJECTS, Registry
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.models.hub import named_directly

if TYPE_CHECKING:
    from axioms.run.address import Address
    from axioms.run.requests import Request
    from axioms.run.source import Source

PACKAGES = ("axioms", "torch", "transformers", "torchvision")
"""Whose modules a model may be made of; their versions and the files that define its classes are in its digest."""


def is_ours(request: Request) -> bool:
    """Tell whether a request is answered by this package's code alone, whatever the model.

    An operation that a user has registered may be in any model, so with one no request is.
    """
    from axioms.engine.calls import are_ours  # here, because it imports torch

    if not are_ours():
        return False
    method = request.method
    if request.axiom and not AXIOMS.get(request.axiom).is_ours:
        return False
    if method is not None and not METHODS.get(method.name).is_ours:
        return False
    return not _names_others(request.options) and not _names_others({} if method is None else method.options)


def is_our_subject(address: Address, source: Source) -> bool:
    """Tell whether a subject is built, rewritten and run by this package's code and that of the packages it names."""
    subject = address.subject
    rewrite = None if subject.pair is None else subject.pair.rewrite
    if rewrite is not None and (not REWRITES.get(rewrite.name).is_ours or _names_others(rewrite.options)):
        return False
    plain = address.plain.subject
    models = [plain.model] if plain.pair is None else [plain.pair.left, plain.pair.right]
    if not all(_builder_is_ours(model.name, model.options, address) for model in models if model is not None):
        return False
    parts = (part for model in source.models.values() for part in model.module.modules())
    return all(type(part).__module__.partition(".")[0] in PACKAGES for part in parts)


def _builder_is_ours(name: str, options: Mapping[str, Any], address: Address) -> bool:
    """Tell whether a model is built by a function of this package, a fixture's by the one that it names."""
    descriptor = find_descriptor(name, address.file)
    if descriptor is not None:
        return descriptor.builder.is_ours
    if name not in SUBJECTS:
        name = (named_directly(name, options) or (name,))[0]
    return SUBJECTS.get(name).is_ours


def _names_others(options: Any) -> bool:
    """Tell whether options name, wherever in them, a rule, a rewrite or a method that is not this package's own."""
    registries: tuple[Registry[Any], ...] = (RULES, REWRITES, METHODS)
    return any(
        name in registry and not registry.get(name).is_ours for name in _strings(options) for registry in registries
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
