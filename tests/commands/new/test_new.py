"""What `axioms new` writes passes as it is, and can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.commands.main import main


@pytest.fixture
def here(pytester: pytest.Pytester) -> Path:
    return pytester.path


def test_a_spec_passes_as_it_is(here: Path, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "spec", "my-claim"]) == 0
    assert capsys.readouterr().out == "written: specs/my-claim.yaml\nnext: pytest specs/my-claim.yaml\n"
    assert main(["check", "specs"]) == 0
    pytester.runpytest("specs/my-claim.yaml").assert_outcomes(passed=9)


def test_a_spec_can_fail(here: Path, pytester: pytest.Pytester) -> None:
    assert main(["new", "spec", "mine"]) == 0
    file = here / "specs/mine.yaml"
    file.write_text(file.read_text().replace("violated_by: {attnlrp: {}}", ""))
    result = pytester.runpytest("specs/mine.yaml", "-k", "conservation")
    result.assert_outcomes(passed=1, failed=1, deselected=7)
    result.stdout.fnmatch_lines(["expected  relative_error.max <= 1e-06 *"])


def test_a_method_passes_its_spec_as_it_is_and_fails_it_when_it_is_changed(
    here: Path, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "method", "my_rule"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "written: my_rule.py, specs/my_rule.yaml\nnext: pytest specs/my_rule.yaml --axioms-import my_rule\n"
    )
    command = said.splitlines()[-1].removeprefix("next: pytest ").split()
    assert main(["new", "method", "halved"]) == 0
    file = here / "halved.py"
    file.write_text(file.read_text().replace("share: float = 1.0", "share: float = 0.5"))
    result = pytester.runpytest_subprocess("specs/halved.yaml", "--axioms-import", "halved", *command)
    result.assert_outcomes(passed=6 + 4, failed=2)
    result.stdout.fnmatch_lines(["FAILED specs/halved.yaml::relevance*", "FAILED specs/halved.yaml::conservation*"])


def test_nothing_is_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "specs").mkdir()
    (here / "specs/not_yet_mine.yaml").write_text("claim: not_yet_mine\n")
    for kind in ("spec", "method"):
        assert main(["new", kind, "not_yet_mine"]) == 2
        assert "specs/not_yet_mine.yaml exists already and is left as it is" in capsys.readouterr().err
    assert (here / "specs/not_yet_mine.yaml").read_text() == "claim: not_yet_mine\n"
    assert not (here / "not_yet_mine.py").exists(), "all or nothing"


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("spec", "_base", "a leading _ marks a base for `extends`). Did you mean 'base'?"),
        ("spec", "../there", "is no name for a spec"),
        ("spec", "mine.yaml", "Did you mean 'mine'?"),
        ("spec", "", "is no name for a spec"),
        ("method", "My-Rule", "is no name for a method"),
        ("method", "My-Rule", "Did you mean 'my_rule'?"),
        ("method", "class", "no word of Python's own"),
        ("method", "attnlrp", "there is a method 'attnlrp' already: AttnLRP (Achtibat et al. 2024)"),
        ("method", "json", "json.py would hide the Python module 'json'"),
    ],
)
def test_bad_names_are_sentences(
    here: Path, kind: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, name]) == 2
    assert said in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_a_folder_of_that_name_is_no_module(here: Path) -> None:
    (here / "not_yet_mine").mkdir()
    assert main(["new", "method", "not_yet_mine"]) == 0


def test_a_folder_that_cannot_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "specs").write_text("not a folder")
    assert main(["new", "spec", "mine"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_properties_of_a_method_hold_or_are_known_to_be_broken(
    here: Path, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "method", "mine", "--properties"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert command == "next: pytest tests/test_mine_properties.py --axioms-import mine"
    arguments = command.removeprefix("next: pytest ").split()
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=7, xfailed=3)
    file = here / "mine.py"
    file.write_text(file.read_text().replace("return share *", "return 1e-3 + share *"))
    result = pytester.runpytest_subprocess(*arguments, "-k", "null_player or scale or sensitivity")
    result.assert_outcomes(passed=1, failed=3, deselected=6)  # a constant is caught, and hides what was known
    result.stdout.fnmatch_lines(["E*AssertionError: *has*on_null*", "*XPASS(strict)*"])


def test_properties_of_a_method_that_is_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.py").write_text("import axioms\n")
    assert main(["new", "method", "mine", "--properties"]) == 0
    assert capsys.readouterr().out.startswith("left as it is: mine.py\nwritten: tests/test_mine_properties.py\n")
    assert "KNOWN = {}\n" in (here / "tests/test_mine_properties.py").read_text()
    assert not (here / "specs").exists()
    assert main(["new", "method", "mine", "--properties"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["new", "spec", "mine", "--properties"]) == 2
    assert "is for `axioms new method`" in capsys.readouterr().err
