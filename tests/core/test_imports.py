"""A user's modules: what cannot be loaded is one sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from axioms.core.errors import InputError
from axioms.core.imports import import_modules
from axioms.core.registry import METHODS

ONE = "import axioms\n@axioms.method('test_mine')\ndef mine(model, inputs, target): ...\n"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("t_twice", ONE + ONE, "'test_mine' is already registered by t_twice (line 2), so t_twice (line 5) cannot"),
        ("t_ours", ONE.replace("test_mine", "attnlrp"), "'attnlrp' is already registered by axioms.methods.lrp (line"),
        ("t_broken", "def mine(:\n", "invalid syntax ("),
        ("t_needy", "import not_there_at_all\n", "it needs 'not_there_at_all', which is not installed."),
        ("t_failing", "1 / 0\n", "it raised ZeroDivisionError: division by zero ("),
        ("t_path.py", "", "it is a path, and the name of a module is needed; write 't_path'."),
        ("./rules/t_path.py", None, "write 'rules.t_path'."),
        ("t_absent", None, "there is no such module in"),
    ],
)
def test_what_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, sentence: str
) -> None:
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))
    monkeypatch.setattr(sys, "path", list(sys.path))
    if text is not None:
        (tmp_path / f"{name.removesuffix('.py')}.py").write_text(text)
    with pytest.raises(InputError) as raised:
        import_modules([name], tmp_path)
    assert str(raised.value).startswith(f"cannot import '{name}': ")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_module_that_is_loaded_anew_takes_its_own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "t_again.py").write_text(ONE)
    import_modules(["t_again"], tmp_path)
    del sys.modules["t_again"]
    import_modules(["t_again"], tmp_path)
    assert METHODS.get("test_mine").function.__module__ == "t_again"
