"""What a method must leave as it is: the model's weights, modules, modes, flags and hooks, and torch's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

Change = tuple[str, str]
"""What kind of thing has changed (`weights`, `hooks`), and which one."""
TABLES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@contextmanager
def putting_back(module: nn.Module, inputs: Mapping[str, Tensor] | None = None) -> Iterator[list[Change]]:
    """Put the model and its inputs back as they were; the list names what had changed, once the block is over."""
    before = [*_pieces(module), *(("inputs", name, _values_of(tensor)) for name, tensor in (inputs or {}).items())]
    changed: list[Change] = []
    try:
        yield changed
    finally:
        for kind, name, put_back in before:
            if put_back():
                changed.append((kind, name))


def in_words(changed: list[Change]) -> str:
    """Return `weights (classifier.bias and 3 more) and hooks (encoder)`."""
    kinds: dict[str, list[str]] = {}
    for kind, name in changed:
        kinds.setdefault(kind, []).append(name or "the model itself")
    parts = [
        f"{kind} ({names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''})" for kind, names in kinds.items()
    ]
    return " and ".join(parts)


def _pieces(module: nn.Module) -> Iterator[tuple[str, str, Callable[[], bool]]]:
    """Yield the kind and name of all that may change, and what puts it back and tells whether it had changed.

    The tables come first: a weight that another one replaced is compared when it is in its place again.
    """
    for name, part in module.named_modules():
        for table, kind in zip(TABLES, ("weights", "weights", "modules"), strict=True):
            yield kind, name, _entries_of(getattr(part, table))
        yield "training mode", name, _attribute_of(part, "training")
        yield "forward", name, _own_forward_of(part)
        for table in HOOKS:
            yield "hooks", name, _entries_of(getattr(part, table))
    for name, tensor in tensors_of(module):
        if not tensor.is_meta:
            yield "weights", name, _values_of(tensor)
        yield "requires_grad", name, _flag_of(tensor)
    yield from _settings()


def tensors_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter and buffer by name."""
    yield from module.named_parameters()
    yield from module.named_buffers()


def _entries_of(table: dict[Any, Any]) -> Callable[[], bool]:
    before = dict(table)

    def put_back() -> bool:
        if len(table) == len(before) and all(table.get(name) is value for name, value in before.items()):
            return False
        table.clear()
        table.update(before)
        return True

    return put_back


def _attribute_of(part: nn.Module, name: str) -> Callable[[], bool]:
    before = getattr(part, name)

    def put_back() -> bool:
        if getattr(part, name) == before:
            return False
        setattr(part, name, before)
        return True

    return put_back


def _own_forward_of(part: nn.Module) -> Callable[[], bool]:
    """Put back the function that a module runs in the place of its class's, or that it has none."""
    before = vars(part).get("forward")

    def put_back() -> bool:
        if vars(part).get("forward") is before:
            return False
        vars(part).pop("forward", None)
        if before is not None:
            vars(part)["forward"] = before
        return True

    return put_back


def _values_of(tensor: Tensor) -> Callable[[], bool]:
    import torch

    data, values = tensor.data, tensor.clone()

    def put_back() -> bool:
        kind = (tensor.dtype, tensor.shape, tensor.device) == (values.dtype, values.shape, values.device)
        same = kind and (torch.equal(tensor, values) or _equal_but_for_nan(tensor, values))
        if same:
            return False
        with torch.no_grad():
            tensor.data = data.copy_(values)
        return True

    return put_back


def _equal_but_for_nan(tensor: Tensor, values: Tensor) -> bool:
    return bool(((tensor == values) | ((tensor != tensor) & (values != values))).all())


def _flag_of(tensor: Tensor) -> Callable[[], bool]:
    before = tensor.requires_grad

    def put_back() -> bool:
        if tensor.requires_grad == before:
            return False
        tensor.requires_grad_(before)
        return True

    return put_back


def _settings() -> Iterator[tuple[str, str, Callable[[], bool]]]:
    """Yield torch's settings that change what other methods compute."""
    import torch

    known: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
        "threads": (torch.get_num_threads, torch.set_num_threads),
        "float32 precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        "gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
        "deterministic": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    }
    for name, (read, write) in known.items():
        before = read()

        def put_back(read: Callable[[], Any] = read, write: Callable[[Any], Any] = write, before: Any = before) -> bool:
            if read() == before:
                return False
            write(before)
            return True

        yield "settings of torch", name, put_back
