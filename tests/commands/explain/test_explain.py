"""What `axioms explain` says is what the methods, the ledger and the axiom say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axioms.commands.explain.explain import Answer, Question, ask, explain
from axioms.core.errors import InputError
from axioms.methods.attribute import attribute
from axioms.model.removals import Removal
from axioms.spec import Run
from axioms.spec.references import MethodRef
from axioms.subjects.models.hub import declared_task, load
from axioms.subjects.models.language import LanguageModel, tokenize

TEXT = "the film is not very good but it was fine"
Repository = Callable[[str], Path]
FLOAT64 = Run(dtype="float64")


@pytest.fixture
def classifier(repository: Repository) -> LanguageModel:
    return load("classifier", str(repository("classifier")), None)


@pytest.fixture
def causal(repository: Repository) -> LanguageModel:
    return load("causal-lm", str(repository("causal-lm")), None)


def answers(question: Question, *methods: Any) -> dict[str, Answer]:
    references = [MethodRef.model_validate(method) for method in methods]
    return {found.method: found for found in explain(question, references, lambda what, done, total: None)}


def test_scores_are_those_of_the_methods(classifier: LanguageModel) -> None:
    question = ask(classifier, TEXT, 1, None, FLOAT64)
    found = answers(question, "loo", "attnlrp", "removal_taylor", {"integrated_gradients": {"steps": 3}})
    given = tokenize(classifier, [TEXT]).inputs
    for name, each in found.items():
        options: Any = {"steps": 3} if name == "integrated_gradients" else {}
        alone = attribute(classifier.module, given, 1, name, **options)
        np.testing.assert_allclose(each.scores, alone.scores[0].tolist(), atol=1e-12)
        assert question.output == pytest.approx(float(alone.output[0]))
        assert each.total == pytest.approx(float(alone.scores.sum()))
    assert len(question.tokens) == len(TEXT.split()) + 2


def test_r_is_pearsons_over_what_can_be_left_out(classifier: LanguageModel) -> None:
    for remove, part in ((None, slice(None)), (Removal(special_tokens="keep"), slice(1, -1))):
        found = answers(ask(classifier, TEXT, 0, remove, FLOAT64), "attnlrp", "loo")
        scores, loo = (np.array(found[name].scores)[part] for name in ("attnlrp", "loo"))
        assert found["attnlrp"].loo_r == pytest.approx(float(np.corrcoef(scores, loo)[0, 1]))
        assert found["loo"].loo_r == pytest.approx(1.0)


def test_r_of_two_tokens_is_none(causal: LanguageModel) -> None:
    assert answers(ask(causal, "the film", "predicted", None, FLOAT64), "attnlrp", "loo")["attnlrp"].loo_r is None


def test_nothing_is_run_that_is_not_named(classifier: LanguageModel) -> None:
    at_work: list[str] = []
    question = ask(classifier, TEXT, "predicted", None, FLOAT64)
    (answer,) = explain(question, [MethodRef.model_validate("attnlrp")], lambda method, *_: at_work.append(method))
    assert answer.loo_r is None
    assert set(at_work) == {"attnlrp"}


def test_methods_that_propagate_have_a_ledger_and_the_others_none(classifier: LanguageModel) -> None:
    question = ask(classifier, TEXT, "predicted", None, FLOAT64)
    found = answers(question, "attnlrp", "cp_lrp", "loo", "removal_taylor", "gradient_x_input")
    assert [name for name, each in found.items() if each.ledger is not None] == ["attnlrp", "cp_lrp"]
    for name in ("attnlrp", "cp_lrp"):
        ledger = found[name].ledger
        assert ledger is not None
        assert ledger.output == pytest.approx(question.output)
        assert ledger.features == pytest.approx(found[name].total)
        assert abs(ledger.unexplained) < 1e-9


def test_a_method_that_is_not_defined_says_why_and_the_rest_goes_on(classifier: LanguageModel) -> None:
    found = answers(ask(classifier, TEXT, "predicted", None, FLOAT64), "alti_logit", "cp_lrp")
    assert "alti_logit is defined for pre-norm decoders" in found["alti_logit"].reason
    assert found["cp_lrp"].scores
    assert not found["cp_lrp"].reason


def test_where_nothing_can_be_left_out_there_is_no_r(causal: LanguageModel) -> None:
    question = ask(causal, TEXT, "predicted", None, FLOAT64)
    stuck = replace(question.side, inputs=replace(question.side.inputs, unremovable="nothing can be left out."))
    found = answers(replace(question, side=stuck), "loo", "attnlrp")
    assert found["loo"].reason == "nothing can be left out."
    assert found["attnlrp"].scores
    assert found["attnlrp"].loo_r is None


def test_a_text_beyond_the_limit_is_cut_and_said_to_be(classifier: LanguageModel) -> None:
    question = ask(classifier, " ".join(["film"] * 40), "predicted", None, FLOAT64)
    assert question.cut
    assert len(question.tokens) == 12


def test_progress_is_told_in_steps_of_the_one_text(classifier: LanguageModel) -> None:
    told: list[tuple[str, int, int]] = []
    question = ask(classifier, TEXT, "predicted", None, FLOAT64)
    loo = MethodRef.model_validate({"loo": {"rows": 4}})
    list(explain(question, [loo], lambda *said: told.append(said)))
    assert told == [("loo", 4, 12), ("loo", 8, 12), ("loo", 1, 1)]


class TestTargets:
    @pytest.mark.parametrize(
        ("target", "about"),
        [
            (1, "logit of 'Good' (class 1)"),
            ("good", "logit of 'Good' (class 1)"),
            ({"probability": "good"}, "probability of 'Good' (class 1)"),
            ({"logit_difference": ["good", 0]}, "logit of 'Good' (class 1) minus logit of class 0"),
        ],
    )
    def test_classes_by_number_and_name(self, classifier: LanguageModel, target: Any, about: str) -> None:
        config: Any = classifier.module.config
        config.id2label = {0: "LABEL_0", 1: "Good"}
        assert ask(classifier, TEXT, target, None, FLOAT64).about.removesuffix(", which is predicted") == about

    def test_tokens_by_word(self, causal: LanguageModel) -> None:
        by_word = ask(causal, "the film was", "dull", None, FLOAT64)
        number = causal.tokenizer.convert_tokens_to_ids("dull")
        assert by_word.about.startswith(f"logit of 'dull' (token {number})")
        assert by_word.output == ask(causal, "the film was", number, None, FLOAT64).output

    def test_what_is_predicted_is_said_to_be(self, causal: LanguageModel) -> None:
        question = ask(causal, "the film was", "predicted", None, FLOAT64)
        assert question.about.endswith(", which is predicted")
        assert question.output == float(question.side.outputs.max())

    def test_a_name_that_there_is_not(self, classifier: LanguageModel, causal: LanguageModel) -> None:
        config: Any = classifier.module.config
        config.id2label = {0: "bad", 1: "good"}
        with pytest.raises(InputError, match=r"no class 'goood'.*Did you mean 'good'"):
            ask(classifier, TEXT, "goood", None, FLOAT64)
        with pytest.raises(InputError, match="'splendid' is not one token"):
            ask(causal, TEXT, "splendid", None, FLOAT64)


def test_the_task_is_what_the_model_was_saved_for(repository: Repository, tmp_path: Path) -> None:
    for task in ("classifier", "masked-lm", "causal-lm"):
        assert declared_task(str(repository(task))) == task
    (tmp_path / "config.json").write_text('{"architectures": ["T5ForConditionalGeneration"]}')
    assert declared_task(str(tmp_path)) is None
    (tmp_path / "config.json").write_text("[")
    assert declared_task(str(tmp_path)) is None
