"""Perturbation curves: what becomes of the output while features go, by method. Imports matplotlib when it draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from axioms.report.drawing import SETTINGS, look, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]

PANELS = {
    "perturbation": {"morf_curve": "most relevant first (MoRF)", "lerf_curve": "least relevant first (LeRF)"},
    "insertion_deletion": {"deletion_curve": "deletion", "insertion_curve": "insertion"},
}
"""By axiom: its curves and what their panels are called."""
AXES = {"perturbation": "mean output", "insertion_deletion": "mean probability"}


class Curves(NamedTuple):
    """The mean curves of one spec under one axiom, on one side of its pair."""

    spec: str
    axiom: str
    side: str
    panels: dict[str, dict[str, list[float]]]
    """By curve and method: the means over the examples, on an even grid from 0 to 1."""

    @property
    def name(self) -> str:
        """Of its file."""
        return "-".join(part for part in ("curves", Path(self.spec).stem, self.axiom, self.side) if part)


def curves_of(records: Sequence[Record]) -> list[Curves]:
    """The curves among the records of a run."""
    found: dict[tuple[str, str, str], Curves] = {}
    for record in records:
        if record["axiom"] not in PANELS or record["than"] is not None:
            continue
        for name, rows in record["values"].items():
            side, _, curve = name.rpartition(".")
            known = [row for row in rows if isinstance(row, list) and None not in row]
            if curve in PANELS[record["axiom"]] and known:
                key = (record["spec"], record["axiom"], side)
                mine = found.setdefault(key, Curves(*key, {}))
                means = [sum(column) / len(known) for column in zip(*known, strict=True)]
                mine.panels.setdefault(curve, {})[record["method"]] = means
    return list(found.values())


def save_curves(records: Sequence[Record], folder: Path) -> dict[Path, Curves]:
    """Draw the curves of every spec that measured some; the SVG files that were written."""
    every = curves_of(records)
    if not every:
        return {}
    import matplotlib

    written = {}
    with matplotlib.rc_context(SETTINGS):
        for curves in every:
            (file,) = save(_figure(curves), folder, curves.name, ("svg",))
            written[file] = curves
    return written


def _figure(curves: Curves) -> Figure:
    from matplotlib.figure import Figure

    titles = {name: title for name, title in PANELS[curves.axiom].items() if name in curves.panels}
    figure = Figure(figsize=(3.7 * len(titles) + 0.4, 3.7), layout="constrained")
    panels = figure.subplots(1, len(titles), squeeze=False, sharey=True)[0]
    methods = list(dict.fromkeys(method for lines in curves.panels.values() for method in lines))
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        _draw(axes, curves.panels[name], methods)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("share of the features")
    panels[0].set_ylabel(AXES[curves.axiom])
    handles = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw(axes: Axes, lines: dict[str, list[float]], methods: Sequence[str]) -> None:
    for method, means in lines.items():
        shares = [step / (len(means) - 1) for step in range(len(means))]
        style = look(methods.index(method))
        axes.plot(shares, means, "-", markersize=4, markevery=4, linewidth=1.5, label=method, **style)
