"""What a stranger wrote into a spec is shown as text: in the terminal's bytes, in JUnit's XML and in refusals."""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from axioms.core.printable import printable

ESCAPES = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\r\u202e"
"""Colour, the window's title, a screen that is cleared, a line that is overwritten, a line that runs backwards."""
SHOWN = r"\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\r\u202e"
IN_YAML = r"\e[31mred\e[0m\e]0;title\x07\x9b2J\r\u202e"
MARKUP = "</script><script>alert(1)</script> &amp; <b> ' ]]> %s {0}"
SPEC = f"""
claim: "{IN_YAML} {MARKUP}"
source: "{IN_YAML}"
note: "{IN_YAML} {MARKUP}"
subject:
  name: "{IN_YAML} {MARKUP}"
  model: {{linear: {{weight: [[3, -1]], bias: [1]}}}}
  data: {{points: [[1, 1], [2, 5]]}}
run: {{dtype: float64}}
methods: [{{loo: {{as: "mine {IN_YAML} {MARKUP}"}}}}, attnlrp]
checks:
  - {{axiom: completeness, because: "{IN_YAML}", expect: {{relative_error.max: {{le: -1}}}}}}
"""


@pytest.fixture
def specs(pytester: pytest.Pytester) -> Path:
    folder = pytester.path / "specs"
    folder.mkdir()
    return folder


def run(pytester: pytest.Pytester, *options: str) -> str:
    done = pytester.runpytest_inprocess("specs", "--color=no", "-p", "no:cacheprovider", *options)
    output = done.stdout.str() + done.stderr.str()
    unseen = sorted({character for character in ESCAPES if not character.isprintable() and character in output})
    assert unseen == [], output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    return output


@pytest.mark.parametrize(
    "name", ["a <b>'.yaml", '&quot; " $(touch ran) {0} %s.yaml', "<img src=x onerror='x'> $x$ `b` \\n [c].yaml"]
)
def test_the_terminal_and_junit_show_what_a_failing_spec_says(
    pytester: pytest.Pytester, specs: Path, name: str
) -> None:
    (specs / name).write_text(SPEC, encoding="utf-8")
    output = run(pytester, "-v", "-rA", "--junit-xml=junit.xml")
    assert SHOWN in output
    assert "alert(1)" in output
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()
    said = "".join(suite.itertext()) + str([element.attrib for element in suite.iter()])
    assert r"\x1b[31mred" in said.replace("\\\\", "\\")
    assert "<script>alert(1)" in said
    assert name in output
    assert name.removesuffix(".yaml") in said.replace("\\\\", "\\").replace("\\'", "'")


@pytest.mark.parametrize("name", [f"{ESCAPES}.yaml", f"{ESCAPES}/a.yaml", "\n.yaml\x1b", "\udcff.yaml"])
@pytest.mark.parametrize("options", [("-q",), ("-vv", "-rA"), ("--collect-only",)])
def test_a_name_that_acts_on_terminals_is_refused(
    pytester: pytest.Pytester, specs: Path, name: str, options: tuple[str]
) -> None:
    """pytest writes the names of files as they are, and the ids of checks begin with them."""
    file = specs / (name if name.endswith(".yaml") else f"{name}.yaml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(SPEC, encoding="utf-8")
    output = run(pytester, *options, "--junit-xml=junit.xml")
    assert "the name has characters that nobody sees and that act on terminals; rename it." in output
    assert printable(name.partition("/")[0]) in output
    ElementTree.parse(pytester.path / "junit.xml")


def test_names_of_files_that_are_left_alone_are_shown(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / f"{ESCAPES}.yaml").write_text("other: 1\n")
    (specs / "a.yaml").write_text(SPEC, encoding="utf-8")
    assert f"{SHOWN}.yaml has no `claim` and is no spec; left alone" in run(pytester, "-v")
    (specs / "a.yaml").rename(pytester.mkdir("elsewhere") / f"{ESCAPES}.yaml")
    (specs / f"{ESCAPES}.yaml").unlink()
    done = pytester.runpytest_inprocess("elsewhere", "--color=no", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(["axioms: *title*.yaml looks like a spec and was not collected*"])
    assert "\x1b" not in done.stdout.str()


def test_a_run_writes_below_its_report_only(
    pytester: pytest.Pytester, specs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that climb out of folders, and that are commands, leave everything else as it was."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.delenv("AXIOMS_FRESH")
    for variable in ("AXIOMS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(cache))
    climbing = "../../../out/of $(touch ran) `touch ran` /etc/passwd ; touch ran"
    (specs / "a ; touch ran.yaml").write_text(
        SPEC.replace(MARKUP, climbing) + "table: {name: table-2, block: ../../x}\n",
        encoding="utf-8",
    )
    before = files_below(pytester.path.parent)
    others = ("-p", "no:benchmark", "-p", "no:hypothesispytest")
    output = run(pytester, *others, "--junit-xml=reports/junit.xml", "--axioms-update-baseline=all")
    (line,) = (line for line in output.splitlines() if line.startswith("rerun") and "mine" in line)
    assert line.endswith("'"), "what is to be copied runs nothing in a shell"
    assert shlex.split(line)[-1].endswith(f"{climbing}]")
    new = files_below(pytester.path.parent) - before
    folders = (pytester.path / "reports", cache)
    assert all(any(folder in file.parents for file in new) for folder in folders)
    assert {file for file in new if not any(file.is_relative_to(folder) for folder in folders)} == set()


def files_below(folder: Path) -> set[Path]:
    """Return everything below a folder, but for what Python compiles."""
    return {file for file in folder.rglob("*") if "__pycache__" not in file.parts}


@pytest.mark.parametrize(
    "wrong",
    [
        f'"{IN_YAML} {MARKUP}": 1',
        f'methods: ["{IN_YAML}"]',
        f'extends: "{IN_YAML}.yaml"',
        f'run: {{dtype: "{IN_YAML}"}}',
        f'subject: {{model: "{IN_YAML}", data: "{IN_YAML}"}}',
        f'checks: [{{axiom: "{IN_YAML}", expect: {{"{IN_YAML}": {{le: 1}}}}}}]',
        f'subject: {{model: {{linear: {{"{IN_YAML}": 1}}}}, data: {{points: "{IN_YAML}"}}}}',
    ],
)
def test_a_refusal_shows_what_was_wrong(pytester: pytest.Pytester, specs: Path, wrong: str) -> None:
    (specs / "a.yaml").write_text(f"claim: one\n{wrong}\n", encoding="utf-8")
    assert "specs/a.yaml:" in run(pytester)


def test_raw_escapes_in_a_file_are_refused(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "a.yaml").write_text(f"claim: {ESCAPES}\n", encoding="utf-8")
    assert "specs/a.yaml:1: " in run(pytester)
