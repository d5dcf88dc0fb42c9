"""What is attributed: models and data. Importing this fills the registries and does not import torch."""

from axioms.model.inputs import Inputs, read_inputs
from axioms.model.targets import Target, choose
from axioms.subjects import models as _models
from axioms.subjects.agreement import sources as _sources
from axioms.subjects.data import Data
from axioms.subjects.models.language import LanguageModel

__all__ = ["Data", "Inputs", "LanguageModel", "Target", "choose", "read_inputs"]
del _models, _sources
