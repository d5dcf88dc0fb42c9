"""The part of the suite that a card shows, in the order in which it is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from axioms.core.suite import suite_specs
from axioms.spec import Check, MethodRef, expand_file
from axioms.spec.added import about, added_checks

OWN_SPECS = Path(__file__).parent / "specs"
"""What no spec of the suite asks: perturbation on agreement sentences, and leave-one-out on families of tiny models."""
FAMILIES = ("bert", "gpt2", "llama", "modernbert", "mamba", "vit")
ALWAYS = ("purity", "batch_invariance", "padding_invariance", "backend_invariance", "precision")
INVARIANCE = ("implementation_invariance",)
CURVES = ("loo_correlation", "perturbation")


@dataclass(frozen=True)
class Part:
    """Some axioms of one spec."""

    spec: str
    """The stem of its file in the suite, or among the card's own."""
    axioms: tuple[str, ...]
    is_compared: bool = False
    """Whether the other methods are measured too."""
    is_judged: bool = True
    """Whether the bounds of the spec are an axiom; else its numbers are shown, and no verdict."""
    subjects: tuple[str, ...] = ()
    """Labels of the spec's subjects; all of them where none is named."""

    @property
    def file(self) -> Path:
        """The spec."""
        own = OWN_SPECS / f"{self.spec}.yaml"
        return own if own.is_file() else suite_specs() / own.name

    @property
    def name(self) -> str:
        """What its checks are called after: `specs/sentiment.yaml`, as where pytest runs the suite."""
        return f"{'card' if self.file.parent == OWN_SPECS else 'specs'}/{self.spec}.yaml"


PARTS = (
    Part("scalar_product", ("implementation_invariance", "conservation")),
    Part("invariance_matrix", INVARIANCE),
    Part("invariance_matrix_gpt2", INVARIANCE),
    Part("invariance_matrix_llama", INVARIANCE),
    Part("invariance_matrix_relu_net", INVARIANCE),
    Part("invariance_matrix_linear_attention", INVARIANCE),
    Part("engines", ("engine_agreement", "ledger")),
    Part("always", ALWAYS, subjects=FAMILIES),
    Part("remedies_agreement", ("conservation",), is_compared=True),
    Part("agreement", ("ground_truth",), is_compared=True, is_judged=False),
    Part("remedies_minilm", ("loo_correlation", "conservation", "cost"), is_compared=True, is_judged=False),
    Part("remedies_agreement", ("loo_correlation", "cost"), is_compared=True, is_judged=False),
    Part("families", CURVES, is_compared=True, is_judged=False),
    Part("agreement_curves", ("perturbation",), is_compared=True, is_judged=False),
    Part("linear_attention", INVARIANCE),
    Part("sentiment", ("loo_correlation",), is_compared=True, is_judged=False),
    Part("linear_attention", ("loo_correlation",), is_compared=True, is_judged=False),
    Part("linear_attention", ("perturbation",), is_compared=True, is_judged=False),
    Part("sentiment", ("perturbation",), is_compared=True, is_judged=False),
)
"""What says most in little time comes first: what there is no time for is at the end."""


def checks_of(part: Part, methods: Sequence[MethodRef]) -> list[Check]:
    """Return the checks of a part for these methods, whether its spec names them or not.

    A method that is given without options has those of the spec, where the spec names it. What the spec says that no
    method can be asked on a subject (`not_defined`) is left out.
    """
    every = [check for check in expand_file(part.file).checks if check.method is not None and check.comparison is None]
    every = [check for check in every if check.function in part.axioms]
    askable = {about(check) for check in every if not check.refusal}
    given = {method.label: method for method in methods}
    named = [check for check in every if _is_as_given(check, given)]
    added = [check for check in added_checks(named, methods) if check.method is not None]
    ordered = sorted(
        [*named, *added], key=lambda check: list(given).index(label_of(check)) if label_of(check) in given else -1
    )
    return [
        check
        for check in ordered
        if label_of(check) in given
        and (about(check) in askable or check.rewrite is not None)
        and (not part.subjects or check.label in part.subjects)
    ]


def label_of(check: Check) -> str:
    """Return the label of the check's method."""
    assert check.method is not None
    return check.method.label


def _is_as_given(check: Check, given: dict[str, MethodRef]) -> bool:
    """Tell whether a check of the spec can stand: its method is another one, or was given without other options."""
    assert check.method is not None
    method = given.get(check.method.label)
    return method is None or not method.options or method == check.method
