"""What a method must leave as it is: a model's weights, attributes, config, modes, hooks and code, and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.attributes import PutBack

Change = tuple[str, str]
"""What kind of thing has changed (`weights`, `hooks`), and which one."""


@contextmanager
def putting_back(
    module: nn.Module, inputs: Mapping[str, Any] | None = None, call: Callable[[], object] | None = None
) -> Iterator[list[Change]]:
    """Put the model and its inputs back as they were; the list names what had changed, once the block is over.

    Whatever changed is put back, and not named where a mere `call` of the model changes it too: some count their
    passes, or keep what they computed.
    """
    before = [*_pieces(module), *_inputs(inputs or {})]
    changed: list[Change] = []
    try:
        yield changed
    finally:
        changed += _put_back(before)
        if changed and call is not None:
            by_itself = _changes_of(call, before)
            changed[:] = [change for change in changed if change not in by_itself]


def _put_back(before: list[tuple[str, PutBack]]) -> list[Change]:
    return [(kind, name) for kind, put_back in before for name in put_back()]


def _changes_of(call: Callable[[], object], before: list[tuple[str, PutBack]]) -> list[Change]:
    """Return what a call changes, which is put back."""
    with suppress(Exception):  # the next one to call the model is told
        call()
    return _put_back(before)


def in_words(changed: list[Change]) -> str:
    """Return `weights (classifier.bias and 3 more) and hooks (encoder)`."""
    kinds: dict[str, list[str]] = {}
    for kind, name in changed:
        kinds.setdefault(kind, []).append(name or "the model itself")
    parts = [
        f"{kind} ({names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''})" for kind, names in kinds.items()
    ]
    return " and ".join(parts)


def _pieces(module: nn.Module) -> Iterator[tuple[str, PutBack]]:
    """Yield the kind of all that may change, and what puts it back and returns the names of what had changed.

    Torch's settings come first, since they change its code, and the tables before the tensors: a weight that another
    one replaced is compared when it is in its place again.
    """
    from axioms.model.attributes import attributes_of, configs_of
    from axioms.model.code import code_of
    from axioms.model.tables import hooks_of, hooks_of_all, own_forward_of, tables_of

    for put_back in _settings():
        yield "settings of torch", put_back
    for name, part in module.named_modules():
        yield from tables_of(name, part)
        yield "training mode", _training_of(name, part)
        yield "forward", own_forward_of(name, part)
        for put_back in hooks_of(name, part):
            yield "hooks", put_back
        yield "attributes", attributes_of(name, part)
    for put_back in hooks_of_all():
        yield "hooks", put_back
    for put_back in configs_of(module):
        yield "config", put_back
    for put_back in code_of(module):
        yield "code", put_back
    for name, tensor in tensors_of(module):
        if not tensor.is_meta:
            yield "weights", _values_of(name, tensor)
        yield "requires_grad", _flag_of(name, tensor)


def _inputs(inputs: Mapping[str, Any]) -> Iterator[tuple[str, PutBack]]:
    """Yield what puts back the tensors among the inputs, and the mappings."""
    import torch

    from axioms.model.tables import entries_of

    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            yield "inputs", _values_of(name, value)
        elif isinstance(value, dict):
            yield "inputs", entries_of(name, value)


def tensors_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter and buffer by name."""
    yield from module.named_parameters()
    yield from module.named_buffers()


def _training_of(name: str, part: nn.Module) -> PutBack:
    before = part.training

    def put_back() -> list[str]:
        if part.training == before:
            return []
        part.training = before
        return [name]

    return put_back


def _values_of(name: str, tensor: Tensor) -> PutBack:
    import torch

    from axioms.model.attributes import same_values

    data, values = tensor.data, tensor.clone()

    def put_back() -> list[str]:
        if same_values(tensor, values):
            return []
        with torch.no_grad():
            tensor.data = data.copy_(values)
        return [name]

    return put_back


def _flag_of(name: str, tensor: Tensor) -> PutBack:
    before = tensor.requires_grad

    def put_back() -> list[str]:
        if tensor.requires_grad == before:
            return []
        tensor.requires_grad_(before)
        return [name]

    return put_back


def _settings() -> Iterator[PutBack]:
    """Yield what puts back torch's settings that change what other methods compute."""
    import torch

    known: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
        "threads": (torch.get_num_threads, torch.set_num_threads),
        "float32 precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        "gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
        "deterministic": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    }
    for name, (read, write) in known.items():
        yield _setting_of(name, read, write)


def _setting_of(name: str, read: Callable[[], Any], write: Callable[[Any], Any]) -> PutBack:
    before = read()

    def put_back() -> list[str]:
        if read() == before:
            return []
        write(before)
        return [name]

    return put_back
