"""Writes `tests/golden/lxt.safetensors`: AttnLRP and CP-LRP of tiny models as LXT 2.1 computes them.

LXT patches model classes for the whole process and imports only with an older transformers, so it gets an environment
of its own, and each pair of model and variant a process of its own:

    python3.11 -m venv lxtenv
    lxtenv/bin/pip install lxt==2.1 transformers==4.52.4 safetensors
    lxtenv/bin/python benchmarks/lxt_golden.py

LXT imports torchvision without naming it; it comes with open_clip_torch, together with the torch it needs (a torch that
was installed before may be replaced). Written with torch 2.15.0; about a minute, nearly all of it imports.

The models are float64 with weights that float32 holds exactly. LXT's RMSNorm and transformers' eager softmax cast to
float32 nevertheless, which is rounding and no rule: those casts are left out here, and that leaving them in moves the
relevance by no more than rounding is checked. The tables of rotary positions remain float32, as they are everywhere.

The file holds, for each model type `m` (two inputs of six tokens each):

    m/weights/<name>      float32   the state dict
    m/input_ids           int64     2 x 6
    m/target              int64     2: the class, or the next token, with the largest logit
    m/logit               float64   2: that logit, for language models at the last position
    m/relevance/attnlrp   float64   2 x 6: sum over the width of embedding x gradient
    m/relevance/cp_lrp    float64   the same for CP-LRP; not for bert, for which LXT 2.1 has no such variant

and in the metadata, under `golden`, JSON with the versions and for each model its architecture, the keywords of
`AutoConfig.for_model`, and how far the casts move the relevance of each variant.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

OUTPUT = Path(__file__).parent.parent / "tests" / "golden" / "lxt.safetensors"
VOCABULARY, TOKENS, INPUTS = 50, 6, 2
SPREAD = 0.4
"""Standard deviation of every parameter; norm weights lie around 1, all others around 0."""

VARIANTS = {"attnlrp": "attnLRP", "cp_lrp": "cp_LRP"}
"""Our name of a variant to the name of its patch map in `lxt.efficient.models.<model type>`."""

ABSENT = {("bert", "cp_lrp")}
"""What LXT 2.1 has no patch map for."""

SHARED = {"vocab_size": VOCABULARY, "attn_implementation": "eager", "use_cache": False}
DECODER = {
    **SHARED,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "max_position_embeddings": 16,
    "attention_bias": True,
    "tie_word_embeddings": False,
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": (
        "BertForSequenceClassification",
        {
            **SHARED,
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "max_position_embeddings": 16,
            "num_labels": 3,
        },
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        {
            **SHARED,
            "n_embd": 16,
            "n_inner": 24,
            "n_layer": 2,
            "n_head": 2,
            "n_positions": 16,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "tie_word_embeddings": False,
        },
    ),
    "llama": ("LlamaForCausalLM", {**DECODER, "mlp_bias": True}),
    "qwen3": ("Qwen3ForCausalLM", {**DECODER, "sliding_window": None}),
}
"""Model type to architecture and configuration; only keywords that transformers 4.52 and 5 both understand."""


class KeepDouble(TorchFunctionMode):
    """While active, a float64 tensor is not cast to float32 by `to`, nor by a softmax with a dtype."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if args and isinstance(args[0], Tensor) and args[0].dtype == torch.float64:
            if func is Tensor.to and args[1:] == (torch.float32,):
                return args[0]
            if func is nn.functional.softmax and kwargs.get("dtype") == torch.float32:
                kwargs["dtype"] = None
        return func(*args, **kwargs)


class Explanation(NamedTuple):
    """What is stored of one model under one variant, and the attention that the model paid."""

    target: Tensor
    logit: Tensor
    relevance: Tensor
    attention: Tensor


def modeling(name: str) -> Any:
    """The module of transformers that defines a model; LXT replaces names in it, so classes are looked up late."""
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def build(name: str) -> nn.Module:
    """The float64 model with weights drawn in float32, the same in every process."""
    from transformers import AutoConfig

    architecture, keywords = MODELS[name]
    model: nn.Module = getattr(modeling(name), architecture)(AutoConfig.for_model(name, **keywords))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for path, parameter in sorted(model.named_parameters()):
            center = 1.0 if is_norm_weight(path) else 0.0
            parameter.copy_(center + SPREAD * torch.randn(parameter.shape, generator=generator))
    return model.eval().requires_grad_(False).double()


def is_norm_weight(path: str) -> bool:
    """Whether a parameter is the weight of a LayerNorm or RMSNorm, by the names that the four models give them."""
    module, _, kind = path.rpartition(".")
    return kind == "weight" and ("norm" in module.lower() or module.rpartition(".")[2].startswith("ln_"))


def draw_inputs() -> Tensor:
    """The token ids; 0 is left out, as some models take it for padding."""
    return torch.randint(1, VOCABULARY, (INPUTS, TOKENS), generator=torch.Generator().manual_seed(1))


