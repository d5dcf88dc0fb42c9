"""A counterexample as a spec that reproduces it."""

from __future__ import annotations

from pathlib import Path

from axioms.search.falsify import Counterexample


def spec_text(counterexample: Counterexample) -> str:
    """Return a spec that reproduces the counterexample: it passes while the method violates the axiom."""
    example = counterexample.example
    beside = "loo" if counterexample.method == "gradient_x_input" else "gradient_x_input"
    inputs = ", ".join(example.point)
    point = ", ".join(f"{value:g}" for value in example.point.values())
    return f"""\
# yaml-language-server: $schema=../../axioms/spec/schema.json
claim: "{counterexample.method} tells {example.left} from {example.right}, which is the same function."
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


def write_spec(counterexample: Counterexample, folder: Path) -> Path:
    """Write the spec into a folder, under the name of the method and the step."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{counterexample.method.replace(':', '_')}_{counterexample.example.step}.yaml"
    file.write_text(spec_text(counterexample), encoding="utf-8")
    return file
