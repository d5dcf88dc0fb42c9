"""The README and the pages of docs/ work as they are printed: their code blocks run, and print what they are said to.

Every page is a session in an empty folder. Of its blocks

- one whose first line is `# name.ext` is that file;
- `python` runs, in one namespace for the page; a `text` block right behind it is what it prints;
- `yaml` without a file's name is a spec, or part of one, and must be valid; a mapping of other keys must only be YAML;
- `console` has commands behind `$ ` and what they print; `...` stands for anything, and numbers may differ in their
  last digit.

A block that cannot run here says why in a comment: `# not run by the tests: ...`, or `# run by .ci/run, ...` where it
takes long or needs an asset (`pytest tests/test_docs.py -m docs_slow`).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from axioms.commands.main import main
from axioms.core.errors import AxiomsError
from axioms.spec.json_schema import json_schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (?P<name>[\w./-]+\.\w+)\n")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
ROUNDING = 1e-5
"""A printed number that is smaller is zero but for rounding, which differs from machine to machine."""
NOT_RUN, SLOW = "# not run by the tests: ", "# run by .ci/run, "
DEFAULTS: dict[str, Any] = {
    "claim": "A part of a spec is valid.",
    "subject": {"model": {"tiny": {"architecture": "bert"}}, "data": {"random-tokens": {"n": 2, "length": 6}}},
    "methods": ["loo", "attnlrp"],
    "checks": [{"axiom": "batch_invariance"}],
}


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    language: str
    text: str
    line: int
    output: str | None
    """The text block right behind it."""

    @property
    def file(self) -> str | None:
        """The file that it is; None where its first line names none."""
        match = FILE.match(self.text)
        return match["name"] if match else None

    @property
    def is_slow(self) -> bool:
        return SLOW in self.text


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    matches = list(BLOCK.finditer(text))
    blocks = []
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        behind = (
            following is not None
            and following["language"] == "text"
            and not text[match.end() : following.start()].strip()
        )
        output = following["text"] if behind and following is not None else None
        blocks.append(Block(match["language"], match["text"], text[: match.start()].count("\n") + 1, output))
    return blocks


class Session:
    """One page's folder, files and Python namespace."""

    def __init__(self, pytester: pytest.Pytester, page: Path) -> None:
        self.pytester, self.folder, self.page = pytester, pytester.path, page
        self.namespace: dict[str, Any] = {"__name__": "__page__"}

    def run(self, block: Block) -> None:
        if NOT_RUN in block.text:
            assert len(block.text.split(NOT_RUN)[1].split("\n")[0]) > 10, "say why it is not run"
        elif block.file is not None:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        else:
            runner = getattr(self, f"_{block.language}", None)
            assert runner is not None, f"a block in the language {block.language!r}: use python, yaml, console or text"
            runner(block)

    def _text(self, block: Block) -> None:
        """Compared with what stands before it, or an illustration of a format."""

    def _bash(self, block: Block) -> None:
        """What .ci/run executes."""
        assert self.page.name == "README.md", "use console, so that what it prints is compared"

    def _python(self, block: Block) -> None:
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, str(self.page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, self.namespace)
        if block.output is not None:
            compare(block.output, printed.getvalue())

    def _yaml(self, block: Block) -> None:
        content = yaml.safe_load(block.text)
        if not set(content) <= set(json_schema()["properties"]):
            return  # a workflow, a fixture: some other YAML
        file = self.folder / "specs" / f"block_{block.line}.yaml"
        file.parent.mkdir(exist_ok=True)
        missing = {key: value for key, value in DEFAULTS.items() if key not in content and "extends" not in content}
        file.write_text(block.text + yaml.safe_dump(missing) if missing else block.text)
        (file.parent / "other.yaml").write_text(yaml.safe_dump(DEFAULTS))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main(["check", str(file)])
        file.unlink()
        assert code == 0, printed.getvalue()

    def _console(self, block: Block) -> None:
        command = ""
        expected: list[str] = []
        for line in [*block.text.splitlines(), "$ "]:
            if line.startswith("$ "):
                if command:
                    compare("\n".join(expected), self._shell(command))
                command, expected = line.removeprefix("$ "), []
            elif not line.startswith("# "):
                expected.append(line)

    def _shell(self, command: str) -> str:
        """Run a command in the page's folder: in this process, unless it may import a module of the page's."""
        words = shlex.split(command, comments=True)
        has_modules = any(self.folder.glob("*.py"))
        if words[0] == "axioms" and not has_modules:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                main(words[1:])
            return printed.getvalue()
        if words[0] == "pytest" and not has_modules:
            done = self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *words[1:])
            return "\n".join([*done.outlines, *done.errlines])
        words[:1] = {
            "axioms": [sys.executable, "-c", "import sys; from axioms.commands.main import main; sys.exit(main())"],
            "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        }.get(words[0], words[:1])
        path = os.pathsep.join([str(ROOT), str(self.folder)])
        environment = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "100"}
        ran = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return ran.stdout + ran.stderr


def compare(expected: str, printed: str) -> None:
    """Assert that a text is what was printed, but for what `...` leaves out, spaces, times and last digits."""
    rest = plain(printed)
    for number, part in enumerate(plain(expected).split("...")):
        pattern = _pattern(part.strip())
        match = (re.match if number == 0 else re.search)(pattern, rest)
        assert match, f"expected\n{expected}\nbut it printed\n{printed}"
        for said, measured in zip(NUMBER.findall(part), match.groups(), strict=True):
            assert close(said, measured), f"{said} was expected, not {measured}, in\n{printed}"
        rest = rest[match.end() :].lstrip()


def plain(text: str) -> str:
    """Return a text with single spaces, without times and terminal colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"in [\d.]+s(?: \([\d:]+\))?", "in some time", text)
    return " ".join(text.split())


def _pattern(text: str) -> str:
    """Return a regular expression that finds a text whatever its numbers are."""
    pieces = NUMBER.split(text)
    return r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)".join(re.escape(piece) for piece in pieces)


def close(said: str, measured: str) -> bool:
    """Tell whether a number is the printed one: whole numbers exactly, others up to two units of the last digit."""
    expected, value = float(said), float(measured)
    if abs(expected) < ROUNDING:
        return abs(value) < ROUNDING
    if re.fullmatch(r"[-+]?\d+", said):
        return said == measured
    digits, _, exponent = said.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(value - expected) <= 2 * unit


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_page_works_as_printed(page: Path, pytester: pytest.Pytester) -> None:
    run_page(page, [block for block in read_blocks(page) if not block.is_slow], pytester)


SLOW_PAGES = [page for page in PAGES if any(block.is_slow for block in read_blocks(page))]


@pytest.mark.docs_slow
@pytest.mark.skipif("not config.getoption('-m')", reason="slow or needs an asset: .ci/run runs it by -m docs_slow")
@pytest.mark.parametrize("page", SLOW_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_takes_long_works_as_printed(page: Path, pytester: pytest.Pytester) -> None:
    run_page(page, [block for block in read_blocks(page) if block.is_slow or block.file], pytester)


def run_page(page: Path, blocks: list[Block], pytester: pytest.Pytester) -> None:
    session = Session(pytester, page)
    for block in blocks:
        try:
            session.run(block)
        except (Exception, AxiomsError) as error:
            raise AssertionError(f"{page.relative_to(ROOT)}:{block.line}: {error}") from error
