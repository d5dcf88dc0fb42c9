"""The site's pages name nothing that is gone: an axiom that is deleted or an option that is renamed fails the build."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from axioms.core.registry import AXIOMS, METHODS, REWRITES

ROOT = Path(__file__).parents[1]
HOOKS = ROOT / "docs" / "hooks"
BUILD = "from mkdocs.__main__ import cli; cli(['build', '--strict', '--site-dir', {site!r}])"
WITHOUT_AXIOM = "import axioms; from axioms.core.registry import AXIOMS; del AXIOMS._entries['purity']; "
RENAMED_OPTION = """
import axioms.plugin.options as options
add = options.pytest_addoption
def renamed(parser):
    class Renaming:
        def getgroup(self, *_):
            return self
        def addoption(self, name, **attributes):
            parser.addoption(name.replace('--axioms-baseline', '--axioms-compare-with'), **attributes)
        def addini(self, *arguments, **attributes):
            parser.addini(*arguments, **attributes)
    add(Renaming())
options.pytest_addoption = renamed
"""


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules that MkDocs runs, loaded anew."""
    pytest.importorskip("mkdocs", reason='pip install -e ".[docs]"')
    monkeypatch.syspath_prepend(str(HOOKS))
    names = [file.stem for file in HOOKS.glob("*.py") if file.stem != "check_links"]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return {name: importlib.import_module(name) for name in names}


def test_every_registered_name_is_on_its_page(hooks: dict[str, ModuleType]) -> None:
    pages = hooks["build"].generated_pages()
    for registry, page in ((AXIOMS, "axioms"), (METHODS, "methods"), (REWRITES, "rewrites")):
        for name in registry:
            if registry.get(name).is_ours:
                assert f"{{#{name}}}" in pages[f"reference/{page}.md"], f"{name} has no place in the reference"
    assert "--axioms-baseline" in pages["reference/pytest.md"]
    assert "`axioms falsify`" in pages["reference/commands.md"]
    assert "`decided_by`" in pages["reference/spec.md"]
    assert "`violation_claimed`" in pages["reference/record.md"]


def test_a_formula_of_an_axiom_that_is_gone_is_an_error(
    hooks: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(AXIOMS._entries, "purity")
    with pytest.raises(ValueError, match="not registered: purity"):
        hooks["registries"].axioms_page()


def test_names_on_pages_exist(hooks: dict[str, ModuleType]) -> None:
    vocabulary = hooks["vocabulary"].Vocabulary(ROOT)
    said = {
        page.name: vocabulary.problems(page.read_text())
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    }
    assert {name: problems for name, problems in said.items() if problems} == {}


def test_what_does_not_exist_is_named(hooks: dict[str, ModuleType]) -> None:
    vocabulary = hooks["vocabulary"].Vocabulary(ROOT)
    said = vocabulary.problems("`conservatoin` by `pytest --axioms-baselin`, see `specs/nothing.yaml` and `loo`.")
    assert [problem.partition(".")[0] for problem in said] == [
        "`conservatoin` is no name that is registered, nor a key, metric or option",
        "there is no option --axioms-baselin",
        "there is no file `specs/nothing",
    ]
    assert "Did you mean 'conservation'?" in said[0]


def test_names_become_links_once_and_outside_code(hooks: dict[str, ModuleType]) -> None:
    vocabulary = hooks["vocabulary"].Vocabulary(ROOT)
    linked = vocabulary.link("# `loo`\n\n`loo` and `loo`\n\n```yaml\nmethods: [`loo`]\n```\n", "howto/page.md")
    assert linked.count("(../reference/methods.md#loo)") == 1
    assert linked.startswith("# `loo`\n")


def test_the_scorecards_are_those_of_the_accepted_run(hooks: dict[str, ModuleType]) -> None:
    """Their verdicts are counted against the baseline's, which are written by the same run."""
    readme = (ROOT / "README.md").read_text()
    accepted = json.loads((ROOT / "reports" / "baseline.json").read_text())["claims"].values()
    verdicts = Counter(verdict.replace("_", " ") for verdict in accepted)
    assert hooks["scorecards"].printed_verdicts(readme) == verdicts, (
        "after a new baseline run `python docs/hooks/scorecards.py reports/latest`"
    )
    drawn = hooks["drawings"].draw("<!-- scorecards -->", ROOT)
    assert drawn.count("\n") > 20
    assert drawn.removeprefix("```text\n").removesuffix("\n```") in readme


@pytest.mark.docs_slow
@pytest.mark.skipif("not config.getoption('-m')", reason="builds the site: .ci/run runs it by -m docs_slow")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param("", None, id="as it is"),
        pytest.param(WITHOUT_AXIOM, "not registered: purity", id="an axiom is deleted"),
        pytest.param(RENAMED_OPTION, "there is no option --axioms-baseline", id="an option is renamed"),
    ],
)
def test_the_build_fails_where_a_page_names_what_is_gone(change: str, said: str | None, tmp_path: Path) -> None:
    code = change + BUILD.format(site=str(tmp_path / "site"))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    if said is None:
        assert done.returncode == 0, done.stderr
        links = [sys.executable, str(HOOKS / "check_links.py"), str(tmp_path / "site")]
        assert (
            subprocess.run(links, capture_output=True, text=True, check=False).stdout == "every link leads somewhere\n"
        )
    else:
        assert done.returncode != 0
        assert said in done.stderr
