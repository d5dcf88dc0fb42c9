"""LXT's process: a copy of the worker in another interpreter, which sees the environment but for PYTHONPATH."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from axioms.core.errors import InputError, MissingPackage
from axioms.methods import lxt

WORKER = """import json, os, sys
from pathlib import Path
seen = {name: os.environ.get(name) for name in ("PYTHONPATH", "AXIOMS_SEEN")}
Path(sys.argv[1], "answer.json").write_text(json.dumps({**seen, "script": sys.argv[0]}))
"""


def test_the_worker_sees_the_environment_but_for_modules_that_are_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, folder = tmp_path / "there" / "worker.py", tmp_path / "here"
    worker.parent.mkdir()
    folder.mkdir()
    worker.write_text(WORKER)
    monkeypatch.setattr(lxt, "WORKER", worker)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("AXIOMS_SEEN", "yes")
    lxt._run(sys.executable, folder, "attnlrp")
    said = json.loads((folder / "answer.json").read_text())
    assert said == {"PYTHONPATH": None, "AXIOMS_SEEN": "yes", "script": str(folder / "worker.py")}


def test_a_worker_without_an_answer_says_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "other.py"
    worker.write_text("import sys; print('first', file=sys.stderr); print('  last  ', file=sys.stderr); sys.exit(3)")
    monkeypatch.setattr(lxt, "WORKER", worker)
    with pytest.raises(InputError, match=r"ended with code 3 and no answer: last$"):
        lxt._run(sys.executable, tmp_path, "attnlrp")
    worker.write_text("")
    with pytest.raises(InputError, match=r"ended with code 0 and no answer: it said nothing$"):
        lxt._run(sys.executable, tmp_path, "attnlrp")
    with pytest.raises(MissingPackage, match="lxt:attnlrp cannot run"):
        lxt._run(str(tmp_path / "none"), tmp_path, "attnlrp")
