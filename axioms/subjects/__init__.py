"""Models, pairs, data and targets. Importing this fills the registries and does not import torch."""

from axioms.model.inputs import Inputs, read_inputs
from axioms.model.targets import Target, choose
from axioms.subjects import data as _data
from axioms.subjects import gguf as _gguf
from axioms.subjects import hub as _hub
from axioms.subjects import lora as _lora
from axioms.subjects import small as _small
from axioms.subjects import texts as _texts
from axioms.subjects import tiny as _tiny
from axioms.subjects.agreement import sources as _sources
from axioms.subjects.data import Data
from axioms.subjects.language import LanguageModel

__all__ = ["Data", "Inputs", "LanguageModel", "Target", "choose", "read_inputs"]
del _data, _gguf, _hub, _lora, _small, _sources, _texts, _tiny
