"""Relevance inside the model against activation patching: r over components c of R_c and f(a_c) - f(p_c in its place).

`of` says what a component is: a head (A V of all tokens: what the output projection reads), a query or a key of a head,
or a token of the MLP's output or of a layer's output (the residual stream). `patch` says what takes its place: zeros;
the mean over the tokens of all examples; or the value under another input, which is the other example of a pair (0 and
1, 2 and 3, ...) or this one without its words, as the subject's `remove` has it.

Two definitions are in use, and both are here. Kramar et al. 2024 ("AtP*") run the clean input, with its gradient, and
patch values of the other into it: `direction: noising`. Nanda 2023 and the repository of Jafari et al. 2025 ("RelP")
run the other input, with its gradient, and patch clean values into it: `direction: denoising`. And r is of each example
by itself (`pearson`), or of effects that are first averaged over examples of one length (`pearson_of_means`), which is
what Jafari et al. report; GPT-2-large, MLP outputs: 0.006 for AtP and 0.956 for RelP.

Reported, not judged: what r is good is not known.
"""

from __future__ import annotations

from dataclasses import astuple

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.components import Direction, Example, Part, Patch, Question, mean_values
from axioms.properties.helpers.correlations import constant, left_out, pearson, spearman, too_few
from axioms.properties.helpers.views import SideView


@axiom(
    "patching_correlation",
    metrics={
        "pearson": Metric("Pearson's r over the components of an example of the estimate and the effect of the patch"),
        "spearman": Metric("Spearman's rank correlation of the same"),
        "pearson_of_means": Metric("Pearson's r of both after a mean over examples; none if lengths differ", "scalar"),
        "relative_gap": Metric("max_c |R_c - effect_c| / max_c max(|R_c|, |effect_c|)", rounding=True),
        "undefined": Metric("1 where an example has no r, and is left out: under three components, or equal effects"),
    },
)
def patching_correlation(
    side: SideView,
    *,
    of: Part = "heads",
    patch: Patch = "zero",
    direction: Direction = "noising",
    layers: list[int] | None = None,
    most: int | None = None,
    seed: Seed = 0,
) -> dict[str, Values]:
    """Correlations of what a method says of each component with what patching it takes from the target.

    `layers` are 1-based; by default all. `most` patches so many components of each example alone, drawn with the seed.
    """
    from axioms.engine.handlers.tap import layers_of

    known = layers_of(side.model.module)
    if not known or not set(layers or known) <= set(known):
        raise InputError(f"patching_correlation needs layers of the model, which has {len(known)}, numbered from 1.")
    if direction == "denoising" and patch in ("zero", "mean"):
        raise InputError(f"a patch by {patch} has no other input to run: it is `direction: noising`.")
    question = Question(of, patch, direction, tuple(layers or known), most, seed)
    mean = mean_values(side, question) if patch == "mean" else None
    examples = [Example(side, question, number, mean) for number in range(len(side.inputs))]
    effects = side.bench.remember(("patching", *astuple(question)), lambda: [example.effects() for example in examples])
    estimates = []
    for example in examples:
        estimates.append(example.estimates())
        side.bench.progress(len(estimates), len(examples))
    return _compared(estimates, effects)


def _compared(estimates: list[Values], effects: list[Values]) -> dict[str, Values]:
    """Return the metrics; examples may have different numbers of components."""
    counts = np.array([len(row) for row in effects])
    counted = np.arange(max(1, counts.max())) < counts[:, None]
    padded = []
    for rows in (estimates, effects):
        values = np.zeros(counted.shape)
        values[counted] = np.concatenate(rows)
        padded.append(values)
    said, measured = padded
    undefined = too_few(counted) | constant(measured, counted)
    of_means = pearson(said.mean(axis=0, keepdims=True), measured.mean(axis=0, keepdims=True))
    return {
        "pearson": left_out(pearson(said, measured, counted), undefined),
        "spearman": left_out(spearman(said, measured, counted), undefined),
        "pearson_of_means": np.asarray(of_means[0] if counted.all() else np.nan),
        "relative_gap": relative_gap(said, measured),
        "undefined": undefined.astype(np.float64),
    }
