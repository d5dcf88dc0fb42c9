"""Measures what LXT 2.1 costs: seconds of its AttnLRP beside plain Gradient x Input, on the CPU.

Run in the environment that `benchmarks/lxt_golden.py` describes:

    lxtenv/bin/python benchmarks/lxt_speed.py

A BERT-base-shaped and a small Llama-shaped model with random weights, 8 x 32 tokens, float32, eager attention, two
threads, on a machine that should have nothing else to do (the load average at the start is printed). Each pair of model
and variant runs in a process of its own, because LXT patches classes for the whole process; inside it, plain and LXT
take turns, so that a ratio compares moments of the same machine. Prints a line of JSON per process and a table.

LXT has two implementations. `efficient` is Gradient x Input on a patched model. `explicit` carries relevance in the
backward pass; release 2.1 ships its rules but not its models, so they are attached here by LXT's own `Composite`, which
has to trace the model with torch.fx. Where that fails the output says so.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import operator
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

BATCH, TOKENS, THREADS = 8, 32, 2
REPEATS, WARMUP = 7, 1
VARIANTS = ("efficient", "explicit")
SHARED = {"attn_implementation": "eager", "use_cache": False}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForSequenceClassification", SHARED),
    "llama": (
        "LlamaForCausalLM",
        {
            **SHARED,
            "hidden_size": 512,
            "intermediate_size": 1376,
            "num_hidden_layers": 6,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "vocab_size": 1000,
        },
    ),
}
"""Model type to architecture and configuration; BERT's defaults are those of BERT-base."""

Step = Callable[[], Tensor]
"""One explanation of the batch: relevance per token."""


def modeling(name: str) -> ModuleType:
    """The module of transformers that defines a model."""
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def build(name: str) -> nn.Module:
    """A frozen float32 model with transformers' random initialization."""
    from transformers import AutoConfig

    architecture, keywords = MODELS[name]
    torch.manual_seed(0)
    model: nn.Module = getattr(modeling(name), architecture)(AutoConfig.for_model(name, **keywords))
    return model.eval().requires_grad_(False)


def draw_embeddings(model: Any) -> Tensor:
    """The embeddings of random tokens."""
    size = model.config.vocab_size
    input_ids = torch.randint(1, size, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))
    return model.get_input_embeddings()(input_ids).detach()


def largest_logit(outputs: Any) -> Tensor:
    """The largest logit of each example, for language models at the last position."""
    logits = outputs["logits"]
    return (logits if logits.dim() == 2 else logits[:, -1]).max(-1).values


def by_gradient(model: nn.Module, embeddings: Tensor) -> Step:
    """Embedding x gradient: plain, or LXT efficient where the classes are patched."""

    def step() -> Tensor:
        leaf = embeddings.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(largest_logit(model(inputs_embeds=leaf)).sum(), leaf)
        return (leaf * gradient).sum(-1).detach()

    return step


def by_relevance(model: nn.Module, embeddings: Tensor) -> Step:
    """LXT explicit: the output's relevance is the output, and what arrives at the embeddings is theirs."""

    def step() -> Tensor:
        leaf = embeddings.clone().requires_grad_()
        logit = largest_logit(model(inputs_embeds=leaf))
        (relevance,) = torch.autograd.grad(logit, leaf, logit.detach())
        return relevance.sum(-1)

    return step


class Patches:
    """LXT's efficient patches of a model, which can be taken off and put on again."""

    def __init__(self, name: str) -> None:
        """Apply LXT's patches and note what they changed."""
        from lxt.efficient import monkey_patch  # type: ignore[import-not-found]

        patch_map = importlib.import_module(f"lxt.efficient.models.{name}").attnLRP
        before = {target: dict(vars(target)) for target in patch_map}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            monkey_patch(modeling(name), patch_map=patch_map)
        self.changed = [
            (target, attribute, old[attribute], new)
            for target, old in before.items()
            for attribute, new in vars(target).items()
            if attribute in old and old[attribute] is not new
        ]

    def switch(self, on: bool) -> None:
        """Put the patches on or take them off."""
        for target, attribute, old, new in self.changed:
            setattr(target, attribute, new if on else old)


def efficient(name: str) -> tuple[Step, Step]:
    """Plain Gradient x Input and LXT efficient; each switches the patches outside of what matters for time."""
    plain_model = build(name)
    patches = Patches(name)
    patched_model = build(name)
    patched_model.load_state_dict(plain_model.state_dict())
    embeddings = draw_embeddings(plain_model)
    plain, patched = by_gradient(plain_model, embeddings), by_gradient(patched_model, embeddings)

    def off() -> Tensor:
        patches.switch(False)
        return plain()

    def on() -> Tensor:
        patches.switch(True)
        return patched()

    return off, on


