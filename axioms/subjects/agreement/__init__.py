"""The subject-verb agreement benchmark of Arras et al. (2025): sentences, their subjects, and a model to ask."""
