"""Other people's methods under the same specs, by the prefix of their name.

    captum:IntegratedGradients      an attribution class of captum.attr
    captum:package.module.Class     a class of one's own with captum's interface
    zennit:EpsilonPlus              a composite of zennit.composites
    lxt:attnlrp                     LXT's, in the environment of AXIOMS_LXT_PYTHON (methods/lxt); skipped without it
    python:package.module.function  any function (model, inputs, target, *, options), without registering it

Names and options are checked against the tables here, so a spec is valid where the package is not installed; its
checks are then skipped. The packages are imported when a method runs.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Method
from axioms.core.errors import InputError, MissingPackage, UnknownName, did_you_mean
from axioms.core.imports import import_modules
from axioms.core.registry import METHODS
from axioms.core.seeds import combine_seeds
from axioms.engine.attribution import Decomposition
from axioms.methods.captum_like import class_method
from axioms.methods.lxt import VARIANTS, lxt
from axioms.methods.zennit_like import composite_class

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target

Options = Mapping[str, Any]
"""Names and defaults; an option's type is its default's."""

CAPTUM: dict[str, Options] = {
    "Deconvolution": {},
    "DeepLift": {"baselines": 0.0},
    "FeatureAblation": {"baselines": 0.0},
    "GuidedBackprop": {},
    "InputXGradient": {},
    "IntegratedGradients": {"baselines": 0.0, "n_steps": 50, "method": "gausslegendre"},
    "LRP": {},
    "Occlusion": {"baselines": 0.0, "window": 1, "stride": 1},
    "Saliency": {"abs": True},
    "ShapleyValueSampling": {"baselines": 0.0, "n_samples": 25, "seed": 0},
}
"""Options of `attribute`, under captum's names; but for Occlusion `window` and `stride` count features."""
COMPLETE = ("DeepLift", "IntegratedGradients", "ShapleyValueSampling")
"""Those whose scores sum to f(x) - f(baseline)."""
HOOKED = ("Deconvolution", "DeepLift", "GuidedBackprop", "LRP")
"""Those that change what modules do, by hooks."""
WHOLE = ("FeatureAblation", "Occlusion", "ShapleyValueSampling")
"""Those that remove features, a token as a whole; its score is then repeated over its width."""

LRP_OPTIONS: Options = {"epsilon": 1e-6, "stabilizer": 1e-6}
ZENNIT: dict[str, Options] = {
    "BetaSmooth": {"beta_smooth": 10.0},
    "DeconvNet": {},
    "EpsilonAlpha2Beta1": LRP_OPTIONS,
    "EpsilonAlpha2Beta1Flat": LRP_OPTIONS,
    "EpsilonGammaBox": {"low": 0.0, "high": 1.0, "gamma": 0.25, **LRP_OPTIONS},
    "EpsilonPlus": LRP_OPTIONS,
    "EpsilonPlusFlat": LRP_OPTIONS,
    "ExcitationBackprop": {"stabilizer": 1e-6},
    "GuidedBackprop": {},
}
GRADIENTS = ("BetaSmooth", "DeconvNet", "GuidedBackprop")
"""Composites that change a gradient: they start from 1, the others from the output, which they distribute."""

LXT: dict[str, Options] = {name: {} for name in VARIANTS}


def captum(name: str, model: Model, inputs: Inputs, target: Target, **options: Any) -> Tensor | Decomposition:
    """Run an attribution class of captum.attr; the scores, with their total where they have one of their own."""
    import torch

    attribution = getattr(required("captum.attr"), name)
    if "seed" in options and len(inputs) > 1:  # one by one, so that what is drawn does not depend on the batch
        single = [(inputs.rows(i, i + 1), target.rows(i, i + 1)) for i in range(len(inputs))]
        parts = [captum(name, model, *example, **options) for example in single]
        return Decomposition(*(torch.cat(columns) for columns in zip(*parts, strict=True)))
    explained = as_module(model, inputs, target)
    features = inputs.features.clone().requires_grad_()
    example = torch.arange(len(inputs), device=features.device)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Setting .*hooks", UserWarning)
        torch.manual_seed(combine_seeds(options.get("seed", 0), inputs.first))
        try:  # captum expands the batch in an order of its own, and the number of each example with it
            scores = attribution(explained).attribute(
                features, additional_forward_args=(example,), **_captum_arguments(name, inputs, options)
            )
        except (TypeError, RuntimeError) as error:
            raise InputError(f"captum's {name} failed on this model: {error}") from error
    scores = scores.to(features)  # captum averages in float32 where it removes features
    if name in WHOLE:
        scores = scores.reshape(*features.shape[:2], -1)[..., 0]
    if name not in COMPLETE:
        return scores
    with torch.no_grad():
        start = torch.full_like(features, options["baselines"])
        return Decomposition(scores, explained(features, example) - explained(start, example))


