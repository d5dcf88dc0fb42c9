"""The catalogue of axioms as a page: what each says, who proposed it, which methods break it and where.

python -m axioms.search.catalogue > docs/axioms.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from axioms.search.peers import CAPTUM, QUANTUS

INVARIANCE = "implementation_invariance"
EXACT = {
    INVARIANCE: "Sundararajan et al. 2017",
    "linearity": "Sundararajan et al. 2017; Shapley 1953",
    "antisymmetry": "a case of linearity",
    "scale": "a case of linearity",
    "null_player": "Shapley 1953; Friedman 2004; Sundararajan et al. 2017",
    "sensitivity": "Sundararajan et al. 2017",
    "symmetry": "Shapley 1953; Sundararajan et al. 2017",
    "completeness": "Sundararajan et al. 2017",
    "path_antisymmetry": "ours, from the formula of Integrated Gradients",
    "target_sensitivity": "Sixt et al. 2020",
}
"""Axioms that hold exactly or not at all, in the page's order, and who proposed them."""
MEASURED = {
    "conservation": "Bach et al. 2015",
    "known_answer": "Shapley 1953; Lee et al. 2025",
    "sensitivity_n": "Ancona et al. 2018",
    "faithfulness_correlation": "Bhatt et al. 2020",
    "infidelity": "Yeh et al. 2019",
    "lds": "Park et al. 2023; Cohen-Wang et al. 2024",
    "comprehensiveness": "DeYoung et al. 2020",
    "sufficiency": "DeYoung et al. 2020",
    "normalized_aopc": "Edin et al. 2024",
    "max_sensitivity": "Yeh et al. 2019",
    "local_lipschitz": "Alvarez-Melis & Jaakkola 2018",
    "relative_stability": "Agarwal et al. 2022",
    "random_logit": "Sixt et al. 2020",
    "randomization": "Adebayo et al. 2018; Hedstroem et al. 2024",
    "patching_correlation": "Nanda 2023; Kramar et al. 2024; Jafari et al. 2025",
    "loo_correlation": "Alvarez-Melis & Jaakkola 2018; You et al. 2025",
    "perturbation": "Samek et al. 2017",
    "insertion_deletion": "Petsiuk et al. 2018",
    "ground_truth": "Arras et al. 2025",
    "chance": "Arras et al. 2025",
    "bypass_gain": "You et al. 2025",
    "bypass_perturbation": "You et al. 2025",
    "attention_flatness": "You et al. 2025",
    "sink_share": "ours; sinks: Xiao et al. 2024",
    "relevance": "ours: a number worked out by hand",
    "task": "Arras et al. 2025",
    "cost": "Arras et al. 2025",
}
"""Axioms of which a number is reported, and who proposed them."""
ENGINEERING = {
    "purity": "ours",
    "batch_invariance": "ours",
    "padding_invariance": "ours",
    "backend_invariance": "implementation invariance, of two codes of attention",
    "precision": "ours",
    "engine_agreement": "Arras et al. 2025, Appendix D",
    "ledger": "ours",
    "forward_equivalence": "the condition of implementation invariance",
}
"""What must hold of any implementation, whatever the method, and where it comes from."""
ABOUT = """\
# The catalogue of axioms

*Generated from the docstrings of the axioms and from `specs/found/` by `python -m axioms.search.catalogue`.*

An exact axiom holds or does not; `axioms falsify --method NAME --axiom NAME` searches small expressions, and then small
attention blocks, for the smallest one that breaks it, and writes it as a spec. Every break below is such a spec, and
`pytest specs/found` repeats them all. "None found" is what a search of 120 expressions and 60 blocks says (150 and 30
for implementation invariance), with seed 0: no proof. Integrated Gradients breaks completeness by the error of its
twenty nodes alone; no method of ours keeps it to the last digit everywhere. `degree_lrp` breaks implementation
invariance on a sum of unequal degrees (`specs/remedies.yaml`), which the search did not draw. Where two tokens are
equal attention is flat, whatever multiplies its keys: gradients, and so Integrated Gradients, give both outputs the
same map, although leaving a token out changes them differently. The methods are those of `specs/_axioms.yaml`.
`specs/axioms_*.yaml` state the same on one subject for each axiom, with reasons; `specs/known_answers.yaml` compares
methods with Shapley values and leave-one-out in closed form.
"""


