"""Every torch function that the engine knows, once: what kind of call it is, and what reads its arguments.

How facts cross a call follows from its kind (facts.py), and so does what happens to relevance: an operation has a rule,
everything else is crossed by the plain gradient. To cover another function, add it here; from code of your own, call
`axioms.register_operation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import InputError, did_you_mean
from axioms.engine import compounds, kinds, norms, parse


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one torch function."""

    kind: str
    """What it is where it is no operation, or where its operation needs no other name."""
    read: parse.Reader | None = None
    """Finds the operation behind a call; None for functions that are none."""
    written: Callable[..., Any] | None = None
    """The same in simpler calls, where there is no reader or it finds the call unreadable."""
    is_ours: bool = True
    """Whether it stands in this file, and no user has said it."""


CALLS: dict[str, Row] = {}
READERS: dict[str, parse.Reader] = {
    kinds.ACTIVATION: parse.read_activation,
    kinds.GATE: parse.read_gate,
    kinds.NORMALIZER: parse.read_normalizer,
    kinds.SOFTMAX: parse.read_softmax,
    kinds.SUM: parse.read_reduction,
}
"""By kind, for functions that take one tensor and options."""


def _add(kind: str, names: str, read: parse.Reader | None = None, written: Callable[..., Any] | None = None) -> None:
    CALLS.update(dict.fromkeys(names.split(), Row(kind, read or READERS.get(kind), written)))


_add(
    kinds.QUERY,
    """__set__ __len__ __hash__ __repr__ __format__ __contains__ __bool__ __index__ __int__ __float__ size dim numel
    nelement ndimension is_floating_point is_complex is_contiguous is_same_size is_nonzero stride storage_offset
    data_ptr element_size get_device result_type register_hook retain_grad backward item tolist eq ne lt le gt ge __eq__
    __ne__ __lt__ __le__ __gt__ __ge__ isfinite isnan isinf any all argmax argmin argsort sign zeros_like ones_like
    empty_like full_like rand_like randn_like new_zeros new_ones new_empty new_full new_tensor
    _nested_tensor_from_mask_left_aligned""",
)
_add(
    kinds.SAME,
    """contiguous clone to type type_as float double half bfloat16 cpu cuda detach requires_grad_ dropout dropout1d
    dropout2d dropout3d alpha_dropout feature_alpha_dropout __pos__ positive""",
)
_add(
    kinds.MOVE,
    """__get__ __getitem__ view reshape view_as reshape_as transpose permute swapaxes swapdims movedim moveaxis t
    adjoint unsqueeze squeeze expand expand_as broadcast_to broadcast_tensors meshgrid repeat repeat_interleave tile
    flatten unflatten ravel unbind split split_with_sizes chunk tensor_split unsafe_chunk unsafe_split narrow select
    index_select take_along_dim gather masked_select roll flip diagonal unfold as_strided pad""",
)
_add(kinds.JOIN, "cat concat concatenate stack hstack vstack where scatter")
_add(kinds.FILL, "masked_fill tril triu")
_add(
    kinds.SELECT,
    "topk sort max amax max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d",
)
_add(kinds.WRITE, "__setitem__ copy_ scatter_ masked_fill_ fill_ zero_ triu_ tril_")
_add(kinds.ACCUMULATE, "index_add scatter_add index_put")
_add(kinds.LOG_SOFTMAX, "log_softmax logsumexp")

_add(kinds.SCALE, "neg negative __neg__")
_add(kinds.SCALE, "mul __mul__ __rmul__ multiply", parse.read_mul)
_add(kinds.SCALE, "div __truediv__ true_divide divide __rtruediv__ __rdiv__", parse.read_division)
_add(kinds.SAME, "pow __pow__ square", parse.read_power)
_add(kinds.SUM, "add __add__ __radd__", parse.read_add)
_add(kinds.SUM, "sub subtract __sub__", parse.read_sub)
_add(kinds.SUM, "__rsub__ rsub", parse.read_reflected_sub)
_add(kinds.SUM, "sum mean cumsum avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d")
_add(kinds.LINEAR, "conv1d conv2d conv3d", parse.read_layer)
_add(kinds.LINEAR, "linear", parse.read_layer, compounds.linear)
_add(kinds.LINEAR, "addmm", parse.read_addmm, compounds.addmm)
_add(kinds.LINEAR, "matmul __matmul__ mm bmm", parse.read_matmul)
_add(kinds.LINEAR, "__rmatmul__", parse.read_reflected_matmul)
_add(kinds.ACCUMULATE, "einsum", parse.read_einsum)
_add(kinds.SOFTMAX, "softmax _safe_softmax")
_add(kinds.NORM, "layer_norm", norms.read_layer_norm)
_add(kinds.NORM, "rms_norm", norms.read_rms_norm)
_add(kinds.NORM, "group_norm", norms.read_group_norm)
_add(kinds.LINEAR, "batch_norm", norms.read_batch_norm)
_add(kinds.NORMALIZER, "rsqrt sqrt std var norm vector_norm linalg_vector_norm")
_add(
    kinds.ACTIVATION,
    """relu gelu silu tanh leaky_relu elu selu celu mish hardswish hardtanh relu6 softsign tanhshrink softshrink
    hardshrink prelu erf threshold""",
)
_add(kinds.ACTIVATION, "clamp clip", parse.read_clamp)
_add(kinds.GATE, "sigmoid hardsigmoid softplus exp logsigmoid")

_add(kinds.OTHER, "scaled_dot_product_attention", written=compounds.attention)
_add(kinds.OTHER, "multi_head_attention_forward", written=compounds.multi_head_attention)
_add(kinds.OTHER, "baddbmm", written=compounds.baddbmm)
_add(kinds.OTHER, "addcmul", written=compounds.addcmul)
_add(kinds.OTHER, "outer", written=compounds.outer)
_add(kinds.OTHER, "var_mean", written=compounds.var_mean)
_add(kinds.OTHER, "std_mean", written=compounds.std_mean)
_add(kinds.OTHER, "glu", written=compounds.glu)
_add(kinds.OTHER, "__iter__", written=compounds.iterate)

REGISTRABLE = "activation gate normalizer sum same move join query".split()


def register(function: Callable[..., Any] | str, kind: str | None, written_as: Callable[..., Any] | None) -> None:
    """Add a torch function, or say anew what it is; see `axioms.register_operation`."""
    name = function if isinstance(function, str) else function.__name__
    if (kind is None) == (written_as is None):
        raise InputError(f"register_operation({name!r}) needs either `kind` or `written_as`.")
    if kind is not None and kind not in REGISTRABLE:
        raise InputError(f"{kind!r} is not a kind of operation.{did_you_mean(kind, REGISTRABLE)}")
    kind = kind or kinds.OTHER
    CALLS[name] = Row(kind, READERS.get(kind), written_as, is_ours=False)


def are_ours() -> bool:
    """Tell whether every function is read as this file says: no user has registered one."""
    return all(row.is_ours for row in CALLS.values())


def is_in_place(name: str) -> bool:
    """Tell whether a function that is not in the table writes what its twin computes to its first argument."""
    return name not in CALLS and plain_name(name) in CALLS


def plain_name(name: str) -> str:
    """Return the name of an in-place function's twin: `add` for `add_`, `__add__` for `__iadd__`."""
    if name.startswith("__i"):
        return name.replace("__i", "__", 1)
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def twin(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that computes what an in-place function writes."""
    plain = plain_name(name)
    return func if plain == name else getattr(Tensor, plain, None) or getattr(torch.nn.functional, plain)
