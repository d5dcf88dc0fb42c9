"""What a stranger wrote into a spec is shown as text: in the terminal's bytes, in JUnit's XML and in refusals."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

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


def test_the_terminal_and_junit_show_what_a_failing_spec_says(pytester: pytest.Pytester, specs: Path) -> None:
    (specs / "a <b>'.yaml").write_text(SPEC, encoding="utf-8")
    output = run(pytester, "-v", "-rA", "--junit-xml=junit.xml")
    assert SHOWN in output
    assert "alert(1)" in output
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()
    said = "".join(suite.itertext()) + str([element.attrib for element in suite.iter()])
    assert r"\x1b[31mred" in said.replace("\\\\", "\\")
    assert "<script>alert(1)" in said


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
