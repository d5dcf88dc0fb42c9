"""Estimates of activation patching against patching itself, each by an independent path: plain hooks and autograd."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from axioms import attribute
from axioms.core.entries import Registered
from axioms.core.errors import InputError, NotDefined
from axioms.core.registry import SUBJECTS
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject:
  model: {model}
  data: {data}
  target: 0
  remove: {remove}
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: {{patching_correlation: {options}}}, expect: {{relative_gap.max: {{le: 1.0e-9}}}}}}]
"""
TOKENS = [[5, 6, 7, 8, 9], [5, 6, 11, 8, 9]]
TEXTS = f"{{tokens: {{values: {TOKENS}}}}}"
LINEAR = "{mlp: {weights: [[[2, -1], [1, 3]], [[1, -1], [0.5, 2]], [[1, 2], [-2, 0.5]], [[1, 1]]], activation: none}}"
POINTS = "{points: [[1, 2], [-1, 0.5], [4, -3], [2, 2]]}"


def run(
    write_spec: Write,
    method: str,
    options: str,
    model: str = "{tiny: {architecture: bert}}",
    data: str = TEXTS,
    remove: str = "{kind: zero_embedding}",
) -> Result:
    text = SPEC.format(method=method, options=options, model=model, data=data, remove=remove)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


