"""`axioms explain` from the command line, on small models in folders."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from axioms.commands.main import main
from axioms.core.html import BLUE, RED, STRONGEST
from axioms.core.registry import METHODS
from axioms.report.heatmaps import STYLE

TEXT = "the film is not <b>very</b> good & fine"
Repository = Callable[[str], Path]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an empty folder, without a network and without colours."""
    for name, value in {"AXIOMS_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the command adds the working directory


class Page(HTMLParser):
    """What a page says, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.titles: list[str] = []
        self.labels: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "meta":
            self.open.append(tag)
        if given.get("class") == "token":
            self.titles.append(given["title"] or "")
        if given.get("role") == "img":
            self.labels.append(given["aria-label"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["td"]:
            self.cells.append(data)


def test_every_method_has_a_block_and_a_section(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(repository("classifier")), TEXT]) == 0
    said = capsys.readouterr()
    heads = re.findall(r"^(\S+) +sum [+-]?\d\S*   LOO r -?\d\.\d\d$", said.out, re.MULTILINE)
    assert heads == ["loo", "attnlrp", "cp_lrp", "removal_taylor"]
    assert said.out.count("ledger: output") == 2
    assert "\x1b" not in said.out
    assert re.search(r"film\([+-]\d", said.out)
    assert "page: reports/explain.html" in said.out
    assert "loading" in said.err
    assert "\n  layer " not in said.out

    text = (tmp_path / "reports/explain.html").read_text()
    page = Page(text)
    assert page.open == []
    tokens = len(page.titles) // 4
    assert len(page.cells) == 4 * (tokens + 1), "a row for each token and one for the sums"
    assert page.cells[: 4 * tokens : 4] == page.titles[:tokens], "the first column is the first heatmap"
    assert [label.split(".")[0] for label in page.labels] == [f"Heatmap of {name}" for name in heads]
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert not re.search(r"https?:|<script|<link|<img|url\(", text), "self-contained"


def test_options(repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--methods", "attnlrp,{integrated_gradients: {steps: 3, as: ig}}", "--ledger", "--dtype", "float64"]
    options += ["--target", "dull", "--remove", "delete", "--out", "some/where.html", "--task", "causal-lm"]
    assert main(["explain", str(repository("causal-lm")), "the film was", *options]) == 0
    out = capsys.readouterr().out
    assert "logit of 'dull'" in out
    assert "left out by delete" in out
    assert re.search(r"^ig +sum", out, re.MULTILINE)
    assert "  layer " in out
    assert (tmp_path / "some/where.html").is_file()


def test_colours(repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["explain", str(repository("masked-lm")), "the [MASK] is good", "--methods", "attnlrp"]) == 0
    assert "\x1b[48;5;" in capsys.readouterr().out


def test_a_folder_may_be_named_without_a_slash_and_the_text_may_come_from_a_pipe(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    (tmp_path / "mine").symlink_to(repository("classifier"))
    monkeypatch.setattr("sys.stdin", io.StringIO("the film is good\n"))
    assert main(["explain", "mine", "-", "--methods", "attnlrp"]) == 0
    assert "6 tokens" in capsys.readouterr().out


def test_a_method_of_ones_own(repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "explained_by_me.py").write_text(
        "import axioms\n\n@axioms.method('all_one')\ndef all_one(model, inputs, target):\n"
        "    return inputs.features[..., 0] * 0 + 1\n"
    )
    arguments = ["explain", str(repository("classifier")), "the film", "--import", "explained_by_me"]
    try:
        assert main([*arguments, "--methods", "all_one"]) == 0
    finally:
        METHODS._entries.pop("all_one", None)
    assert "sum +4.00" in capsys.readouterr().out


def test_an_interruption_keeps_what_was_finished(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "explained_too_long.py").write_text(
        "import axioms\n\n@axioms.method('too_long')\ndef too_long(model, inputs, target):\n"
        "    raise KeyboardInterrupt\n"
    )
    arguments = ["explain", str(repository("classifier")), "the film", "--import", "explained_too_long"]
    try:
        assert main([*arguments, "--methods", "attnlrp,too_long,cp_lrp"]) == 0
    finally:
        METHODS._entries.pop("too_long", None)
    assert "interrupted: the page has what was finished." in capsys.readouterr().err
    text = (tmp_path / "reports/explain.html").read_text()
    assert "Heatmap of attnlrp" in text
    assert "Heatmap of cp_lrp" not in text


def test_where_no_method_has_an_answer_the_exit_code_says_so(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(repository("classifier")), TEXT, "--methods", "alti_logit"]) == 2
    assert "alti_logit is defined for pre-norm decoders" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "attnlpr"], "--methods: unknown method 'attnlpr'. Did you mean 'attnlrp'?"),
        (["--methods", "{attnlrp: {epsilom: 1}}"], "'attnlrp' has no option 'epsilom'. Did you mean 'epsilon'?"),
        (["--methods", "{"], "--methods '[{]' is not YAML"),
        (["--methods", ""], "name at least one method."),
        (["--remove", "delet"], "no way 'delet' to leave a token out. Did you mean 'delete'?"),
        (["--remove", "{kind: delete, chunk: 0}"], "--remove: Input should be greater than 0."),
        (["--dtype", "float8"], "--dtype: Input should be 'float64', 'float32', 'float16' or 'bfloat16'."),
        (["--task", "clasifier"], "there is no task 'clasifier'. Did you mean 'classifier'?"),
        (["--target", "7"], "target class out of range: the model has 2 outputs"),
        (["--target", "{logit: 1}"], "a target is a class, {probability: class}"),
        (["--device", "abacus"], "unknown device 'abacus'"),
        (["--task", "causal-lm"], "is no causal-lm"),
        (["--out", "/dev/null/page.html"], "cannot be written"),
    ],
)
def test_errors_are_sentences(
    repository: Repository, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(repository("classifier")), "the film", "--methods", "attnlrp", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_errors_about_the_model_are_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures/my-llama.yaml").write_text(
        "kind: model\nbuild: tiny\noptions: {architecture: llama}\nsource: here\nlicence: none\n"
    )
    for model, said in {
        "my-lama": "there is no model 'my-lama': no fixtures/my-lama.yaml here or above, and no such folder; one of "
        "the hub is OWNER/NAME. Did you mean 'my-llama'?",
        "nobody/nothing": "model 'nobody/nothing' is not in the hub's cache",
        "my-llama": "this model has no tokenizer, so it cannot take texts",
    }.items():
        assert main(["explain", model, "the film"]) == 2
        assert said in capsys.readouterr().err
    assert main(["explain", "my-llama", "the film", "--task", "classifier"]) == 2
    assert "what 'my-llama' is for is known" in capsys.readouterr().err


def test_what_stands_on_a_colour_can_be_read_light_and_dark() -> None:
    def luminance(colour: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (each / 255 for each in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: list[float], other: list[float]) -> float:
        dark, light = sorted((luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)

    def of(name: str, style: str) -> list[float]:
        (found,) = re.findall(rf"--{name}: #([0-9a-f]+)", style)
        digits = found if len(found) == 6 else "".join(2 * each for each in found)
        return [int(digits[at : at + 2], 16) for at in (0, 2, 4)]

    light, dark = STYLE.split("@media")
    for style in (light, dark):
        paper, ink = of("paper", style), of("ink", style)
        assert contrast(of("faint", style), paper) >= 4.5
        assert contrast(of("verb", style), ink) >= 4.5
        assert contrast(of("line", style), paper) >= 3
        for colour in (RED, BLUE):
            for share in range(101):
                alpha = STRONGEST * share / 100
                mixed = [alpha * c + (1 - alpha) * p for c, p in zip(colour, paper, strict=True)]
                assert contrast(mixed, ink) >= 4.5
