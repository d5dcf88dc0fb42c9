"""Words that a reader of a report may not know, and links to them where they first appear."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from axioms.report.page.outcomes import anchor_of

WORDS = {
    "LRP": "Layer-wise Relevance Propagation: the output is handed back through the network, layer by layer, by a rule "
    "for each operation, until every input feature has its share.",
    "AttnLRP": "LRP whose rules cross the attention's softmax and split every product half and half (Achtibat et al.).",
    "CP-LRP": "LRP that takes attention weights as constants: all relevance of a product goes to the values, none "
    "through the softmax (Ali et al.).",
    "LOO": "Leave-one-out: how much the output falls when one feature is removed. What most others are compared with.",
    "LOO r": "Pearson's correlation of a method's relevance with leave-one-out, over the features of one example.",
    "IG": "Integrated Gradients: the gradient, averaged on the straight way from a baseline to the input.",
    "Gradient x Input": "The gradient of the output times the input; the simplest attribution.",
    "MoRF": "Most relevant first: the mean output while features are removed, the most relevant first. Low is good.",
    "LeRF": "Least relevant first: the same, the least relevant first. High is good.",
    "Δ": "LeRF minus MoRF: the area between the two curves. High is good.",
    "softmax": "What turns attention scores into weights. Bypassing it in the backward pass makes them constants.",
    "method": "A function from a model and its input to one relevance per feature.",
    "subject": "What is attributed: a model, or a pair of models that compute the same function, with its inputs.",
    "axiom": "A property that a method should have, with a metric that says how far it is from it.",
    "claim": "The sentence that a spec stands for. It is shown, contradicted (the interval excludes it the other way), "
    "not shown (neither), or not run.",
    "interval": "The 95% bootstrap interval of a mean over the examples, unless a spec asks for another level.",
    "rewrite": "A change of a model's code that changes none of its outputs, such as permuting heads.",
    "baseline": "The numbers of the last accepted run. A number that moved further than it may has drifted.",
}
AXIOMS = {
    "implementation_invariance": "Two models that compute the same function get the same relevance.",
    "forward_equivalence": "The two models of a pair do compute the same function.",
    "conservation": "The relevance of all features adds up to the output.",
    "completeness": "The relevance of all features adds up to what the output has more than a stated baseline's.",
    "linearity": "The relevance of a weighted sum of two outputs is the same sum of their relevances.",
    "antisymmetry": "What speaks for one output over another speaks against the other, by as much.",
    "scale": "An output that is multiplied by a number has its relevance multiplied by it.",
    "null_player": "A feature that never changes the output gets no relevance.",
    "sensitivity": "A feature that alone changes the output gets some relevance.",
    "symmetry": "Two features that can be swapped, and have the same value, get the same relevance.",
    "path_antisymmetry": "Going back from the input to the baseline has the relevance of going there, with a minus.",
    "target_sensitivity": "Two outputs that depend on the features differently have different relevance.",
    "known_answer": "On a built subject, the relevance is the Shapley values, or leave-one-out, known in closed form.",
    "loo_correlation": "The relevance agrees with leave-one-out, feature by feature.",
    "perturbation": "Removing features by their relevance, most or least relevant first, tells them apart.",
    "sensitivity_n": "Removing any n features takes from the output what they have together.",
    "faithfulness_correlation": "The more relevance a random set of features has, the more its removal takes.",
    "infidelity": "How far, in mean square, relevance is from what removing random sets takes. Low is good.",
    "lds": "Relevance ranks what is left after random removals as the model does: the linear datamodeling score.",
    "comprehensiveness": "How far the prediction falls without the most relevant tokens. High is good.",
    "sufficiency": "How far the prediction falls with the most relevant tokens alone. Low is good.",
    "normalized_aopc": "The area over the perturbation curve, between that of the worst and of the best order.",
    "max_sensitivity": "How far the relevance moves at most when the input moves a little. Low is good.",
    "local_lipschitz": "The same, by how far the input moved.",
    "relative_stability": "The same in shares: of the relevance by the share of the input, or by the outputs' change.",
    "random_logit": "How alike the relevance of two classes is.",
    "randomization": "How alike the relevance is after layers of the model are replaced by noise.",
    "patching_correlation": "The relevance of heads, MLP outputs and others agrees with patching each of them.",
    "insertion_deletion": "Inserting or deleting features by their relevance moves the predicted probability.",
    "ground_truth": "The most relevant token is one of the known evidence: the subject of the sentence.",
    "relevance": "The relevance is the numbers that were worked out by hand.",
    "bypass_gain": "What bypassing the softmax of some layers adds to the agreement with leave-one-out.",
    "bypass_perturbation": "The same for the area between the perturbation curves.",
    "attention_flatness": "How even the attention of each layer is.",
    "sink_share": "The token that attention rests on gets as much relevance as its removal takes.",
    "purity": "Attributing leaves the model as it was: its outputs before and after are the same.",
    "batch_invariance": "An example gets the same relevance alone and in a batch.",
    "padding_invariance": "An example gets the same relevance with and without padding.",
    "backend_invariance": "Eager and fused attention give the same relevance.",
    "precision": "float32 gives nearly the relevance of float64.",
    "engine_agreement": "Two engines that share no rule give the same relevance.",
    "ledger": "Everything that relevance lost on its way is accounted for.",
    "cost": "What a method costs, in passes: forward and backward through the model.",
    "task": "How well the model does its task.",
    "chance": "What picking a token at random would score.",
}


def entries() -> dict[str, tuple[str, str]]:
    """Return every word with its anchor and its meaning: words first, then axioms, each in order."""
    return {word: (term_anchor(word), meaning) for word, meaning in {**WORDS, **AXIOMS}.items()}


def term_anchor(word: str) -> str:
    """Return the id of a word in the glossary."""
    return f"term-{anchor_of(word.replace('Δ', 'delta')).lower()}"


LINK = Markup('<a class="term" href="#{}">{}</a>')


class Explainer:
    """Links words to the glossary, each where it first appears on the page."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        words = sorted(entries(), key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])")

    def __call__(self, text: str) -> Markup:
        """Return the text as HTML, with links at words that the page has not explained yet."""
        parts = []
        for number, part in enumerate(self._pattern.split(text)):
            is_new = number % 2 == 1 and part not in self._seen
            self._seen |= {part} if is_new else set()
            parts.append(LINK.format(term_anchor(part), part) if is_new else escape(part))
        return Markup("").join(parts)
