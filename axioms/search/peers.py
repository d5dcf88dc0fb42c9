"""What Quantus 0.6 and captum 0.9 measure, and what of it is here; compared by tests/properties/test_peers_*.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A metric of another package, and what it is here."""

    name: str
    """As it is imported."""
    ours: str
    """The axiom and its metric, with a dot between; empty where we have none."""
    relation: str
    """In what the two differ, or why there is none; empty where they are equal to 1e-6 on the same perturbations."""


CAPTUM = (
    Peer("infidelity", "infidelity.infidelity", "ours is its `multiply_by_inputs=True`: relevance is no slope"),
    Peer("infidelity(normalize=True)", "infidelity.scaled", ""),
    Peer("sensitivity_max", "max_sensitivity.relative", ""),
)
IMAGES = "none: it is about patches or segments of an image"
QUANTUS = (
    Peer("FaithfulnessCorrelation", "faithfulness_correlation.pearson", ""),
    Peer("FaithfulnessEstimate", "loo_correlation.pearson", ""),
    Peer("PixelFlipping", "perturbation.morf", "ours is the mean of its curve"),
    Peer("Selectivity", "perturbation.morf", "ours is the mean of its curve, with patches of one pixel"),
    Peer("RegionPerturbation", "perturbation.aopc", "ours is the mean of its curve, with patches of one pixel"),
    Peer(
        "SensitivityN",
        "sensitivity_n.pearson",
        "another metric: for each n it correlates over *examples* the relevance of the n-th feature with the drop "
        "without the n most relevant; Ancona et al. correlate over random sets of one example, as ours does",
    ),
    Peer(
        "Infidelity", "infidelity.infidelity", "it removes one patch after another, ours random sets; equal on its sets"
    ),
    Peer("Sufficiency", "sufficiency.sufficiency", "another metric of that name: Dasgupta et al. 2022, not ERASER's"),
    Peer("Monotonicity", "", "none: single steps of insertion; `insertion_deletion` has the areas"),
    Peer("MonotonicityCorrelation", "", "none: it needs an expectation over random fillings; `lds` asks for the ranks"),
    Peer("IROF", "", IMAGES),
    Peer("ROAD", "", "none: it fills pixels in by their neighbours; what removal is, the subject says here"),
    Peer("MaxSensitivity", "max_sensitivity.relative", ""),
    Peer("AvgSensitivity", "", "none: the mean of which `max_sensitivity` is the largest"),
    Peer("LocalLipschitzEstimate", "local_lipschitz.lipschitz", "its default noise is normal, ours uniform"),
    Peer("RelativeInputStability", "relative_stability.input", "by default it leaves out neighbours of another class"),
    Peer(
        "RelativeOutputStability", "relative_stability.output", "by default it leaves out neighbours of another class"
    ),
    Peer(
        "RelativeRepresentationStability",
        "relative_stability.representation",
        "by default it takes the outputs of all modules, ours of those with parameters; equal on the same layers",
    ),
    Peer("Continuity", "", IMAGES),
    Peer("Consistency", "", "none: it compares examples of a data set with each other"),
    Peer("PointingGame", "ground_truth.pg", "equal for k = 1 without ties; ours takes the mean over their orders"),
    Peer(
        "RelevanceMassAccuracy",
        "ground_truth.rma",
        "it divides by the sum of all relevance, ours by the positive one's",
    ),
    Peer("AttributionLocalisation", "ground_truth.rma", ""),
    Peer("TopKIntersection", "", "none: `ground_truth` has PG-k, whether one of the first k is inside"),
    Peer("RelevanceRankAccuracy", "", "none: `ground_truth` has the rank of the first that is inside"),
    Peer("AUC", "", "none: `ground_truth` has the scores of Arras et al."),
    Peer("Focus", "", "none: it is about mosaics of images"),
    Peer("Sparseness", "", "none: a simple map is no better map"),
    Peer("Complexity", "", "none: a simple map is no better map"),
    Peer("EffectiveComplexity", "", "none: a simple map is no better map"),
    Peer("MPRT", "randomization.spearman_by_layer", "it calls reset_parameters(); equal on the same random models"),
    Peer("SmoothMPRT", "randomization.spearman_by_layer", "with `smooth`; equal on the same random models and noise"),
    Peer("EfficientMPRT", "randomization.complexity_rise", "equal on the same random models"),
    Peer("RandomLogit", "random_logit.spearman", "its default is SSIM, which is for images; equal by Spearman's r"),
    Peer(
        "Completeness",
        "completeness.relative_error",
        "it asks whether two floats are the same, ours by how much they are not",
    ),
    Peer(
        "NonSensitivity",
        "null_player.on_null",
        "it counts features whose relevance and single removal are not small together; ours measures the relevance of "
        "those that change nothing in any context",
    ),
    Peer(
        "InputInvariance",
        "implementation_invariance.relative_gap",
        "of the rewrite `input_shift`; it asks for scores closer than 1e-4, and leaves the first pixel where it was",
    ),
)