@dataclass(frozen=True)
class Shown:
    """One counterexample of `specs/found`."""

    method: str
    where: str
    file: str


def page(root: Path) -> str:
    """Return the catalogue of a checkout as Markdown."""
    methods: list[str] = yaml.safe_load((root / "specs" / "_axioms.yaml").read_text())["methods"]
    shown = {axiom: sorted(_shown(root, axiom), key=lambda broken: methods.index(broken.method)) for axiom in EXACT}
    parts = [ABOUT, "## Exact axioms\n", *_exact_rows(methods, shown), ""]
    for title, group in (("Measured", MEASURED), ("Of any implementation", ENGINEERING)):
        parts += [f"## {title}\n", "| axiom | what it says | proposed by |", "|---|---|---|"]
        parts += [*(f"| `{axiom}` | {_says(axiom)} | {source} |" for axiom, source in group.items()), ""]
    parts += [*_peer_rows(), ""]
    parts += [
        "## Counterexamples\n",
        "| axiom | method | the smallest that was found | spec |",
        "|---|---|---|---|",
    ]
    for axiom, breaks in shown.items():
        parts += [
            f"| `{axiom}` | `{broken.method}` | {_plain(broken.where)} | `specs/found/{broken.file}` |"
            for broken in breaks
        ]
    return "\n".join(parts) + "\n"


def _exact_rows(methods: list[str], shown: dict[str, list[Shown]]) -> Iterator[str]:
    yield "| axiom | what it says | proposed by | none found for | broken by | smallest counterexample |"
    yield "|---|---|---|---|---|---|"
    for axiom, source in EXACT.items():
        breaking = {broken.method for broken in shown[axiom]}
        keeps = ", ".join(f"`{name}`" for name in methods if name not in breaking) or "nobody"
        breaks = ", ".join(f"`{name}`" for name in methods if name in breaking) or "nobody"
        smallest = min(shown[axiom], key=lambda broken: len(broken.where))
        yield (
            f"| `{axiom}` | {_says(axiom)} | {source} | {keeps} | {breaks} | "
            f"`{smallest.method}` on {_plain(smallest.where)} |"
        )


def _peer_rows() -> Iterator[str]:
    yield "## Beside captum 0.9 and Quantus 0.6\n"
    yield "Every metric of theirs. What is here too is compared on the same model, input and perturbations by"
    yield "`tests/properties/test_peers_*.py`: equal to 1e-6, but for what the last column says.\n"
    yield "| theirs | here | in what they differ |"
    yield "|---|---|---|"
    for package, metrics in (("captum", CAPTUM), ("quantus", QUANTUS)):
        for peer in metrics:
            ours = f"`{peer.ours}`" if peer.ours else ""
            yield f"| `{package}` {_plain(peer.name)} | {ours} | {peer.relation or 'equal'} |"


def _shown(root: Path, axiom: str) -> Iterator[Shown]:
    """Yield the counterexamples to an axiom."""
    for file in sorted((root / "specs" / "found").glob("*.yaml")):
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))
        check = spec["checks"][0]
        if check["axiom"] == axiom:
            yield Shown(next(iter(check["violated_by"])), _where(spec), file.name)


def _where(spec: dict[str, Any]) -> str:
    """Return the expressions of a spec and the point, as a phrase."""
    subject = spec["subject"]
    sides = [subject["model"]] if "model" in subject else [subject["pair"]["left"], subject["pair"]["right"]]
    texts = [side["expression"]["values"] for side in sides]
    words = texts if len(sides) > 1 else texts[0] if isinstance(texts[0], list) else texts
    names = sides[0]["expression"]["inputs"]
    at = ", ".join(f"{name} = {value:g}" for name, value in zip(names, subject["data"]["points"][0], strict=True))
    return f"{' and '.join(words)} at {at}"


def _says(axiom: str) -> str:
    """Return the first line of an axiom's module."""
    documentation = import_module(f"axioms.properties.{axiom}").__doc__ or ""
    return _plain(documentation.split("\n", 1)[0])


def _plain(text: str) -> str:
    """Return text in which nothing means anything to Markdown."""
    return "".join(f"\\{sign}" if sign in r"\*_|[]<>`" else sign for sign in text)


if __name__ == "__main__":
    sys.stdout.write(page(Path()))
