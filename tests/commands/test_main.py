"""The `axioms` command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.commands.main import main


def test_check_validates_without_running(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(root / "specs")]) == 0
    count = len(list((root / "specs").rglob("[!_]*.yaml")))
    assert f"{count} of {count} specs are valid" in capsys.readouterr().out


def test_check_says_what_is_wrong(
    write_spec: Callable[..., Path], good_spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_spec()
    bad = write_spec(good_spec.replace("attnlrp", "attnlpr"), "bad.yaml")
    assert main(["check", str(bad.parent)]) == 2
    said = capsys.readouterr()
    assert "bad.yaml:7: methods[1]: unknown method 'attnlpr'" in said.err
    assert "1 of 2 specs are valid" in said.out


def test_check_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "no specs in" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_schema_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Spec"
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "attnlrp" in listed
    assert "AttnLRP (Achtibat et al. 2024)" in listed


@pytest.mark.parametrize(
    ("kind", "said"), [("md", "| cp_lrp | 1 | epsilon |"), ("tex", "\\toprule"), ("csv", "cp_lrp,1,epsilon,")]
)
def test_rules(kind: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", kind]) == 0
    assert said in capsys.readouterr().out


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    program = "import sys; from axioms.commands.main import main; sys.exit(main(['list']))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()  # what `| head` does
        assert listing.stderr.read() == b""
    assert listing.returncode == 0


def test_help_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "validate specs without running them" in capsys.readouterr().out
