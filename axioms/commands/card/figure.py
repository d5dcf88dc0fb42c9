"""LOO r against cost as a picture, light or dark as its reader prefers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from axioms.commands.card.tables import Plane
from axioms.report.figures_methods import Point, front

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 20, 52
LINE = 17
"""Height of a label."""
LETTER = 7.4
"""Width of a letter of a label, on average."""
STYLE = """
.plane { --ink: #1a1d21; --soft: #545b64; --rule: #d5d9df; --own: #b3400a; --other: #0b57a4; --paper: #ffffff;
  font: 13px system-ui, "Segoe UI", Roboto, sans-serif }
@media (prefers-color-scheme: dark) {
  .plane { --ink: #e8eaed; --soft: #aab2bb; --rule: #3a4149; --own: #ffb26b; --other: #8fc3ff; --paper: #14171a } }
.plane text { fill: var(--soft) } .plane .label { fill: var(--ink) }
.plane .own.label { fill: var(--own); font-weight: 700 } .plane circle { fill: var(--other) }
.plane circle.own { fill: var(--own) } .plane .bar { stroke: var(--other); stroke-width: 1.5 }
.plane .own.bar { stroke: var(--own); stroke-width: 2.5 } .plane .grid { stroke: var(--rule) }
.plane .front { fill: none; stroke: var(--soft); stroke-dasharray: 4 4 } .plane .lead { stroke: var(--rule) }
@media print { .plane { --ink: #000; --soft: #444; --rule: #bbb; --own: #b3400a; --other: #0b57a4 } }
"""


class Scale:
    """Where passes (on a logarithmic axis) and r stand in the picture."""

    def __init__(self, points: Sequence[Point]) -> None:
        """Fit both axes to the points and their intervals."""
        costs = [point.passes for point in points]
        self.least, self.most = 0.4 * min(1.0, *costs), max(2.0, *costs) * 1.15
        ends = [end for point in points for end in (point.interval or (point.r,))]
        self.low = min(0.0, math.floor(5 * min(ends)) / 5)

    def x(self, passes: float) -> float:
        """Return the distance from the left."""
        share = math.log(passes / self.least) / math.log(self.most / self.least)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, r: float) -> float:
        """Return the distance from the top."""
        return TOP + (1 - r) / (1 - self.low) * (HEIGHT - TOP - BOTTOM)

    @property
    def costs(self) -> list[int]:
        """The passes that the axis names."""
        return [cost for cost in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if self.least <= cost <= self.most]

    @property
    def heights(self) -> list[float]:
        """The values of r that the axis names."""
        step = 0.2 if self.low > -0.5 else 0.5
        return [round(1 - step * number, 1) for number in range(round((1 - self.low) / step) + 1)]


def draw_plane(plane: Plane, method: str) -> str:
    """Return the picture as SVG: one point for each method, the card's in another colour, with intervals of r."""
    scale = Scale(plane.points)
    described = ", ".join(f"{point.method} {point.r:.2f} at {point.passes:.1f} passes" for point in plane.points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plane" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="LOO r against cost: {escape(described)}"><style>{STYLE}</style>',
        *_axes(scale),
        _front(plane.points, scale),
        *(_mark(point, scale, point.method == method) for point in plane.points),
        *_labels(plane.points, scale, method),
        "</svg>",
    ]
    return "\n".join(parts)


def _axes(scale: Scale) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for r in scale.heights:
        y = scale.y(r)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{r:.1f}</text>')
    for cost in scale.costs:
        x = scale.x(cost)
        parts.append(f'<path class="grid" d="M{x:.1f} {bottom}v5"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{cost}</text>')
    middle = (TOP + bottom) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">mean LOO r</text>'
    )
    label = "cost in passes (time over that of CP-LRP, logarithmic)"
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{label}</text>')
    return parts


def _front(points: Sequence[Point], scale: Scale) -> str:
    """Join the methods that none beats in both: nothing is cheaper with as high an r."""
    best = front(points)
    steps = [f"M{scale.x(best[0].passes):.1f} {scale.y(best[0].r):.1f}"]
    steps += [f"H{scale.x(point.passes):.1f}V{scale.y(point.r):.1f}" for point in best[1:]]
    return f'<path class="front" d="{"".join(steps)}H{WIDTH - RIGHT}"/>'


def _mark(point: Point, scale: Scale, is_own: bool) -> str:
    x, y, kind = scale.x(point.passes), scale.y(point.r), " own" if is_own else ""
    bar = ""
    if point.interval is not None:
        low, high = (scale.y(end) for end in point.interval)
        bar = f'<path class="bar{kind}" d="M{x:.1f} {high:.1f}V{low:.1f}"/>'
    return f'{bar}<circle class="{kind.strip()}" cx="{x:.1f}" cy="{y:.1f}" r="{6 if is_own else 4.5}"/>'


def _labels(points: Sequence[Point], scale: Scale, method: str) -> list[str]:
    """Write each name beside its point, on the side with more room, and below another label where they would meet."""
    placed: list[tuple[float, float, float]] = []
    parts = []
    for point in sorted(points, key=lambda point: -point.r):
        text = f"{point.method} {point.r:.2f}"
        x, y, width = scale.x(point.passes), scale.y(point.r), LETTER * len(text)
        is_crowded = any(0 < scale.x(other.passes) - x < 60 and abs(scale.y(other.r) - y) < 60 for other in points)
        is_left = x + 12 + width > WIDTH - 4 or (is_crowded and x - 12 - width > LEFT)
        start = x - 12 - width if is_left else x + 12
        height = y - 7  # above the line that may lead through the point
        while any(start < end and begin < start + width and abs(height - other) < LINE for begin, end, other in placed):
            height += 2
        placed.append((start, start + width, height))
        if height - y > 2 * LINE:
            edge = x - 10 if is_left else x + 10
            parts.append(f'<path class="lead" d="M{x:.1f} {y:.1f}L{edge:.1f} {height - 4:.1f}"/>')
        anchor, at = ("end", x - 12) if is_left else ("start", x + 12)
        kind = "own label" if point.method == method else "label"
        parts.append(f'<text class="{kind}" x="{at:.1f}" y="{height:.1f}" text-anchor="{anchor}">{escape(text)}</text>')
    return parts