def _captum_arguments(name: str, inputs: Inputs, options: Options) -> dict[str, Any]:
    """Return what `attribute` is called with: the options, and how features lie in the tensor."""
    import torch

    arguments = {option: value for option, value in options.items() if option not in ("seed", "window", "stride")}
    length, *width = inputs.features.shape[1:]
    if name == "Occlusion":
        arguments["sliding_window_shapes"] = (options["window"], *width)
        arguments["strides"] = (options["stride"], *width)
    elif name in WHOLE:
        arguments["feature_mask"] = torch.arange(length, device=inputs.features.device).reshape(
            1, -1, *(1 for _ in width)
        )
    elif name == "IntegratedGradients":
        arguments["internal_batch_size"] = len(inputs)  # a step at a time: the run's batch size is what fits in memory
    return arguments


def zennit(name: str, model: Model, inputs: Inputs, target: Target, **options: Any) -> Tensor:
    """Run a composite of zennit.composites; operations that are no modules pass by their plain gradient there."""
    composite = getattr(required("zennit.composites"), name)(**options)
    return _hooked(model, inputs, target, composite, starts_from_one=name in GRADIENTS)


def _hooked(model: Model, inputs: Inputs, target: Target, composite: Any, *, starts_from_one: bool = False) -> Tensor:
    """Return the gradient under a composite's hooks, from the output, which is distributed, or from 1."""
    import torch

    explained = as_module(model, inputs, target)
    features = inputs.features.clone().requires_grad_()
    with composite.context(explained) as hooked:
        output = hooked(features, torch.arange(len(inputs), device=features.device))
        start = torch.ones_like(output) if starts_from_one else output
        (scores,) = torch.autograd.grad(output, features, start)
    return scores


def as_module(model: Model, inputs: Inputs, target: Target) -> nn.Module:
    """Return a module from features, and the example that every row of them belongs to, to what is explained."""
    from torch import nn

    class Explained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.module

        def forward(self, features: Tensor, example: Tensor) -> Tensor:
            rows = inputs.select(example).with_features(features)
            return target.select(example)(model(rows))

    return Explained()


def required(module: str) -> Any:
    """Return the module, or raise an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        raise MissingPackage(f"{package} is not installed: pip install {package}") from None
    except (ImportError, RuntimeError) as error:  # versions that do not fit together
        raise MissingPackage(f"{module.partition('.')[0]} is installed and does not import: {error}") from None


def borrowed(prefix: str, run: Callable[..., Any], known: Mapping[str, Options], name: str) -> Method:
    """Return a method out of a table, whose signature says what options it has."""
    if name not in known:
        raise UnknownName(f"unknown method {f'{prefix}:{name}'!r}.{did_you_mean(name, known)}")

    def function(model: Model, inputs: Inputs, target: Target, **options: Any) -> Any:
        return run(name, model, inputs, target, **{**known[name], **options})

    function.__doc__ = f"{name} of {prefix}."
    function.__qualname__ = f"{prefix}:{name}"
    names = ("model", "inputs", "target")
    positional = [inspect.Parameter(argument, inspect.Parameter.POSITIONAL_ONLY) for argument in names]
    keywords = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type(default))
        for option, default in known[name].items()
    ]
    function.__signature__ = inspect.Signature([*positional, *keywords])  # type: ignore[attr-defined]
    on_modules = prefix == "zennit" or name in HOOKED
    return Method(f"{prefix}:{name}", function, passes=None, on_modules=on_modules)


def from_python(path: str) -> Method:
    """Return the function at a dotted path as a method; its keyword-only parameters are its options."""
    module, _, name = path.rpartition(".")
    unknown = f"unknown method {f'python:{path}'!r}:"
    if not module:
        raise UnknownName(f"{unknown} write python:module.function.")
    import_modules([module])
    imported = sys.modules[module]
    function = getattr(imported, name, None)
    if not inspect.isfunction(function):
        functions = [member for member, value in vars(imported).items() if inspect.isfunction(value)]
        raise UnknownName(f"{unknown} {module!r} has no function {name!r}.{did_you_mean(name, functions)}")
    return Method(f"python:{path}", function, passes=None)


def find_captum(name: str) -> Method:
    """Return a method of captum.attr, or a class of one's own with its interface, by the dotted path."""
    return class_method(name) if "." in name else borrowed("captum", captum, CAPTUM, name)


def find_zennit(name: str) -> Method:
    """Return a method of zennit.composites, or a composite of one's own, by the dotted path of its class."""
    return composite_class(name, _hooked) if "." in name else borrowed("zennit", zennit, ZENNIT, name)


METHODS.resolvers["captum"] = cache(find_captum)
METHODS.resolvers["zennit"] = cache(find_zennit)
METHODS.resolvers["lxt"] = cache(partial(borrowed, "lxt", lxt, LXT))
METHODS.resolvers["python"] = from_python