def add(left: Any, right: Any) -> Any:
    """LXT's rule for a sum of tensors; a traced graph also adds sizes."""
    import lxt.explicit.functional as rules  # type: ignore[import-not-found]

    both = isinstance(left, Tensor) and isinstance(right, Tensor)
    return rules.add2(left, right) if both else left + right


def divide(value: Tensor, constant: float) -> Tensor:
    """LXT's rule for a product, which hands all relevance to the factor that is no constant."""
    import lxt.explicit.functional as rules

    return rules.mul2(value, 1 / constant)


def softmax(value: Tensor, dim: int, **ignored: Any) -> Tensor:
    """LXT's rule for the softmax, without the private keywords that a traced graph passes on."""
    import lxt.explicit.functional as rules

    return rules.softmax(value, dim)


def explicit(name: str) -> tuple[Step, Step]:
    """Plain Gradient x Input and LXT explicit, its rules attached to a traced copy of the model."""
    import lxt.explicit.functional as functional
    from lxt.explicit.core import Composite  # type: ignore[import-not-found]
    from lxt.explicit.modules import LayerNormEpsilon, LinearEpsilon  # type: ignore[import-not-found]
    from lxt.explicit.rules import IdentityRule, WrapModule  # type: ignore[import-not-found]
    from transformers.activations import GELUActivation
    from transformers.utils.fx import HFTracer  # type: ignore[import-not-found]

    class Tracer(HFTracer):  # type: ignore[misc]
        """Without this the tracer looks through LXT's rules for modules, and they are lost."""

        def is_leaf_module(self, module: nn.Module, path: str) -> bool:
            return isinstance(module, WrapModule) or super().is_leaf_module(module, path)

    model = build(name)
    embeddings = draw_embeddings(model)
    composite = Composite(
        {
            nn.Linear: LinearEpsilon,
            nn.LayerNorm: LayerNormEpsilon,
            GELUActivation: IdentityRule,
            nn.Tanh: IdentityRule,
            nn.functional.softmax: softmax,
            torch.matmul: functional.matmul,
            operator.add: add,
            operator.truediv: divide,
        }
    )
    traced = composite.register(copy.deepcopy(model), dummy_inputs={"inputs_embeds": embeddings}, tracer=Tracer)
    return by_gradient(model, embeddings), by_relevance(traced, embeddings)


def measure(name: str, variant: str) -> dict[str, Any]:
    """Median seconds of plain and LXT, in turns, and the median of the ratios of neighbours.

    The ratio of the fastest of each stands beside it, as it suffers least from what else the machine does.
    """
    try:
        steps = efficient(name) if variant == "efficient" else explicit(name)
    except ValueError as error:
        return {"model": name, "variant": variant, "unsupported": f"cannot be traced: {error}"}
    seconds: list[list[float]] = [[], []]
    for repeat in range(WARMUP + REPEATS):
        for times, step in zip(seconds, steps, strict=True):
            start = time.perf_counter()
            relevance = step()
            if repeat >= WARMUP:
                times.append(time.perf_counter() - start)
            if not bool(torch.isfinite(relevance).all()):
                raise SystemExit(f"{name} {variant}: relevance is not finite.")
    plain, lxt = seconds
    ratios = [ours / theirs for theirs, ours in zip(plain, lxt, strict=True)]
    return {
        "model": name,
        "variant": variant,
        "plain_seconds": round(statistics.median(plain), 4),
        "lxt_seconds": round(statistics.median(lxt), 4),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_of_fastest": round(min(lxt) / min(plain), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def table(results: list[dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    rows = ["| model | LXT | plain, s | LXT, s | ratio (range) | of the fastest |", "|---|---|---|---|---|---|"]
    for result in results:
        head = f"| {result['model']} | {result['variant']} |"
        if "unsupported" in result:
            rows.append(f"{head} - | - | not supported: {result['unsupported']} | - |")
        else:
            low, high = result["ratio_range"]
            numbers = f"{result['plain_seconds']:.3f} | {result['lxt_seconds']:.3f} | {result['ratio']:.2f}"
            rows.append(f"{head} {numbers} ({low:.2f} to {high:.2f}) | {result['ratio_of_fastest']:.2f} |")
    return "\n".join(rows)


def main() -> None:
    """Measure everything, or be one of the subprocesses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worker", nargs=2, metavar=("MODEL", "VARIANT"), help="used by the script itself")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    if options.worker:
        print(json.dumps(measure(*options.worker)))
        return
    results: list[dict[str, Any]] = []
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    for name in MODELS:
        for variant in VARIANTS:
            command = [sys.executable, __file__, "--worker", name, variant]
            line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
            print(line, flush=True)
            results.append(json.loads(line))
    print(table(results))


if __name__ == "__main__":
    main()
