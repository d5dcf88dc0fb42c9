"""Runs LXT on one request, in an environment that has lxt and the transformers that it needs, and not this package.

    python worker.py FOLDER

FOLDER has request.json and request.safetensors (see `write_request`); answer.json and answer.safetensors are written
beside them. An answer that is none says why: what is `missing`, for what LXT is `undefined`, or the `error`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tensors = dict[str, Any]


class Unanswered(Exception):
    """The kind of the answer, and the sentence in it."""


def answer(folder: Path) -> dict[str, str]:
    """Write the relevance; return what answer.json says."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        from safetensors.torch import load_file, save_file

        patch(request)
        tensors = load_file(folder / "request.safetensors")
        save_file(explain(request, tensors), folder / "answer.safetensors")
    except ImportError as error:
        return {"missing": f"{error.name or error} cannot be imported ({error})"}
    except Unanswered as error:
        return {error.args[0]: error.args[1]}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {}


def patch(request: dict[str, Any]) -> None:
    """Apply LXT's patches to this process, for good."""
    from lxt.efficient import monkey_patch  # type: ignore[import-not-found]

    model_type, variant = request["config"]["model_type"], request["variant"]
    try:
        maps = importlib.import_module(f"lxt.efficient.models.{model_type}")
    except ModuleNotFoundError:
        raise Unanswered("undefined", f"LXT has no patches for models of the type {model_type!r}") from None
    if not hasattr(maps, variant):
        raise Unanswered("undefined", f"LXT has no {variant} for models of the type {model_type!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a class that LXT could not patch
        monkey_patch(modeling(model_type), patch_map=getattr(maps, variant))


def modeling(model_type: str) -> Any:
    """Return the module of transformers that defines a model; LXT replaces names in it."""
    return importlib.import_module(f"transformers.models.{model_type}.modeling_{model_type}")


def build(request: dict[str, Any], tensors: Tensors) -> Any:
    """Return the model with the request's weights, in their dtype."""
    from transformers import AutoConfig

    settings = {**older(request["config"]), "attn_implementation": "eager", "use_cache": False}
    model_type = settings.pop("model_type")
    model = getattr(modeling(model_type), request["architecture"])(AutoConfig.for_model(model_type, **settings))
    weights = {key[len("weights/") :]: value for key, value in tensors.items() if key.startswith("weights/")}
    loaded = model.load_state_dict(weights, strict=False)
    own = {name for name, _ in model.named_parameters()}
    missing = sorted(own & set(loaded.missing_keys))
    if missing or loaded.unexpected_keys:
        names = ", ".join([*missing, *loaded.unexpected_keys][:3])
        raise Unanswered("error", f"the older transformers has other weights in this model: {names}.")
    return model.to(tensors["features"].dtype).eval().requires_grad_(False)


def older(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration of transformers 5 with the names that transformers 4 knows."""
    known = {key: value for key, value in config.items() if key not in ("dtype", "torch_dtype", "rope_parameters")}
    rotary = dict(config.get("rope_parameters") or {})
    if "rope_theta" in rotary:
        known["rope_theta"] = rotary.pop("rope_theta")
        known["rope_scaling"] = None if rotary.get("rope_type") in (None, "default") else rotary
    return known


def explain(request: dict[str, Any], tensors: Tensors) -> Tensors:
    """Return embedding x gradient on the patched model, summed over the width, and the outputs that are read."""
    import torch

    model = build(request, tensors)
    features = tensors["features"].requires_grad_()
    fixed = {key[len("fixed/") :]: value for key, value in tensors.items() if key.startswith("fixed/")}
    handle = model.get_input_embeddings().register_forward_hook(lambda module, args, output: features.clone())
    with double_kept():
        outputs = model(**fixed, **request["fixed"]).logits
    handle.remove()
    if outputs.dim() == 3:
        place = tensors.get("position", torch.tensor(-1))
        outputs = outputs[torch.arange(len(outputs)), place]
    (gradient,) = torch.autograd.grad((outputs * tensors["seed"]).sum(), features)
    relevance = (features * gradient).sum(-1)
    return {"relevance": relevance.detach().contiguous(), "outputs": outputs.detach().contiguous()}


def double_kept() -> Any:
    """Return a mode under which a float64 tensor is not cast to float32, which is rounding and no rule."""
    import torch
    from torch.overrides import TorchFunctionMode

    class KeepDouble(TorchFunctionMode):
        def __torch_function__(
            self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if args and isinstance(args[0], torch.Tensor) and args[0].dtype == torch.float64:
                if func is torch.Tensor.to and args[1:] == (torch.float32,):
                    return args[0]
                if func is torch.nn.functional.softmax and kwargs.get("dtype") == torch.float32:
                    kwargs["dtype"] = None
            return func(*args, **kwargs)

    return KeepDouble()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    (place / "answer.json").write_text(json.dumps(answer(place)), encoding="utf-8")