class Oracle:
    """Patches a tiny BERT by hooks on its modules, one component and one forward pass at a time."""

    parts = {  # noqa: RUF012
        "heads": "bert.encoder.layer.{}.attention.self",
        "mlp": "bert.encoder.layer.{}.output.dense",
        "residual": "bert.encoder.layer.{}",
        "queries": "bert.encoder.layer.{}.attention.self.query",
        "keys": "bert.encoder.layer.{}.attention.self.key",
    }

    def __init__(self, of: str, patch: str) -> None:
        from axioms.subjects.models.tiny import tiny

        self.model = tiny(architecture="bert")
        self.of, self.patch = of, patch
        self.modules = [self.model.get_submodule(self.parts[of].format(layer)) for layer in range(2)]

    def values(self, ids: list[int]) -> list[Tensor]:
        """Return what the modules put out: tokens x width."""
        seen: list[Tensor] = []

        def look(value: Tensor) -> Tensor:
            seen.append(value)
            return value

        self.logit(ids, [look, look])
        return [value[0].detach() for value in seen]

    def logit(self, ids: list[int], change: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """Return the first logit with the output of each module changed."""

        def hook(by: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
            def replace(module: nn.Module, args: Any, output: Any) -> Any:
                return by(output) if isinstance(output, Tensor) else (by(output[0]), *output[1:])

            return replace

        handles = [m.register_forward_hook(hook(by)) for m, by in zip(self.modules, change, strict=True)]
        try:
            logit: Tensor = self.model(input_ids=torch.tensor([ids])).logits[0, 0]
        finally:
            for handle in handles:
                handle.remove()
        return logit

    def patches(self, example: int) -> list[Tensor]:
        """Return what is put in the place of each module's output."""
        own = self.values(TOKENS[example])
        if self.patch == "zero":
            return [torch.zeros_like(value) for value in own]
        if self.patch == "pair":
            return self.values(TOKENS[1 - example])
        every = [self.values(ids) for ids in TOKENS]
        return [torch.cat([values[layer] for values in every]).mean(0).expand_as(own[layer]) for layer in range(2)]

    def components(self) -> list[tuple[int, slice | int, slice]]:
        """Return the layer, the tokens and the columns of each component."""
        width, heads, everything = 16, 2, slice(None)
        columns = [slice(8 * head, 8 * head + 8) for head in range(heads)]
        tokens = range(len(TOKENS[0]))
        of_layer: list[tuple[slice | int, slice]]
        if self.of == "heads":
            of_layer = [(everything, column) for column in columns]
        elif self.of in ("queries", "keys"):
            of_layer = [(token, column) for column in columns for token in tokens]
        else:
            of_layer = [(token, slice(width)) for token in tokens]
        return [(layer, token, column) for layer in range(2) for token, column in of_layer]

    def effects(self, example: int) -> list[float]:
        """Return what each patch takes from the logit."""
        ids, patches = TOKENS[example], self.patches(example)
        keep: Callable[[Tensor], Tensor] = lambda value: value  # noqa: E731
        plain, effects = self.logit(ids, [keep, keep]), []
        for layer, token, column in self.components():

            def put(value: Tensor, layer: int = layer, token: Any = token, column: slice = column) -> Tensor:
                changed = value.clone()
                changed[0, token, column] = patches[layer][token, column]
                return changed

            changes = [put if number == layer else keep for number in range(2)]
            effects.append(float((plain - self.logit(ids, changes)).detach()))
        return effects

    def estimates(self, example: int) -> list[float]:
        """Return the gradient times the difference at each component."""
        leaves: list[Tensor] = []

        def catch(value: Tensor) -> Tensor:
            value.retain_grad()
            leaves.append(value)
            return value

        self.logit(TOKENS[example], [catch, catch]).backward()
        patches = self.patches(example)
        return [
            float(((leaves[k].detach()[0] - patches[k]) * leaves[k].grad[0])[token, column].sum())  # type: ignore[index]
            for k, token, column in self.components()
        ]


@pytest.mark.parametrize("patch", ["zero", "mean", "pair"])
@pytest.mark.parametrize("of", ["heads", "mlp", "residual", "queries", "keys"])
def test_atp_against_hooks(write_spec: Write, of: str, patch: str) -> None:
    oracle = Oracle(of, patch)
    measured = run(write_spec, "atp", f"{{of: {of}, patch: {patch}}}").measurement.values
    for example in range(2):
        effects, said = np.array(oracle.effects(example)), np.array(oracle.estimates(example))
        gap = np.abs(effects - said).max() / max(np.abs(effects).max(), np.abs(said).max())
        assert measured["pearson"][example] == pytest.approx(np.corrcoef(effects, said)[0, 1], abs=1e-9)
        assert measured["relative_gap"][example] == pytest.approx(gap, abs=1e-9)
    means = [np.mean([of_example(e) for e in range(2)], axis=0) for of_example in (oracle.effects, oracle.estimates)]
    assert float(measured["pearson_of_means"]) == pytest.approx(np.corrcoef(*means)[0, 1], abs=1e-9)


def test_denoising_runs_the_other_input(write_spec: Write) -> None:
    """For the same class, patching 1 into 0 noises 0 and denoises 1."""
    noising = run(write_spec, "atp", "{of: mlp, patch: pair}").measurement.values["pearson"]
    denoising = run(write_spec, "atp", "{of: mlp, patch: pair, direction: denoising}").measurement.values["pearson"]
    np.testing.assert_allclose(denoising, noising[::-1], atol=1e-12)
    assert abs(noising[0] - noising[1]) > 1e-3


@pytest.mark.parametrize("patch", ["zero", "mean", "pair", "removal"])
@pytest.mark.parametrize("method", ["atp", "atp_qk", "relp", "gradient_x_input", "attnlrp", "cp_lrp"])
def test_exact_in_a_linear_model(write_spec: Write, method: str, patch: str) -> None:
    """Where the output is linear in the component, gradient times difference is what the patch takes."""
    of_patch = f"{{of: residual, patch: {patch}}}"
    assert run(write_spec, method, of_patch, LINEAR, POINTS, "zero").judgement.passed
    assert run(write_spec, "gradient", of_patch, LINEAR, POINTS, "zero").judgement.verdict == "violated"


class Block(nn.Module):
    """Attention of two heads, of which the output is a linear function of A and V; no norm and no residual."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(3)
        self.maps = nn.ParameterList(
            torch.randn(4, 4, dtype=torch.float64, generator=draw) * scale for scale in (3, 3, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = ((x @ weight).unflatten(-1, (2, 2)).transpose(-3, -2) for weight in self.maps)
        weights = (q @ k.transpose(-2, -1) * 0.7 + torch.ones(3, 3).triu(1).double() * -1e9).softmax(-1)
        return (weights @ v).transpose(-3, -2).flatten(-2)


class OneBlock(nn.Module):
    """One such block, summed."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block()])

    def forward(self, features: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        output: Tensor = self.layers[0](features)
        return output.sum((1, 2)).unsqueeze(1)


FIRST, SECOND = "[[1, 0, 2, -1], [0.5, 1, 0, 2], [2, 1, 1, 0]]", "[[0, 1, 1, 1], [2, 0, -1, 1], [1, 1, 0.5, 2]]"
VECTORS = f"{{masked-tokens: {{values: [{FIRST}, {SECOND}]}}}}"


@pytest.mark.parametrize("patch", ["zero", "mean", "pair"])
@pytest.mark.parametrize("of", ["queries", "keys"])
def test_the_qk_fix_is_exact_where_the_output_is_linear_in_the_weights(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch, of: str, patch: str
) -> None:
    monkeypatch.setitem(SUBJECTS._entries, "one-block", Registered("one-block", OneBlock))
    options = f"{{of: {of}, patch: {patch}}}"
    assert run(write_spec, "atp_qk", options, "one-block", VECTORS, "attention_mask").judgement.passed
    assert run(write_spec, "atp", options, "one-block", VECTORS, "attention_mask").judgement.verdict == "violated"


class Gated(nn.Module):
    """x + W (silu(G n) * U n) with n the norm of x; with `lrp`, as the repository of RelP changes its backward pass."""

    def __init__(self, seed: int, lrp: bool) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.maps = nn.ParameterList(torch.randn(4, 4, dtype=torch.float64, generator=draw) for _ in range(3))
        self.lrp = lrp

    def forward(self, x: Tensor) -> Tensor:
        gate, up, down = self.maps
        if not self.lrp:
            normed = F.layer_norm(x, (4,))
            return x + (F.silu(normed @ gate) * (normed @ up)) @ down
        centred = x - x.mean(-1, keepdim=True)
        normed = centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt().detach()
        before = normed @ gate
        product = before * (F.silu(before) / before).detach() * (normed @ up)
        return x + (product / 2 + (product / 2).detach()) @ down


class TwoGated(nn.Module):
    """Two gated blocks, of which one number is read."""

    def __init__(self, *, lrp: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Gated(1, lrp), Gated(2, lrp)])

    def forward(self, features: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            features = layer(features)
        return features[:, :, :1].sum(1)


def test_relp_is_the_gradient_of_its_repository() -> None:
    """Their change of three operations, written out in a model, and differentiated without the engine."""
    features = torch.tensor([[[1.0, 0, 2, -1], [0.5, 1, 0, 2]]], dtype=torch.float64)
    ours = attribute(TwoGated(), features, 0, "relp", at="layer.1").at
    changed = TwoGated(lrp=True)
    hidden = changed.layers[0](features).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(changed.layers[1](hidden)[:, :, 0].sum(), hidden)
    torch.testing.assert_close(ours, hidden.detach() * gradient, rtol=1e-10, atol=1e-12)


def test_relp_with_attention_frozen_gives_queries_and_keys_nothing(write_spec: Write) -> None:
    values = run(write_spec, "{relp: {attention: frozen}}", "{of: keys}").measurement.values
    assert (values["relative_gap"] == 1).all()
    assert np.isnan(values["pearson"]).all()


def test_fewer_components_are_the_same_for_every_method(write_spec: Write) -> None:
    """With as many as there are nothing is left out, and a draw is the same again."""
    every = run(write_spec, "atp", "{of: keys}").measurement.values["pearson"]
    np.testing.assert_array_equal(run(write_spec, "atp", "{of: keys, most: 99}").measurement.values["pearson"], every)
    first, again = (run(write_spec, "atp", "{of: keys, most: 6}").measurement.values["pearson"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != every).all()


@pytest.mark.parametrize(
    ("options", "data", "remove", "what"),
    [
        ("{patch: pair}", "{tokens: {values: [[5, 6, 7], [5, 6]]}}", "attention_mask", "they have 3 and 2"),
        ("{patch: pair}", "{tokens: {values: [[5, 6, 7]]}}", "attention_mask", "even number"),
        ("{patch: removal}", TEXTS, "attention_mask", "by attention_mask does not"),
        ("{direction: denoising}", TEXTS, "attention_mask", "`direction: noising`"),
        ("{layers: [3]}", TEXTS, "attention_mask", "which has 2"),
    ],
)
def test_what_cannot_be_patched(write_spec: Write, options: str, data: str, remove: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        run(write_spec, "atp", options, data=data, remove=remove)


def test_a_method_that_brings_nothing_there(write_spec: Write) -> None:
    with pytest.raises(NotDefined, match="brought no gradient"):
        run(write_spec, "loo", "{of: mlp}", remove="attention_mask")
