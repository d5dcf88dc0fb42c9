"""Under AXIOMS_NO_CODE no command imports what it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.commands.main import main
from tests.conftest import ROOT

SPEC = str(ROOT / "specs" / "activation.yaml")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--import", "someones", SPEC],
        ["audit", "someones:build"],
        ["card", "someones:plain"],
        ["falsify", "--method", "loo", "--import", "someones"],
        ["explain", "tiny", "a text", "--methods", "someones:plain"],
        ["explain", "tiny", "a text", "--methods", "zennit:someones.Plain"],
        ["explain", "tiny", "a text", "--import", "someones"],
        ["list", "--import", "someones"],
        ["plan", "--import", "someones", SPEC],
        ["report", "reports/latest", "--import", "someones"],
        ["rules", "--import", "someones"],
    ],
    ids=" ".join,
)
def test_a_command_that_names_code_is_refused(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "someones.py").write_text("from pathlib import Path\nPath('it_ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("AXIOMS_NO_CODE", "1")
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "cannot import 'someones': importing it runs its code" in said.out + said.err
    assert not (tmp_path / "it_ran").exists()
