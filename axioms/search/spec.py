"""A counterexample as a spec that reproduces it."""

from __future__ import annotations

import os
from pathlib import Path

from axioms.search.breaks import Break
from axioms.search.falsify import Counterexample

SCHEMA = Path("axioms", "spec", "schema.json")
"""What an editor checks a spec of a checkout by."""


def spec_text(counterexample: Counterexample) -> str:
    """Return a spec that reproduces the counterexample: it passes while the method violates the axiom."""
    example = counterexample.example
    beside = "loo" if counterexample.method == "gradient_x_input" else "gradient_x_input"
    inputs = ", ".join(example.point)
    point = ", ".join(f"{value:g}" for value in example.point.values())
    return f"""\
claim: "{counterexample.method} tells {example.left} from {example.right}, which is the same function."
decided_by: all
source: "axioms falsify --method {counterexample.method}"
note: "Found by {example.step}."
subject:
  pair:
    left: {{expression: {{values: "{example.left}", inputs: [{inputs}]}}}}
    right: {{expression: {{values: "{example.right}", inputs: [{inputs}]}}}}
  data: {{points: [[{point}]]}}
  target: 0
run: {{dtype: float64}}
methods: [{beside}, "{counterexample.method}"]
checks:
  - axiom: implementation_invariance
    violated_by: {{"{counterexample.method}": {{relative_gap.max: {{approx: {counterexample.gap:.9g}, abs: 1e-6}}}}}}
  - axiom: relevance
    methods: ["{counterexample.method}"]
    expect:
      left: {{equals: {[round(score, 12) for score in counterexample.left.values()]}}}
      right: {{equals: {[round(score, 12) for score in counterexample.right.values()]}}}
"""


def break_text(broken: Break) -> str:
    """Return a spec that reproduces the break of an axiom of one model: it passes while the method breaks the axiom."""
    values = ", ".join(f'"{text}"' for text in broken.expressions)
    values = values if len(broken.expressions) == 1 else f"[{values}]"
    methods = ", ".join(f'"{name}"' for name in (broken.witness, broken.method) if name is not None)
    return f"""\
claim: "{broken.method} breaks {broken.axiom} on {" and ".join(broken.expressions)}."
decided_by: all
source: "axioms falsify --method {broken.method} --axiom {broken.axiom}"
subject:
  model: {{expression: {{values: {values}, inputs: [{", ".join(broken.point)}]}}}}
  data: {{points: [[{", ".join(f"{value:g}" for value in broken.point.values())}]]}}
  target: 0
run: {{dtype: float64}}
methods: [{methods}]
checks:
  - axiom: {broken.axiom}
    violated_by: {{"{broken.method}": {{{broken.metric}.max: {{approx: {broken.value:.9g}, abs: 1e-6}}}}}}
  - axiom: relevance
    methods: ["{broken.method}"]
    expect: {{scores: {{equals: {[round(score, 12) for score in broken.relevance.values()]}}}}}
"""


def write_spec(counterexample: Counterexample | Break, folder: Path) -> Path:
    """Write the spec into a folder, under the name of the method, and of the step or the axiom."""
    if isinstance(counterexample, Break):
        what, text = counterexample.axiom, break_text(counterexample)
    else:
        what, text = counterexample.example.step, spec_text(counterexample)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{counterexample.method.replace(':', '_')}_{what}.yaml"
    file.write_text(_schema_line(folder) + text, encoding="utf-8")
    return file


def _schema_line(folder: Path) -> str:
    """Return the line that leads an editor to the schema of this checkout; nothing where there is none."""
    if not SCHEMA.is_file():
        return ""
    return f"# yaml-language-server: $schema={Path(os.path.relpath(SCHEMA, folder)).as_posix()}\n"
