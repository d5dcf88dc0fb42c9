"""How the tables of a paper are laid out: which metric stands where. Plain values; nothing is imported for them.

A spec names the table that it feeds, and the block of it: `table: {name: table-2, block: SST}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PAPER = "You et al. 2025"


@dataclass(frozen=True)
class Column:
    """One column of numbers."""

    title: str
    metric: str
    """Axiom and full metric: `loo_correlation.pearson.mean`. In a table of layers `{}` stands for the mode."""
    digits: int = 2
    better: Literal["higher", "lower"] | None = None
    """Which way is better, where the paper marks first and second place."""
    interval: bool = False
    """Whether the interval is shown (the CSV always has it)."""
    unranked: tuple[str, ...] = ()
    """Methods that take no place: leave-one-out's correlation with itself."""


@dataclass(frozen=True)
class MethodLayout:
    """Methods down, metrics across; a block of rows for each spec."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    corner: str = "Method"
    """What stands above the names of the methods."""
    variants: str | None = None
    """The heading above the LRP variants, where the paper has one."""
    note: str = ""
    """What a reader must know of its cells."""


@dataclass(frozen=True)
class Mode:
    """One way to choose the layers whose softmax is bypassed."""

    metric: str
    """As the sweep's vectors call it: their entry k (from 1) is the setting that `label` names with k."""
    title: str
    heading: str
    label: str
    descending: bool = False
    """Whether the paper lists the last layer first."""


@dataclass(frozen=True)
class LayerLayout:
    """Layers down, modes across with their metrics side by side; a block of rows for each spec."""

    title: str
    caption: str
    modes: tuple[Mode, ...]
    columns: tuple[Column, ...]
    baselines: dict[str, tuple[str, ...]]
    """By a column's title, where the same spec may have measured the method without any bypass."""
    figure: str
    """The figure of the same numbers: a row of panels for each column that has a baseline."""


METHOD_NAMES = {
    "loo": "LOO",
    "integrated_gradients": "IG",
    "attention_rollout": "AttentionRollout",
    "gradient_x_input": "Gradient x Input",
    "random": "Random",
    "attnlrp": "AttnLRP",
    "cp_lrp": "CP-LRP",
}
"""The paper's names, in the paper's order; methods that it does not have keep their label and come after."""

LAYOUTS: dict[str, MethodLayout | LayerLayout] = {
    "table-1": MethodLayout(
        title="Table 1",
        caption="Implementation invariance and agreement with leave-one-out in bilinear layers. "
        "L is (QK')V, R is Q(K'V); Pearson's r of maps that are normalized to sum to one.",
        columns=(
            Column("L vs R", "implementation_invariance.pearson_sum_normalized.mean", 4),
            Column("L vs LOO", "loo_correlation.left.pearson_sum_normalized.mean", 4),
            Column("R vs LOO", "loo_correlation.right.pearson_sum_normalized.mean", 4),
        ),
        corner="Explainer",
    ),
    "table-2": MethodLayout(
        title="Table 2",
        caption="Baselines on attribution metrics.",
        columns=(
            Column("LOO r", "loo_correlation.pearson.mean", 2, "higher", interval=True, unranked=("loo",)),
            Column("LeRF", "perturbation.lerf.mean", 2, "higher"),
            Column("MoRF", "perturbation.morf.mean", 2, "lower"),
            Column("Δ", "perturbation.delta.mean", 2, "higher", interval=True),
        ),
        variants="LRP VARIANTS",
        note="LOO's correlation with itself takes no place.",
    ),
    "table-a3": LayerLayout(
        title="Table A3",
        caption="Layer-wise effects of bypassing the softmax in the backward pass. "
        "L:3 means layers 1 to 3, L7: means layers 7 to the last.",
        modes=(
            Mode("front_to_back", "Front to back", "Rm layers", "L:{}"),
            Mode("back_to_front", "Back to front", "Rm layers", "L{}:", descending=True),
            Mode("single", "Single layer", "Rm layer", "L{}"),
        ),
        columns=(
            Column("LOO r", "bypass_gain.{}", 2, "higher"),
            Column("LeRF", "bypass_perturbation.{}_lerf", 2, "higher"),
            Column("MoRF", "bypass_perturbation.{}_morf", 2, "lower"),
            Column("Δ", "bypass_perturbation.{}_delta", 2, "higher"),
        ),
        baselines={
            "LOO r": ("loo_correlation.pearson.mean", "bypass_gain.none.mean"),
            "Δ": ("perturbation.delta.mean", "bypass_perturbation.none.mean"),
        },
        figure="figure-2",
    ),
}
