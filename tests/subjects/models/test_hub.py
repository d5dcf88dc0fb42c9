"""Models of the hub through a local stand-in repository: nothing is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from axioms.core.errors import AssetMissing, InputError
from axioms.run.runner import Runner
from axioms.run.source import build_subject
from axioms.spec import expand_file
from axioms.subjects.assets.hub import snapshot
from axioms.subjects.built import BuiltSubject
from axioms.subjects.load import load_model
from axioms.subjects.models import gguf
from axioms.subjects.models.hub import named_directly
from axioms.subjects.models.language import LanguageModel, token_limit, tokenize

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

Repository = Callable[[str], Path]
SPEC = """claim: A sum is a sum.
subject:
  model: {model}
  data: {{text-file: {{path: texts.tsv, text: 0{options}}}}}
run: {{dtype: float64}}
methods: [loo, gradient_x_input]
checks:
  - axiom: loo_correlation
    record: [pearson.mean]
"""
TEXTS = {
    "classifier": ["the film is good", "a very dull plot and it was bad"],
    "masked-lm": ["the film is [MASK]", "a very [MASK] plot and it was bad"],
    "causal-lm": ["the film is", "a very dull plot and it was"],
}


@pytest.fixture
def spec(tmp_path: Path) -> Callable[..., Path]:
    def write(model: str, texts: list[str], options: str = "") -> Path:
        (tmp_path / "texts.tsv").write_text("".join(f"{text}\n" for text in texts))
        file = tmp_path / "mine.yaml"
        file.write_text(SPEC.format(model=model, options=options))
        return file

    return write


def built(file: Path) -> BuiltSubject:
    check = expand_file(file).checks[0]
    return build_subject(check.subject, check.run, check.file)


@pytest.mark.parametrize("task", TEXTS)
def test_a_spec_runs_on_each_kind_of_model(task: str, repository: Repository, spec: Callable[..., Path]) -> None:
    file = spec(f"{{hub-{task}: {{name: {repository(task)}}}}}", TEXTS[task])
    (check, _) = expand_file(file).checks
    result = Runner().run(check)
    assert result.judgement.passed
    assert result.measurement.values["pearson"] == pytest.approx([1, 1])


@pytest.mark.parametrize("task", TEXTS)
def test_outputs_equal_those_of_transformers_text_by_text(
    task: str, repository: Repository, spec: Callable[..., Path]
) -> None:
    """Independent of our padding, masks and positions: one text at a time through the classes themselves."""
    import transformers

    names = {"classifier": "SequenceClassification", "masked-lm": "MaskedLM", "causal-lm": "CausalLM"}
    model = getattr(transformers, f"AutoModelFor{names[task]}").from_pretrained(repository(task)).double().eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(repository(task))
    subject = built(spec(f"{{hub-{task}: {{name: {repository(task)}}}}}", TEXTS[task]))
    for index, text in enumerate(TEXTS[task]):
        encoded = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            wanted = model(**encoded).logits[0]
        if task == "masked-lm":
            wanted = wanted[encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)]
        elif task == "causal-lm":
            wanted = wanted[-1]
        # transformers itself casts to float32 inside Llama's norms; under the engine that is a no-op.
        atol = 1e-6 if task == "causal-lm" else 1e-9
        torch.testing.assert_close(subject.sides["model"].outputs[index], wanted, rtol=0, atol=atol)
        assert subject.tokens[index] == tuple(tokenizer.convert_ids_to_tokens(encoded["input_ids"][0]))


def test_a_name_with_a_slash_is_a_model(repository: Repository, spec: Callable[..., Path], tmp_path: Path) -> None:
    shutil.copytree(repository("classifier"), tmp_path / "someone" / "classifier")
    shutil.copytree(repository("causal-lm"), tmp_path / "someone" / "causal")
    assert built(spec("someone/classifier", TEXTS["classifier"])).sides["model"].outputs.shape == (2, 2)
    assert built(spec("./someone/classifier", TEXTS["classifier"])).sides["model"].outputs.shape == (2, 2)
    file = spec("{someone/causal: {task: causal-lm}}", TEXTS["causal-lm"])
    assert built(file).sides["model"].outputs.shape == (2, 20)
    assert named_directly("tiny", {}) is None


@pytest.mark.parametrize(
    ("model", "what"),
    [
        ("{someone/causal: {task: causal}}", "there is no task 'causal'. Did you mean 'causal-lm'?"),
        ("{someone/causal: {revison: main}}", "'hub-classifier' has no option 'revison'. Did you mean 'revision'?"),
        ("someone-causal", "there is no model 'someone-causal'"),
    ],
)
def test_what_validation_says(spec: Callable[..., Path], model: str, what: str) -> None:
    from axioms.core.errors import SpecError

    with pytest.raises(SpecError) as error:
        expand_file(spec(model, ["the film"]))
    assert what in str(error.value)


def test_weights_for_another_task(repository: Repository, spec: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"is no classifier: it has no weights for .*`task: masked-lm`"):
        built(spec(str(repository("masked-lm")), ["the film"]))


def test_pickled_weights_are_not_opened(repository: Repository, spec: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(repository("classifier"), folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(AssetMissing, match=r"has no safetensors weights, and formats that can run code are not opened"):
        built(spec("./pickled", ["the film"]))


def test_code_in_a_repository_is_not_run(repository: Repository, spec: Callable[..., Path], tmp_path: Path) -> None:
    import json

    folder = tmp_path / "coded"
    shutil.copytree(repository("classifier"), folder)
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "mine"
    config["auto_map"] = {"AutoConfig": "mine.Config", "AutoModelForSequenceClassification": "mine.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(InputError, match="cannot be opened as a classifier"):
        built(spec("./coded", ["the film"]))
    assert not (tmp_path / "ran").exists()


def test_a_truncated_file_is_a_sentence(repository: Repository, spec: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "short"
    shutil.copytree(repository("classifier"), folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be opened as a classifier"):
        built(spec("./short", ["the film"]))


def test_data_files_of_a_repository_are_fetched_and_nothing_else(
    outside: StandIn,
    repository: Repository,
    spec: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "published"
    shutil.copytree(repository("classifier"), folder)
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "modeling.py").write_text("raise SystemExit")
    outside.host("someone/small", folder)
    file = spec("{someone/small: {revision: main}}", TEXTS["classifier"])
    assert built(file).sides["model"].outputs.shape == (2, 2)
    fetched = {Path(path).name for path, _ in outside.requests if "/resolve/" in path}
    assert fetched == {path.name for path in repository("classifier").iterdir()}
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    before = len(outside.requests)
    assert built(file).sides["model"].outputs.shape == (2, 2)
    assert len(outside.requests) == before


def test_a_repository_that_is_not_there(outside: StandIn, spec: Callable[..., Path]) -> None:
    with pytest.raises(
        AssetMissing, match=r"model 'someone/nothing' is not in the hub's cache, and the hub did not give it"
    ):
        built(spec("someone/nothing", ["the film"]))


def test_an_unreachable_hub_is_asked_once(
    outside: StandIn, spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    outside.server.shutdown()
    outside.server.server_close()
    checks = expand_file(spec("someone/classifier", ["the film"])).checks
    runner = Runner()
    with pytest.raises(AssetMissing, match=r"the hub cannot be reached .* with HF_HOME; or give the path of a folder"):
        runner.run(checks[0])
    monkeypatch.setattr("axioms.run.cases.open_source", None)
    with pytest.raises(AssetMissing, match="the hub cannot be reached"):
        runner.run(checks[1])


@pytest.mark.parametrize("variable", ["AXIOMS_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_asks_nobody(outside: StandIn, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(AssetMissing, match=f"{variable} forbids fetching it"):
        snapshot("someone/nothing", None, ["*.json"])
    assert not outside.requests


def language_model(repository: Repository, task: str) -> LanguageModel:
    return load_model(f"hub-{task}", {"name": str(repository(task))}, Path("any.yaml"))


def test_special_tokens_and_padding_are_marked(repository: Repository) -> None:
    tokens = tokenize(language_model(repository, "classifier"), ["the film", "good"])
    assert tokens.strings == (("[CLS]", "the", "film", "[SEP]"), ("[CLS]", "good", "[SEP]"))
    assert tokens.inputs["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert tokens.inputs["special_tokens_mask"].tolist() == [[1, 0, 0, 1], [1, 0, 1, 1]]
    assert int(tokens.inputs["mask_token_id"]) == 4
    masked = tokenize(language_model(repository, "masked-lm"), ["the [MASK]"])
    assert masked.inputs["special_tokens_mask"].tolist() == [[1, 0, 1, 1]]


def test_long_texts_are_cut_and_told(repository: Repository, spec: Callable[..., Path]) -> None:
    model = language_model(repository, "classifier")
    assert token_limit(model) == 12
    long = " ".join(["good"] * 30)
    assert tokenize(model, [long, "bad"]).cut == 1
    assert tokenize(model, [long], 5).strings == (("[CLS]", "good", "good", "good", "[SEP]"),)
    with pytest.raises(InputError, match="max_length is 13, and this model takes at most 12 tokens"):
        tokenize(model, [long], 13)
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than the model's limit and were cut there"):
        built(spec(str(repository("classifier")), [long, "bad"]))
    assert len(built(spec(str(repository("classifier")), [long], ", max_length: 6")).tokens[0]) == 6


def test_the_limit_of_roberta_leaves_room_for_its_padding() -> None:
    from transformers import RobertaConfig, RobertaForSequenceClassification

    class Tokenizer:
        model_max_length = 10**30

    size = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=9, max_position_embeddings=14, pad_token_id=1, **size)  # type: ignore[arg-type]
    assert token_limit(LanguageModel(RobertaForSequenceClassification(config), Tokenizer())) == 12


@pytest.mark.parametrize(
    ("task", "text", "what"),
    [
        ("masked-lm", "the film", r"text 0 must have one \[MASK\] where the model is asked for a word; it has 0"),
        ("masked-lm", "[MASK] [MASK]", "it has 2"),
        ("classifier", "\u200b\u200b[PAD]", None),
    ],
)
def test_texts_that_do_not_fit(repository: Repository, task: str, text: str, what: str | None) -> None:
    model = language_model(repository, task)
    if what is None:  # an unknown character is still a token of its own
        assert tokenize(model, [text]).strings
        return
    with pytest.raises(InputError, match=what):
        tokenize(model, [text])


def test_a_model_without_a_tokenizer() -> None:
    with pytest.raises(InputError, match="has no tokenizer, so it cannot take texts"):
        tokenize(LanguageModel(torch.nn.Linear(1, 1)), ["the film"])


def test_the_two_models_of_a_pair_must_split_alike(
    repository: Repository, spec: Callable[..., Path], tmp_path: Path
) -> None:
    file = spec("x", ["the film"])
    left, right = repository("classifier"), repository("causal-lm")
    pair = f"pair: {{left: {{hub-classifier: {{name: {left}}}}}, right: {{hub-causal-lm: {{name: {right}}}}}}}"
    file.write_text(file.read_text().replace("model: x", pair))
    with pytest.raises(InputError, match="split the texts into different tokens"):
        built(file)


def test_a_dequantized_copy_is_made_once_and_verified(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "model.safetensors").write_bytes(b"weights")

    for _ in range(2):
        folder = gguf.verified_copy(tmp_path / "copy", make)
    assert len(made) == 1
    (folder / "model.safetensors").write_bytes(b"wei")
    assert (gguf.verified_copy(folder, make) / "model.safetensors").read_bytes() == b"weights"
    assert len(made) == 2


def test_reading_gguf_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gguf, "find_spec", lambda name: None)
    (tmp_path / "a.gguf").touch()
    with pytest.raises(AssetMissing, match=r"reading a.gguf needs gguf and accelerate: pip install gguf accelerate"):
        gguf.gguf_causal_lm(asset=str(tmp_path), file="a.gguf")
    with pytest.raises(InputError, match=r"the asset has no file 'b.gguf'"):
        gguf.gguf_causal_lm(asset=str(tmp_path), file="b.gguf")
