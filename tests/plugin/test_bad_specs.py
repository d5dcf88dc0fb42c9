"""A bad spec gives one readable error with its line, exit code 2, no traceback, and does not stop the others."""

from __future__ import annotations

import pytest

FIXTURE = "kind: model\nbuild: linear-attention\nweights: none.safetensors\nsource: s\nlicence: l\n"


def alias_bomb() -> str:
    """Ten megabytes and more once its aliases are followed."""
    lines = ["claim: &a0 [" + ", ".join(["xxxxxxxxxx"] * 10) + "]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 7)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("methods:", "methosd:", 7, "unknown key. Did you mean 'methods'?"),
        ("attnlrp]", "attnlpr]", 7, "unknown method 'attnlpr'. Did you mean 'attnlrp'?"),
        ("run: {dtype: float64}", "claim: again", 6, "key 'claim' is given twice, first in line 2"),
        ("{dtype: float64}", "{seed: [1]}", 6, "run.seed: input should be a valid integer; found [1]"),
        ("{linear: {weight: [[3, -1]]}}", "weightless", 4, "there is no file 'none.safetensors' beside this fixture"),
        ("{linear: {weight: [[3, -1]]}}", "not-there", 4, "there is no model 'not-there'"),
        ("claim: A sum is a sum.", "extends: mine.yaml", 2, "goes round in a circle"),
        (None, alias_bomb(), 1, "aliases multiply"),
        (None, "claim: " + "x" * 10_000_000, 1, "a spec is at most 1,048,576"),
    ],
    ids=["key", "method", "duplicate", "type", "fixture-file", "fixture", "circle", "alias-bomb", "ten-megabytes"],
)
def test_bad_spec(pytester: pytest.Pytester, good_spec: str, old: str | None, new: str, line: int, what: str) -> None:
    specs, fixtures = pytester.mkdir("specs"), pytester.mkdir("fixtures")
    (fixtures / "weightless.yaml").write_text(FIXTURE)
    text = new if old is None else good_spec.replace(old, new)
    assert text != good_spec
    (specs / "mine.yaml").write_text(text)
    (specs / "good.yaml").write_text(good_spec.replace("[loo, attnlrp]", "[attnlrp]"))

    result = pytester.runpytest("specs")
    output = result.stdout.str() + result.stderr.str()
    assert result.ret == 2
    assert what in output
    at = "weightless.yaml:3: " if "beside this fixture" in what else f"specs/mine.yaml:{line}: "
    assert at in output
    assert "Traceback" not in output
    assert "site-packages" not in output
    assert max(map(len, output.splitlines())) < 600

    others = pytester.runpytest("specs", "--continue-on-collection-errors", "-p", "no:cacheprovider")
    others.assert_outcomes(passed=1, errors=1)
