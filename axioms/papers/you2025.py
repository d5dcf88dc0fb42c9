"""You et al. 2025, "When LRP Diverges from Leave-One-Out in Transformers": its names, Tables 1, 2 and A3, Figure 2.

The numbers that it printed stand in the specs that reproduce them, under `reported`.
"""

from __future__ import annotations

from axioms.papers.layouts import Column, LayerFigure, LayerLayout, Layout, MethodLayout, Mode
from axioms.papers.paper import Paper
from axioms.papers.you2025_claims import CLAIMS

METHODS = {
    "loo": "LOO",
    "integrated_gradients": "IG",
    "attention_rollout": "AttentionRollout",
    "gradient_x_input": "Gradient x Input",
    "random": "Random",
    "attnlrp": "AttnLRP",
    "cp_lrp": "CP-LRP",
}

BOTH_READINGS = (
    "The paper divides each map by its sum before correlating, which turns r into -r where that sum is negative: r is "
    "shown without (r) and with the division, and the share of maps that it flips."
)
TABLES: dict[str, Layout] = {
    "table-1": MethodLayout(
        title="Table 1",
        caption="Implementation invariance and agreement with leave-one-out in bilinear layers. "
        "L is (QK')V, R is Q(K'V); Pearson's r of maps that are normalized to sum to one.",
        columns=(
            Column("L vs R", "implementation_invariance.pearson_sum_normalized.mean", 4),
            Column("L vs LOO", "loo_correlation.left.pearson_sum_normalized.mean", 4),
            Column("R vs LOO", "loo_correlation.right.pearson_sum_normalized.mean", 4),
            Column("r, L vs R", "implementation_invariance.pearson.mean", 4, is_extra=True),
            Column("r, L vs LOO", "loo_correlation.left.pearson.mean", 4, is_extra=True),
            Column("r, R vs LOO", "loo_correlation.right.pearson.mean", 4, is_extra=True),
            Column("L flipped", "loo_correlation.left.sign_flipped.mean", is_extra=True),
            Column("R flipped", "loo_correlation.right.sign_flipped.mean", is_extra=True),
        ),
        corner="Explainer",
        note=BOTH_READINGS,
    ),
    "table-2": MethodLayout(
        title="Table 2",
        caption="Baselines on attribution metrics.",
        columns=(
            Column("LOO r", "loo_correlation.pearson.mean", 2, "higher", interval=True, unranked=("loo",)),
            Column("r/sum", "loo_correlation.pearson_sum_normalized.mean", is_extra=True),
            Column("flipped", "loo_correlation.sign_flipped.mean", is_extra=True),
            Column("LeRF", "perturbation.lerf.mean", 2, "higher"),
            Column("MoRF", "perturbation.morf.mean", 2, "lower"),
            Column("Δ", "perturbation.delta.mean", 2, "higher", interval=True),
        ),
        variants="LRP VARIANTS",
        note="LOO's correlation with itself takes no place; a place is marked only where no interval behind overlaps. "
        + BOTH_READINGS,
    ),
    "table-a3": LayerLayout(
        title="Table A3",
        caption="Layer-wise effects of bypassing the softmax in the backward pass. "
        "L:3 means layers 1 to 3, L7: means layers 7 to the last. r/sum is r after the paper's division of each map "
        "by its sum, flipped the share of maps that it turns round.",
        modes=(
            Mode("front_to_back", "Front to back", "Rm layers", "L:{}"),
            Mode("back_to_front", "Back to front", "Rm layers", "L{}:", descending=True),
            Mode("single", "Single layer", "Rm layer", "L{}"),
        ),
        columns=(
            Column("LOO r", "bypass_gain.{}", 2, "higher"),
            Column("r/sum", "bypass_gain.{}_sum_normalized", is_extra=True),
            Column("flipped", "bypass_gain.{}_sign_flipped", is_extra=True),
            Column("LeRF", "bypass_perturbation.{}_lerf", 2, "higher"),
            Column("MoRF", "bypass_perturbation.{}_morf", 2, "lower"),
            Column("Δ", "bypass_perturbation.{}_delta", 2, "higher"),
        ),
        baselines={
            "LOO r": ("loo_correlation.pearson.mean", "bypass_gain.none.mean"),
            "Δ": ("perturbation.delta.mean", "bypass_perturbation.none.mean"),
        },
        figure=LayerFigure(
            name="figure-2",
            caption="Figure 2: bypassing the softmax in the backward pass of the first layers up to k, of the last "
            "ones from k on, or of layer k alone. Solid lines are ours with their intervals; dashed ones are the "
            "paper's, in the same panel where its model has as many layers. Panels of equally many layers share their "
            "axes. To see: where a line lies above the dotted one, bypassing helps; the paper's single layers do so "
            "in the middle and late ones.",
            alternative="LOO r and the difference of the perturbation areas as layers' softmax is bypassed: front to "
            "back, back to front and one at a time. The same numbers are in Table A3.",
            axes={"LOO r": "Pearson r with LOO", "Δ": "Δ = LeRF − MoRF"},
            baseline="no bypass (AttnLRP)",
        ),
    ),
}

PAPER = Paper(
    "you2025",
    "You et al. 2025",
    name="When LRP Diverges from Leave-One-Out in Transformers",
    methods=METHODS,
    tables=TABLES,
    claims=CLAIMS,
)
