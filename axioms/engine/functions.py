"""Torch functions by what they are to the rules. To cover another function, name it here, or parse it in parse.py."""

from __future__ import annotations

PASSIVE = frozenset(
    """__get__ __set__ __getitem__ __setitem__ __neg__ __len__ __iter__ __hash__ __repr__ __format__ __contains__ neg
    negative view reshape view_as reshape_as transpose permute swapaxes swapdims movedim moveaxis t adjoint
    unsqueeze squeeze expand expand_as broadcast_to repeat repeat_interleave tile flatten unflatten ravel unbind
    split chunk tensor_split unsafe_chunk narrow select index_select take_along_dim gather contiguous clone roll
    flip to type type_as float double half bfloat16 pad dropout dropout1d dropout2d alpha_dropout detach size
    dim numel is_floating_point stride is_contiguous storage_offset data_ptr element_size ndimension
    requires_grad_ eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ isfinite isnan isinf any all
    argmax argmin argsort topk sort max amax max_pool1d max_pool2d max_pool3d adaptive_max_pool1d
    adaptive_max_pool2d index_add index_add_ index_put index_put_ scatter scatter_ scatter_add scatter_add_
    zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full new_tensor is_complex
    result_type copy_ register_hook retain_grad backward tril triu diagonal unfold as_strided item tolist
    is_nonzero __bool__ __index__ get_device is_same_size broadcast_tensors meshgrid masked_select sign""".split()
)
"""Calls that move, copy, choose or compare numbers: each value goes where it goes, and the plain gradient says so."""

ACTIVATIONS = """relu relu_ gelu silu silu_ tanh tanh_ leaky_relu leaky_relu_ elu elu_ selu celu mish hardswish hardtanh
    relu6 softsign tanhshrink softshrink hardshrink prelu erf threshold""".split()
"""Functions with g(0) = 0, for which the identity rule is exact where the input is zero."""
JOINS = "cat concat concatenate stack hstack vstack where masked_fill masked_fill_".split()
"""Calls that put variables beside constants."""
IN_PLACE = frozenset(
    """add_ sub_ mul_ div_ __iadd__ __isub__ __imul__ __itruediv__ relu_ silu_ tanh_ leaky_relu_ elu_ sigmoid_ exp_
    rsqrt_ sqrt_ baddbmm_""".split()
)
"""Operations that overwrite their first argument: done beside it, under their rule, and then written there."""
GATES = "sigmoid sigmoid_ hardsigmoid softplus exp exp_ logsigmoid".split()
"""Functions with g(0) != 0: no share of their value belongs to their input alone. A composite must say what to do."""
NORMALIZERS = "rsqrt rsqrt_ sqrt sqrt_ std var norm vector_norm linalg_vector_norm".split()
