"""Every method on every rewrite of one model, in float64."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from axioms.core.errors import (
    AxiomsError,
    BuildFailed,
    InputError,
    NotApplicable,
    NotDefined,
    RewriteError,
    UncoveredOperation,
    said,
)
from axioms.core.imports import import_modules
from axioms.core.registry import METHODS
from axioms.core.values import as_numpy, relative_gap
from axioms.engine.attribution import Attribution
from axioms.methods.running import run_method
from axioms.model.forms import unwrapped
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.report.rewrites import Cell
from axioms.rewrites.apply import checked_rewrite
from axioms.subjects.built import Placement, Side, move_inputs, outputs_of
from axioms.subjects.data import random_tokens

Given = Tensor | Mapping[str, Tensor]


@dataclass
class Audit:
    """The outcome of an audit."""

    cells: list[Cell] = field(default_factory=list)
    gaps: dict[str, float] = field(default_factory=dict)
    """Forward gap of each rewrite that applies."""
    not_applicable: dict[str, str] = field(default_factory=dict)
    """Why each of the others does not."""
    failed: dict[str, str] = field(default_factory=dict)
    """What is wrong with rewrites that changed the function."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Why methods cannot attribute the model as it is; the others are audited all the same."""

    @property
    def broken(self) -> list[Cell]:
        """Cells that should hold and do not."""
        return [cell for cell in self.cells if not cell.passed]


def load_model(path: str) -> tuple[nn.Module, Given]:
    """Return the model and inputs that `package.module:function` builds; the working directory is searched too."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise InputError(f"{path!r} is not module:function; write, for example, mypackage.model:build.")
    import_modules([module_name])
    build = getattr(sys.modules[module_name], name, None)
    if not callable(build):
        raise InputError(f"{module_name!r} has no function {name!r}.")
    try:
        built = build()
    except Exception as error:
        raise BuildFailed(f"{path} raised {said(error)}; nothing was audited.") from error
    model, given = built if isinstance(built, tuple) and len(built) == 2 else (built, None)
    if not isinstance(model, nn.Module):
        raise InputError(f"{path} must return a torch module, or (module, inputs); it returned {type(built).__name__}.")
    model = unwrapped(model)
    return model, example_inputs(model, path) if given is None else given


def example_inputs(model: nn.Module, path: str) -> Given:
    """Return random tokens for a language model."""
    vocabulary = getattr(getattr(model, "config", None), "vocab_size", None)
    if vocabulary is None:
        raise InputError(
            f"{path} returned a model alone, and what inputs it takes is not known: return (model, inputs), "
            "where inputs is a tensor of batch x features or a mapping for the forward pass."
        )
    return random_tokens(n=3, length=8, vocabulary=vocabulary).inputs


def audit(
    model: nn.Module,
    given: Given,
    methods: Sequence[str],
    rewrites: Sequence[str],
    *,
    target: str | int = "predicted",
    bound: float = 1e-9,
    allow: frozenset[tuple[str, str]] = frozenset(),
    name: str = "model",
    progress: Callable[[str], None] = lambda what: None,
) -> Audit:
    """Attribute before and after every rewrite.

    `allow` holds (method, rewrite) pairs whose violation is known; `*` stands for all of them.
    """
    place = Placement(torch.device("cpu"), torch.float64)
    plain = copy.deepcopy(model).double().eval()
    inputs = read_inputs(plain, move_inputs(given, place))
    left = Side("left", Model(plain), inputs, len(inputs))
    check_finite(plain, left.outputs)
    chosen = choose(target, left.outputs)
    outcome, before = Audit(), dict[str, Attribution]()
    for method in methods:
        try:
            before[method] = _attribution(method, left, chosen)
        except AxiomsError as error:
            outcome.refusals[method] = str(error)
    for rewrite in rewrites if before else ():
        progress(rewrite)
        try:
            rewritten, outcome.gaps[rewrite] = checked_rewrite(rewrite, {}, plain, inputs, len(inputs))
        except NotApplicable as error:
            outcome.not_applicable[rewrite] = str(error)
            continue
        except RewriteError as error:
            outcome.failed[rewrite] = str(error)
            continue
        right = Side("right", Model(rewritten.module), rewritten.moved.inputs, len(inputs), rewritten.moved)
        for method in before:
            allowed = any(pair in allow for pair in ((method, rewrite), (method, "*"), ("*", rewrite)))
            try:
                after = right.restore(_attribution(method, right, right.reorder(chosen)))
            except (UncoveredOperation, NotDefined) as error:
                outcome.cells.append(Cell(name, method, rewrite, "refused", None, because=str(error)))
                continue
            gap = float(relative_gap(as_numpy(before[method].scores), as_numpy(after.scores)).max())
            holds = gap <= bound
            outcome.cells.append(Cell(name, method, rewrite, _verdict(gap, holds), gap, holds or allowed, allowed))
    return outcome


def check_finite(model: nn.Module, outputs: Tensor) -> None:
    """Raise where weights are no numbers, or the outputs are not: no attribution of these says anything."""
    bad = [name for name, weights in model.named_parameters() if not bool(torch.isfinite(weights).all())]
    bad += [name for name, buffer in model.named_buffers() if bool(torch.isnan(buffer).any())]  # a mask may be -inf
    if bad:
        names = ", ".join(bad[:3]) + (", ..." if len(bad) > 3 else "")
        raise InputError(f"the model has weights that are NaN or infinite, in {names}; nothing can be said of it.")
    if not bool(torch.isfinite(outputs).all()):
        raise InputError("the model's outputs on these inputs are NaN or infinite, in float64; give it other inputs.")


def _verdict(gap: float, holds: bool) -> str:
    return "holds" if holds else "violated" if gap == gap else "inconclusive"


def _attribution(method: str, side: Side, target: Target) -> Attribution:
    output = target(outputs_of(side.model, side.inputs, side.batch_size))
    entry = METHODS.get(method)
    return run_method(entry, side.model, side.inputs, target, output, batch_size=side.batch_size, options={})
