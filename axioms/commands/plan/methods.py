"""What each method costs in passes, as its file in `axioms/methods/` runs them; a user's, as it was registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from axioms.commands.plan.loads import Engine, Load, passes, removals
from axioms.commands.plan.sizes import Size
from axioms.core.entries import Method
from axioms.core.registry import METHODS
from axioms.methods.budget import FORWARD
from axioms.model.probe import WORTHWHILE
from axioms.spec import MethodRef

Options = Mapping[str, Any]
Cost = Callable[[Size, Options], list[Load]]

BLOCKS = 1 / 3
"""The share of a pass that lies in its attention blocks: 4 of the 12 products of a layer, width by width."""


def _gradient(size: Size, options: Options) -> list[Load]:
    return [passes(size, "plain", 1, 1)]


def _integrated_gradients(size: Size, options: Options) -> list[Load]:
    """The inputs, the baseline, and the nodes of the path."""
    return [passes(size, "plain", 2), passes(size, "plain", options["steps"], options["steps"])]


def _propagation(size: Size, options: Options) -> list[Load]:
    engine: Engine = "rules" if options.get("engine", "fast") == "fast" else "explicit"
    return [passes(size, engine, 1, 1)]


def _block_lrp(size: Size, options: Options) -> list[Load]:
    """One pass that finds the blocks, one that propagates, and every block once more for each node."""
    inside = BLOCKS * options["nodes"]
    return [passes(size, "observe", 1), passes(size, "rules", 1, 1), passes(size, "plain", inside, inside)]


def _attention_rollout(size: Size, options: Options) -> list[Load]:
    return [passes(size, "observe", 1)]


def _alti_logit(size: Size, options: Options) -> list[Load]:
    """A pass that is observed, and one that is differentiated at its end."""
    return [passes(size, "observe", 1), passes(size, "rules", 1)]


def _removal_taylor(size: Size, options: Options) -> list[Load]:
    return [passes(size, "gates", size.drawn, size.drawn)]


def _removal_grouped(size: Size, options: Options) -> list[Load]:
    groups = options.get("groups", 3) * size.drawn
    return [passes(size, "gates", groups, groups)]


def _loo(size: Size, options: Options) -> list[Load]:
    """The inputs as they are, and without each unit."""
    return [passes(size, "plain", 1), removals(size, [float(units) for units in size.units], is_prefix_kept=True)]


def _loo_adaptive(size: Size, options: Options) -> list[Load]:
    """The estimate, a pass that remembers what comes before where the model is causal, and the exact removals."""
    counts = [float(min(options["exact"], units)) for units in size.units]
    exact = [removals(size, counts, is_prefix_kept=True)]
    if size.is_causal and options["exact"] >= WORTHWHILE:
        exact.append(passes(size, "plain", 1))
    if options["estimate"] == "removal_grouped":
        return [passes(size, "plain", 1), *_removal_grouped(size, {}), *exact]
    return [*_removal_taylor(size, {}), *exact]


def _loo_budget(size: Size, options: Options) -> list[Load]:
    """Exact removals as far as the budget goes, and one pass of gates for the examples that it does not cover."""
    share = size.drawn * (0.5 if size.is_causal else 1.0)  # of a forward pass, for one removal
    whole = 1 / options.get("forward", FORWARD)  # forward passes that one pass is
    forwards = whole * options.get("passes", 3.0)
    fits = [1 + share * units <= forwards for units in size.units]
    bought = max(0.0, (forwards - whole * size.drawn - size.is_causal) / share)
    counts = [float(units) if fit else min(units, bought) for fit, units in zip(fits, size.units, strict=True)]
    loads = [removals(size, counts, is_prefix_kept=True)]
    if size.is_causal or any(fits):
        loads.append(passes(size, "plain", 1))
    if estimated := size.drawn * fits.count(False) / len(fits):
        loads.append(passes(size, "gates", estimated, estimated))
    return loads


def _nothing(size: Size, options: Options) -> list[Load]:
    return []


METHOD_COSTS: dict[str, Cost] = {
    **dict.fromkeys(("gradient", "gradient_x_input", "gradient_l1", "gradient_l2", "atp", "atp_qk"), _gradient),
    **dict.fromkeys(
        ("attnlrp", "cp_lrp", "lrp_epsilon", "lrp_gamma", "lrp_alpha1_beta0", "lrp", "degree_lrp", "pa_lrp", "relp"),
        _propagation,
    ),
    "integrated_gradients": _integrated_gradients,
    "block_lrp": _block_lrp,
    "attention_rollout": _attention_rollout,
    "alti_logit": _alti_logit,
    "removal_taylor": _removal_taylor,
    "removal_grouped": _removal_grouped,
    "loo": _loo,
    "loo_adaptive": _loo_adaptive,
    "loo_budget": _loo_budget,
    "random": _nothing,
}


def _captum_removals(size: Size, options: Options) -> list[Load]:
    """One feature after another, each by a pass of its own over the batch."""
    calls = float(max(size.lengths))
    return [passes(size, "plain", 1 + calls)]


def _captum_shapley(size: Size, options: Options) -> list[Load]:
    """Each example by itself, feature by feature for each sample."""
    alone = size.with_examples(size.examples, 1)
    return [passes(alone, "plain", options["n_samples"] * max(size.lengths) + 2)]


def _captum_integrated_gradients(size: Size, options: Options) -> list[Load]:
    return [passes(size, "plain", options["n_steps"], options["n_steps"]), passes(size, "plain", 2)]


def _captum_deep_lift(size: Size, options: Options) -> list[Load]:
    """Input and baseline side by side, and both again for the total."""
    return [passes(size, "plain", 2, 2), passes(size, "plain", 2)]


ADAPTED_COSTS: dict[str, Cost] = {
    "captum:FeatureAblation": _captum_removals,
    "captum:Occlusion": _captum_removals,
    "captum:ShapleyValueSampling": _captum_shapley,
    "captum:IntegratedGradients": _captum_integrated_gradients,
    "captum:DeepLift": _captum_deep_lift,
}
"""Other people's methods that cost something else than one pass."""


def cost_of_method(method: MethodRef, size: Size) -> tuple[list[Load], str]:
    """Return what a method costs on all examples, and what was assumed of it ("" where nothing was)."""
    entry = METHODS.get(method.name)
    options = {**_defaults(entry), **method.options}
    known = METHOD_COSTS.get(method.name) or ADAPTED_COSTS.get(method.name)
    if known is not None:
        return known(size, options), ""
    if entry.composite is not None:
        return _propagation(size, options), ""
    if method.name.startswith(("captum:", "zennit:", "lxt:")):
        return _gradient(size, options), ""
    if entry.passes is None:
        what = f"{method.name} does not say what it costs (`passes`): one forward and one backward pass"
        return _gradient(size, options), what
    return [passes(size, "plain", entry.passes, entry.passes)], ""


def _defaults(entry: Method) -> dict[str, Any]:
    fields = entry.options_model().model_fields
    return {name: field.default for name, field in fields.items() if not field.is_required()}


def cost_of_sweep(size: Size, kinds: Sequence[str]) -> list[Load]:
    """Return one forward pass and the ways back of all settings, which share what lies above the first difference."""
    from axioms.engine.handlers.sweep import distinct

    layers = range(1, size.layers + 1)
    wanted = distinct(kinds, list(layers))
    crossed = sum(len({frozenset(setting & set(layers[place:])) for setting in wanted}) for place in range(size.layers))
    return [passes(size, "rules", 1), passes(size, "rules", 0, crossed / size.layers)]