def explain(model: Any, input_ids: Tensor) -> Explanation:
    """Embedding x gradient of the largest logit: LRP where LXT has patched the model, else Gradient x Input."""
    embeddings = model.get_input_embeddings()(input_ids).detach().requires_grad_()
    outputs = model(inputs_embeds=embeddings, output_attentions=True)
    logits = outputs.logits if outputs.logits.dim() == 2 else outputs.logits[:, -1]
    target = logits.argmax(-1)
    logit = logits.gather(-1, target[:, None])[:, 0]
    (gradient,) = torch.autograd.grad(logit.sum(), embeddings)
    relevance = (embeddings * gradient).sum(-1)
    return Explanation(target, logit.detach(), relevance.detach(), torch.stack(outputs.attentions).detach())


def patch(name: str, variant: str) -> None:
    """Apply one of LXT's patch maps to this process, for good; a class that LXT could not patch is an error."""
    from lxt.efficient import monkey_patch  # type: ignore[import-not-found]

    maps = importlib.import_module(f"lxt.efficient.models.{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkey_patch(modeling(name), patch_map=getattr(maps, VARIANTS[variant]))


def work(name: str, variant: str, path: Path) -> None:
    """What a subprocess does: patch, then explain in float64 and with the float32 casts left in."""
    patch(name, variant)
    model, input_ids = build(name), draw_inputs()
    tensors: dict[str, Tensor] = {}
    for kind, context in (("float64", KeepDouble()), ("as_shipped", nullcontext())):
        with context:
            found = explain(model, input_ids)
        tensors |= {f"{kind}/{field}": value.contiguous() for field, value in found._asdict().items()}
    save_file(tensors, path)


def ask(name: str, variant: str) -> dict[str, Tensor]:
    """What a subprocess found."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.safetensors"
        subprocess.run([sys.executable, __file__, "--worker", name, variant, str(path)], check=True)
        return load_file(path)


def distance(left: Tensor, right: Tensor) -> float:
    """The largest difference, in units of the largest value."""
    return float((left - right).abs().max() / right.abs().max())


def check_attention(name: str, attention: Tensor) -> None:
    """Attention must be visibly non-uniform, or the softmax rule would go untested, and not saturated either.

    Looked at from the last position, which sees all tokens in every model.
    """
    largest = float(attention[..., -1, :].max(-1).values.mean())
    print(f"{name}: mean of the largest attention probability {largest:.3f}")
    if not 2 / TOKENS < largest < 0.9:
        raise SystemExit(f"{name}: attention is uniform or saturated: {largest:.3f}.")


def check_variant(label: str, plain: Explanation, found: dict[str, Tensor]) -> float:
    """The patched model must compute what the plain one does; returns how far the float32 casts move the relevance."""
    exact, shipped = found["float64/relevance"], found["as_shipped/relevance"]
    moved, away = distance(shipped, exact), distance(found["float64/logit"], plain.logit)
    print(f"{label}: logit differs by {away:.1e}, casts move relevance by {moved:.1e}")
    if not bool(torch.equal(found["float64/target"], plain.target)) or away > 1e-13:
        raise SystemExit(f"{label}: LXT changed the output by {away:.1e}.")
    if not math.isfinite(moved) or moved > 1e-5:
        raise SystemExit(f"{label}: the float32 casts move the relevance by {moved:.1e}, more than rounding does.")
    if distance(exact, plain.relevance) < 1e-3:
        raise SystemExit(f"{label}: the relevance is plain Gradient x Input; nothing was patched.")
    return moved


def golden(name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of one model, and its entry in the metadata."""
    model, input_ids = build(name), draw_inputs()
    with KeepDouble():
        plain = explain(model, input_ids)
    check_attention(name, plain.attention)
    tensors = {f"{name}/weights/{path}": value.float().contiguous() for path, value in model.state_dict().items()}
    tensors |= {f"{name}/input_ids": input_ids, f"{name}/target": plain.target, f"{name}/logit": plain.logit}
    casts: dict[str, float] = {}
    for variant in VARIANTS:
        if (name, variant) in ABSENT:
            continue
        found = ask(name, variant)
        casts[variant] = check_variant(f"{name} {variant}", plain, found)
        tensors[f"{name}/relevance/{variant}"] = found["float64/relevance"]
    architecture, keywords = MODELS[name]
    return tensors, {"architecture": architecture, "config": keywords, "float32_casts_move": casts}


def main() -> None:
    """Write the file, or be one of the subprocesses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worker", nargs=3, metavar=("MODEL", "VARIANT", "PATH"), help="used by the script itself")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.worker:
        work(options.worker[0], options.worker[1], Path(options.worker[2]))
        return
    tensors: dict[str, Tensor] = {}
    models: dict[str, Any] = {}
    for name in MODELS:
        found, models[name] = golden(name)
        tensors |= found
    versions = {package: version(package) for package in ("lxt", "transformers", "torch")}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, options.output, metadata={"golden": json.dumps({"versions": versions, "models": models})})
    print(f"{options.output.name}: {len(tensors)} tensors, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
